"""The objective under watch: every evaluation counted, timed, and refused once the run is over."""

from __future__ import annotations

import math
import time

import numpy as np

from r1nes.arrays import Array
from r1nes.bench.functions.problems import Problem

TARGET = 1e-8  # above the optimum
PRECISIONS = [float(f"{10 ** (k / 2):.3g}") for k in range(4, -17, -1)]  # 100, 31.6, 10 … 1e-8

# Evaluations in a row with the same value: the search has shrunk below what the numbers resolve. This is for
# methods that would not notice, and would spend the rest of their budget in that place.
FLAT = 10_000


class Ended(Exception):  # noqa: N818 - the ordinary end of a run, no error
    """Raised through a method that would go on although its run is over."""

    def __init__(self, stop: dict[str, float]) -> None:
        """Why, as {reason: value}."""
        self.stop = stop


class Watched:
    """f − fopt, with every evaluation counted; it ends the run of a method that does not end it itself.

    A generation that would exceed the budget is not evaluated, nor is anything after the target.
    """

    def __init__(self, function: Problem, budget: int) -> None:
        """Nothing evaluated yet."""
        self.function, self.budget = function, budget
        self.evaluations = 0
        self.best = math.inf
        self.seconds = 0.0  # of the processor, inside
        self.trajectory: list[list[float]] = []  # [evaluations, precision reached]
        self.popsize: int | None = None  # what the method uses, if it says so
        self.notes: dict[str, float] = {}  # what else a record should say of the run
        self._level, self._flat = math.nan, 0  # the last value, and how often in a row

    @property
    def solved(self) -> bool:
        """Whether the target was reached."""
        return self.best <= TARGET

    def __call__(self, points: Array) -> Array:
        """The values of points in rows, (n, d)."""
        began = time.process_time()
        if self.solved:
            raise Ended({"ftarget": self.best})
        if self._flat >= FLAT:
            raise Ended({"flat": self._level})
        if self.evaluations + len(points) > self.budget:
            raise Ended({"max_evals": self.evaluations})
        values = np.asarray(self.function(points)) - self.function.fopt
        self._note(values)
        self.seconds += time.process_time() - began
        return values

    def value(self, point: Array) -> float:
        """The value of one point, (d,)."""
        return float(self(point[None])[0])

    def _note(self, values: Array) -> None:
        lowest = float(np.fmin.reduce(values))  # NaN only where all are
        if lowest < self.best:
            self.best = lowest
            for precision in PRECISIONS[len(self.trajectory) :]:
                if precision < lowest:
                    break
                first = int(np.argmax(values <= precision))  # within the generation
                self.trajectory.append([self.evaluations + first + 1, precision])
        same = lowest == self._level and bool((values == lowest).all())
        self._flat = self._flat + len(values) if same else 0
        self._level = lowest
        self.evaluations += len(values)
