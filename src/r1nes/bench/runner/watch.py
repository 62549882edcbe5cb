"""An objective that counts and times its evaluations, and ends the run at the target or the budget."""

from __future__ import annotations

import math
import time

import numpy as np

from r1nes.arrays import Array
from r1nes.bench.functions.problems import Problem

TARGET = 1e-8  # above the optimum
PRECISIONS = [float(f"{10 ** (k / 2):.3g}") for k in range(4, -17, -1)]  # 100, 31.6, 10 … 1e-8

# Consecutive evaluations with the same value after which a run ends: the search has shrunk below the
# resolution of floating-point numbers, and some methods would spend the rest of the budget there.
FLAT = 10_000


class Ended(Exception):  # noqa: N818 - the normal end of a run, not an error
    """Raised by the objective to end the run of a method that has not stopped by itself."""

    def __init__(self, stop: dict[str, float]) -> None:
        """``stop`` is the reason, as {reason: value}."""
        self.stop = stop


class Watched:
    """f − fopt of a problem, with every evaluation counted and timed.

    Raises ``Ended`` instead of evaluating a generation that would exceed the budget, or any point after the
    target has been reached.
    """

    def __init__(self, problem: Problem, budget: int) -> None:
        """Start with no evaluations."""
        self.problem, self.budget = problem, budget
        self.evaluations = 0
        self.best = math.inf
        self.seconds = 0.0  # CPU time spent in the problem
        self.trajectory: list[list[float]] = []  # [evaluations, precision reached]
        self.popsize: int | None = None  # the method's population size, if known
        self.notes: dict[str, float] = {}  # further entries for the record
        self._level, self._flat = math.nan, 0  # the last value, and the length of its run

    @property
    def solved(self) -> bool:
        """Whether the target has been reached."""
        return self.best <= TARGET

    def __call__(self, points: Array) -> Array:
        """Return the values of points in rows, (n, d)."""
        began = time.process_time()
        if self.solved:
            raise Ended({"ftarget": self.best})
        if self._flat >= FLAT:
            raise Ended({"flat": self._level})
        if self.evaluations + len(points) > self.budget:
            raise Ended({"max_evals": self.evaluations})
        values = np.asarray(self.problem(points)) - self.problem.fopt
        self._note(values)
        self.seconds += time.process_time() - began
        return values

    def value(self, point: Array) -> float:
        """Return the value of one point, (d,)."""
        return float(self(point[None])[0])

    def _note(self, values: Array) -> None:
        lowest = float(np.fmin.reduce(values))  # NaN only if all values are
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
