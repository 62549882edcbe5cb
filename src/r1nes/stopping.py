"""Reasons to stop, as {name: value}.

A run ends by itself: whatever the objective does, one of the reasons below comes true. A limit that is
None, or a tolerance of 0, is off; ``flat``, ``stagnation``, ``condition``, ``sigma_overflow`` and
``minus_inf`` always watch.
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
    "objective, or sigma0 is too small to see a difference",
    "max_evals": "Another generation would exceed max_evals",
    "max_seconds": "The time limit was reached",
    "stagnation": "Many generations were no better than as many before them",
    "condition": "The covariance matrix is too ill-conditioned to go on",
    "sigma_overflow": "The step size grew without bound: the objective seems to have no minimum",
    "minus_inf": "The objective returned -inf, which no other point can beat",
    "callback": "callback raised StopIteration",
    "interrupt": "Ctrl-C was pressed",
}
STATUS = {reason: code for code, reason in enumerate(MESSAGES)}
RUNNING = -1
CONVERGED = {"xtol", "ftol", "flat"}

OBSERVED = ("best", "era_length", "era_median", "stagnant", "flat", "condition")
FLAT_GENERATIONS = 20  # in a row, after which a constant objective is believed to be one


def describe(stop: dict[str, float]) -> str:
    """The reasons in words."""
    if not stop:
        return "The run has not ended."
    return " ".join(f"{MESSAGES[reason]} ({reason} = {value:.6g})." for reason, value in stop.items())


def succeeded(stop: dict[str, float], ftarget: float | None) -> bool:
    """Whether the run found what it was sent for: the target if there is one, else convergence."""
    return "ftarget" in stop if ftarget is not None else not CONVERGED.isdisjoint(stop)


@dataclass(slots=True)
class Stopping:
    """Watches a run: ``observe`` every generation, ``reasons`` at any time."""

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
    bests: deque[float] = field(init=False)  # of the last generations: the window of ftol
    era: list[float] = field(default_factory=list)  # best values since the last comparison for stagnation
    era_length: int = field(init=False)
    era_median: float = math.nan  # of the era before
    stagnant: int = 0  # generations that were no better than as many before them
    largest: float = field(init=False)  # standard deviation
    flat: int = 0  # generations in a row whose values were all equal
    condition: float = 1.0
    began: float = field(default_factory=time.monotonic)

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Return the watch that ``settings`` ask for."""
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
        """The windows: 30 evaluations per variable is the time in which a distribution takes shape."""
        window = 10 + math.ceil(30 * self.dim / self.popsize)
        self.bests = deque(maxlen=window)
        self.era_length = 1000 + 10 * window
        self.largest = float(np.finfo(self.dtype).max) ** 0.25  # where squares of squares overflow

    def observe(self, ranked: Array, generation: int, strategy: Strategy) -> None:
        """Take note of a generation's values, best first, and of the distribution that came of them."""
        best, worst = float(ranked[0]), float(ranked[-1])
        if best < self.best:
            self.best = best
        self.bests.append(best)
        self.flat = self.flat + 1 if best == worst else 0
        self.era.append(best)
        if len(self.era) >= self.era_length:
            self._compare_eras(generation)
        if generation % self.dim == 0:  # shapes change on this time scale; for xNES it costs O(d³)
            self.condition = strategy.condition()

    def _compare_eras(self, generation: int) -> None:
        """Stagnation is told from medians over long times: one lucky early point proves nothing."""
        median = float(np.median(self.era))
        self.stagnant = len(self.era) if median >= self.era_median else 0
        self.era_median = median
        self.era_length = max(self.era_length, generation // 5)
        self.era.clear()

    def reasons(self, nfev: int, generation: int, strategy: Strategy) -> dict[str, float]:
        """Why to stop now; empty while the run should go on."""
        stop: dict[str, float] = {}
        if self.ftarget is not None and self.best <= self.ftarget:
            stop["ftarget"] = self.best
        if self.best == -math.inf:
            stop["minus_inf"] = self.best
        if generation > 0:
            self._ends_of_search(strategy, stop)
        if self.max_evals is not None and nfev + self.popsize > self.max_evals:
            stop["max_evals"] = nfev
        if self.max_seconds is not None and (seconds := self.seconds()) >= self.max_seconds:
            stop["max_seconds"] = seconds
        return stop

    def _ends_of_search(self, strategy: Strategy, stop: dict[str, float]) -> None:
        least, most = strategy.largest_std()
        if not (self.xtol < least and most < self.largest):  # NaN too
            largest_std = float(strategy.stds().max())
            if largest_std <= self.xtol:
                stop["xtol"] = largest_std
            if not largest_std < self.largest:
                stop["sigma_overflow"] = largest_std
        if self.flat >= FLAT_GENERATIONS:
            stop["flat"] = self.bests[-1]
        elif self.ftol > 0 and len(self.bests) == self.bests.maxlen:
            differs = abs(self.bests[-1] - self.bests[0]) > self.ftol  # as all values would, at more cost
            if not differs and (spread := max(self.bests) - min(self.bests)) <= self.ftol:
                stop["ftol"] = spread
        if self.stagnant:
            stop["stagnation"] = self.stagnant
        if not self.condition < self.max_condition:
            stop["condition"] = self.condition

    def state(self) -> dict[str, Any]:
        """What ``restore`` needs to watch on from here; the clock goes on from the time that has passed."""
        observed = {name: getattr(self, name) for name in OBSERVED}
        return observed | {"bests": list(self.bests), "era": list(self.era), "seconds": self.seconds()}

    def restore(self, state: dict[str, Any]) -> None:
        """Watch on from where ``state`` was taken."""
        for name in OBSERVED:
            setattr(self, name, state[name])
        self.bests.extend(state["bests"])
        self.era.extend(state["era"])
        self.began = time.monotonic() - state["seconds"]

    def seconds(self) -> float:
        """How long the run has been going on."""
        return time.monotonic() - self.began
