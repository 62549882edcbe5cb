"""Reasons to stop, as {name: value}.

Every run ends by itself: whatever the objective does, one of the reasons below applies eventually. A limit of
None and a tolerance of 0 are off; ``flat``, ``stagnation``, ``condition``, ``sigma_overflow`` and
``minus_inf`` are always on.
"""

from __future__ import annotations

import math
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from r1nes.arrays import Array
from r1nes.settings import Settings
from r1nes.strategies import Strategy

MESSAGES = {
    "ftarget": "The target value was reached",
    "xtol": "The largest standard deviation is below xtol",
    "ftol": "The best values of recent generations differ by no more than ftol",
    "flat": "Every point of recent generations has the same value: converged to the precision of the "
    "objective, or sigma0 is too small to make a difference",
    "max_evals": "Another generation would exceed max_evals",
    "max_seconds": "The time limit was reached",
    "stagnation": "The best values have not improved over many generations",
    "condition": "The covariance matrix is too ill-conditioned to continue",
    "sigma_overflow": "The step size grew without bound: the objective seems to have no minimum",
    "minus_inf": "The objective returned -inf, which no other point can beat",
    "callback": "callback raised StopIteration",
    "interrupt": "Ctrl-C was pressed",
}
STATUS = {reason: code for code, reason in enumerate(MESSAGES)}
RUNNING = -1
CONVERGED = {"xtol", "ftol", "flat"}

OBSERVED = ("best", "era_length", "era_median", "stagnant", "flat", "condition")
SHAPE_GENERATIONS = 30  # generations between checks of the condition number, or d if that is more
FLAT_GENERATIONS = 20  # generations in a row with equal values before the objective counts as constant


def describe(stop: dict[str, float]) -> str:
    """Return the reasons in words."""
    if not stop:
        return "The run has not ended."
    return " ".join(f"{MESSAGES[reason]} ({reason} = {value:.6g})." for reason, value in stop.items())


def succeeded(stop: dict[str, float], ftarget: float | None) -> bool:
    """Return whether the run reached its target or, without one, converged."""
    return "ftarget" in stop if ftarget is not None else not CONVERGED.isdisjoint(stop)


