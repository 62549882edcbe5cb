"""The counters of a run, and its best point so far."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from operator import index
from typing import Any, Self

import numpy as np

from r1nes.arrays import Array, ArrayType, copied
from r1nes.ranking import best_first
from r1nes.sampling.streaming import Stream

BLANK_GENERATIONS = 10  # generations in a row with only NaN, after which tell raises


@dataclass(slots=True)
class Counts:
    """Counters of a run; all but ``generation`` and ``blanks`` include the earlier runs of a search."""

    best_x: Array  # the best point so far
    best: float = math.inf  # its value
    ranked: Array = field(default_factory=lambda: np.empty(0))  # values of the last generation, best first
    generation: int = 0  # completed generations
    earlier: int = 0  # generations of the runs before this restart
    restart: int = 0  # runs before this one
    nfev: int = 0  # completed evaluations
    nan_count: int = 0  # of which NaN
    blanks: int = 0  # generations in a row with only NaN
    drawn: int = 0  # rows of noise drawn, if asynchronous

    def keep_best(self, points: Array | Stream, values: Array, first: int) -> None:
        """Keep the point in row ``first``, the best of its generation, if none was better."""
        if values[first] < self.best:
            self.best_x = points.point(first) if isinstance(points, Stream) else copied(points[first])
            self.best = float(values[first])

    def keep_part(self, points: Array, values: Array) -> None:
        """Count the evaluations of a generation that is not finished."""
        self.nfev += len(values)
        self.nan_count += int(np.isnan(values).sum())
        if len(values):
            self.keep_best(points, values, int(best_first(values)[0]))

    def finish_generation(self, points: Array | Stream, values: Array, first: int, ranked: Array) -> bool:
        """Count a generation whose best point is row ``first``.

        Returns:
            Whether it is the tenth generation in a row with only NaN; counting starts again after it.
        """
        self.keep_best(points, values, first)
        self.ranked = ranked
        self.generation += 1
        if not math.isnan(ranked[-1]):
            self.blanks = 0
            return False
        self.nan_count += int(np.isnan(ranked).sum())
        self.blanks = (self.blanks + 1) % BLANK_GENERATIONS if math.isnan(ranked[0]) else 0
        return math.isnan(ranked[0]) and self.blanks == 0

    def continue_from(self, ended: Counts) -> None:
        """Take over the counts and the best point of the run that ``ended`` before this restart."""
        self.restart, self.earlier = ended.restart + 1, ended.earlier + ended.generation
        self.nfev, self.nan_count = ended.nfev, ended.nan_count
        self.best, self.best_x = ended.best, ended.best_x

    def state(self) -> dict[str, Any]:
        """Return all counts by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_state(cls, state: dict[str, Any], array_type: ArrayType) -> Self:
        """Return the counts with that ``state``; raise TypeError if a number is not whole."""
        counts = {name.removeprefix("_"): value for name, value in state.items()}  # as format 2 had them
        counts |= {each.name: index(counts[each.name]) for each in fields(cls) if each.type == "int"}
        return cls(**counts | {"best_x": array_type.array(counts["best_x"])})


def only_nan(n: int, sigma: float) -> FloatingPointError:
    """Return the error for generations of ``n`` points with only NaN."""
    return FloatingPointError(
        f"fun must return a number for some points, got only NaN in {BLANK_GENERATIONS} generations in a row "
        f"of {n} points, with σ = {sigma:.3g}"
    )


def count(name: str, meaning: str) -> Any:
    """Return a read-only property for one of the ``counts`` of an Optimizer."""
    return property(lambda optimizer: getattr(optimizer.counts, name), doc=meaning)