@dataclass(slots=True)
class Stopping:
    """Watches a run: ``observe`` every generation, ask for ``reasons`` at any time."""

    dim: int
    popsize: int
    dtype: np.dtype[np.floating]
    ftarget: float | None
    max_evals: float | None
    max_seconds: float | None
    xtol: float
    ftol: float
    max_condition: float

    best: float = math.inf
    bests: deque[float] = field(init=False)  # best values of the last generations: the window of ftol
    era: list[float] = field(default_factory=list)  # best values since the last comparison for stagnation
    era_length: int = field(init=False)
    era_median: float = math.nan  # of the previous era
    stagnant: int = 0  # generations that were no better than as many before them
    largest: float = field(init=False)  # standard deviation beyond which arithmetic overflows
    flat: int = 0  # generations in a row whose values were all equal
    condition: float = 1.0
    ends: dict[str, float] = field(default_factory=dict)  # reasons found in the last generation
    began: float = field(default_factory=time.monotonic)

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Return a ``Stopping`` with the limits and tolerances of ``settings``."""
        limit = settings.max_condition
        return cls(
            dim=settings.start.size,
            popsize=settings.size,
            dtype=settings.start.dtype,
            ftarget=settings.ftarget,
            max_evals=settings.max_evals,
            max_seconds=settings.max_seconds,
            xtol=1e-12 * settings.sigma if settings.xtol is None else settings.xtol,
            ftol=settings.ftol,
            max_condition=settings.algorithm.max_condition if limit is None else limit,
        )

    def __post_init__(self) -> None:
        """Set the windows; a distribution adapts its shape within about 30 evaluations per variable."""
        window = 10 + math.ceil(30 * self.dim / self.popsize)
        self.bests = deque(maxlen=window)
        self.era_length = 1000 + 10 * window
        self.largest = float(np.finfo(self.dtype).max) ** 0.25  # where squares of squares overflow

    def observe(self, ranked: Array, generation: int, strategy: Strategy) -> None:
        """Record the values of a generation, best first, and check the distribution that resulted."""
        best, worst = float(ranked[0]), float(ranked[-1])
        if best < self.best:
            self.best = best
        self.bests.append(best)
        self.flat = self.flat + 1 if best == worst else 0
        self.era.append(best)
        if len(self.era) >= self.era_length:
            self._compare_eras(generation)
        if generation % max(self.dim, SHAPE_GENERATIONS) == 0:  # it may cost O(d³)
            self.condition = strategy.condition()
        self.ends = self._ends_of_search(strategy)

    def _compare_eras(self, generation: int) -> None:
        """Compare medians over many generations, because one lucky early point proves nothing."""
        median = float(np.median(self.era))
        self.stagnant = len(self.era) if median >= self.era_median else 0
        self.era_median = median
        self.era_length = max(self.era_length, generation // 5)
        self.era.clear()

    def reasons(self, nfev: int) -> dict[str, float]:
        """Return the reasons to stop after ``nfev`` evaluations; empty while the run should continue."""
        stop: dict[str, float] = {}
        if self.ftarget is not None and self.best <= self.ftarget:
            stop["ftarget"] = self.best
        if self.best == -math.inf:
            stop["minus_inf"] = self.best
        stop |= self.ends
        if self.max_evals is not None and nfev + self.popsize > self.max_evals:
            stop["max_evals"] = nfev
        if self.max_seconds is not None and (seconds := self.seconds()) >= self.max_seconds:
            stop["max_seconds"] = seconds
        return stop

    def outcome(self, nfev: int) -> dict[str, Any]:
        """Return the entries of a result that say whether and why the run ended."""
        stop = self.reasons(nfev)
        return {
            "success": succeeded(stop, self.ftarget),
            "status": STATUS[next(iter(stop))] if stop else RUNNING,
            "message": describe(stop),
            "stop": stop,
        }

    def _ends_of_search(self, strategy: Strategy) -> dict[str, float]:
        """Return the reasons that follow from the distribution and from the values of recent generations."""
        stop: dict[str, float] = {}
        least, most = strategy.largest_std()
        if not (self.xtol < least and most < self.largest):  # also if NaN
            largest_std = float(strategy.stds().max())
            if largest_std <= self.xtol:
                stop["xtol"] = largest_std
            if not largest_std < self.largest:
                stop["sigma_overflow"] = largest_std
        if self.flat >= FLAT_GENERATIONS:
            stop["flat"] = self.bests[-1]
        elif self.ftol > 0 and len(self.bests) == self.bests.maxlen:
            differs = abs(self.bests[-1] - self.bests[0]) > self.ftol  # cheaper than comparing all values
            if not differs and (spread := max(self.bests) - min(self.bests)) <= self.ftol:
                stop["ftol"] = spread
        if self.stagnant:
            stop["stagnation"] = self.stagnant
        if not self.condition < self.max_condition:
            stop["condition"] = self.condition
        return stop

    def state(self) -> dict[str, Any]:
        """Return the state that ``restore`` takes, including the time elapsed."""
        observed = {name: getattr(self, name) for name in OBSERVED}
        return observed | {"bests": list(self.bests), "era": list(self.era), "seconds": self.seconds()}

    def restore(self, state: dict[str, Any], strategy: Strategy) -> None:
        """Restore ``state``, with the distribution ``strategy``."""
        for name in OBSERVED:
            setattr(self, name, state[name])
        self.bests.extend(state["bests"])
        self.era.extend(state["era"])
        self.began = time.monotonic() - state["seconds"]
        if self.bests:
            self.ends = self._ends_of_search(strategy)

    def seconds(self) -> float:
        """Return how long the run has taken so far."""
        return time.monotonic() - self.began
