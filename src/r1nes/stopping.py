"""Reasons to stop, as {name: value}.

Every run ends by itself: whatever the objective does, one of the reasons below applies eventually. A limit of
None and a tolerance of 0 are off; ``flat``, ``stagnation``, ``condition``, ``sigma_overflow``,
``minus_inf``, ``collapsed``, ``noise`` and ``overflow`` are always on.

A run has converged if the distribution has shrunk and the values have settled. Differences of values only
ever count relative to other differences, so that f and a f + b, a > 0, end after the same generation.
"""

from __future__ import annotations

import math
import time
from collections import deque
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

import numpy as np

from r1nes.arrays import Array
from r1nes.ranking import median
from r1nes.reasons import CONVERGED, RUNNING, STATUS, describe, succeeded
from r1nes.settings import Settings, largest_std
from r1nes.sharpness import SHRUNK, SLOWER, Sharpness
from r1nes.strategies import Strategy

UNPROVEN = {"xtol", "ftol", "stagnation", "collapsed"}  # under noise
OBSERVED = ("best", "era_length", "era_median", "stagnant", "flat", "condition")
SINCE = ("highest", "ends", "noise", "on_plateaus")  # not in the earliest files
SETTLED = {*CONVERGED, "collapsed"}  # reasons that ``sharpness`` may overrule
SHAPE_GENERATIONS = 30  # generations between checks of the condition number, or d if that is more
FLAT_GENERATIONS = 20  # flat generations since the last improvement, after which a plateau has no end
STALLED = 1e-3  # improvement over an era, relative to the distance from the target, that is too slow
RESTARTED = 0.01  # the same in a restarted run, since another may follow
DISTINCT = 0.97  # share of distinct best values in an era, below which it lies on plateaus


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
    is_patient: bool = False  # whether a run with a limit may stagnate
    is_followed: bool = False  # whether another run may follow this one

    best: float = math.inf
    bests: deque[float] = field(init=False)  # best values of the last generations: the window of ftol
    era: list[float] = field(default_factory=list)  # best values since the last comparison for stagnation
    era_length: int = field(init=False)
    era_median: float = math.nan  # of the previous era
    stagnant: int = 0  # generations that were no better than as many before them
    largest: float = field(init=False)  # standard deviation beyond which arithmetic overflows
    eps: float = field(init=False)  # the rounding error of 1
    flat: int = 0  # generations of equal values since the last improvement
    condition: float = 1.0
    highest: float = -math.inf  # best value of the worst generation
    sharpness: Sharpness = field(default_factory=Sharpness)
    on_plateaus: bool = False  # whether the last era was stagnant, and its best values repeated
    noise: float = 0.0  # its share in the variance of the values, if it matters
    ends: dict[str, float] = field(default_factory=dict)  # reasons found in the last generation
    began: float = field(default_factory=time.monotonic)

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Return a ``Stopping`` with the limits and tolerances of ``settings``."""
        limit = settings.max_condition
        return cls(
            dim=settings.dim,
            popsize=settings.size,
            dtype=settings.start.dtype,
            ftarget=settings.ftarget,
            max_evals=settings.max_evals,
            max_seconds=settings.max_seconds,
            xtol=1e-12 * settings.sigma if settings.xtol is None else settings.xtol,
            ftol=settings.ftol,
            max_condition=settings.algorithm.max_condition if limit is None else limit,
            is_patient=settings.noise is True,
        )

    def __post_init__(self) -> None:
        """Set the windows; a distribution adapts its shape within about 30 evaluations per variable."""
        self.bests = deque(maxlen=self._window)
        self.era_length = 50 + 3 * self._window
        self.largest, self.eps = largest_std(self.dtype), float(np.finfo(self.dtype).eps)

    def observe(
        self, ranked: Array, generation: int, strategy: Strategy, *, overflows: bool = False
    ) -> Strategy:
        """Record the values of a generation, best first, and check the distribution that resulted.

        Args:
            ranked: The values.
            generation: The number of generations so far.
            strategy: The distribution.
            overflows: Whether it is the one before, because the step could not be computed.

        Returns:
            The distribution to continue with: another one where a convergence has to be checked.
        """
        best, worst = float(ranked[0]), float(ranked[-1])
        if best < self.best:
            self.best, self.flat = best, 0
        if self.highest < best < math.inf:
            self.highest = best
        self.bests.append(best)
        if best == worst:
            self.flat += 1
        self.era.append(best)
        if len(self.era) % self.era_length == 0:
            self._compare_eras(generation)
        is_due = generation % max(self.dim, SHAPE_GENERATIONS) == 0
        if is_due:  # it may cost O(d³)
            self.condition = strategy.condition()
        least, most = strategy.largest_std()
        self.sharpness.mark(most, best, worst, self.eps)
        self.ends = self._ends_of_search(strategy, least, most)
        if is_due and not self.ends and self.sharpness.is_lost(strategy, self.eps):
            self.ends = {"collapsed": most}
        if overflows:
            self.ends = {"overflow": strategy.sigma} | self.ends
        if self.noise:
            self.ends = self._under_noise(self.ends)
        return self._checked(strategy, worst - best, most)

    @property
    def _window(self) -> int:
        return math.ceil((10 + math.ceil(30 * self.dim / self.popsize)) / SLOWER**self.sharpness.slowings)

    @property
    def _has_limit(self) -> bool:
        return self.max_evals is not None or self.max_seconds is not None

    def _under_noise(self, ends: dict[str, float]) -> dict[str, float]:
        """Return the reasons that hold if values are noisy: no convergence, no stagnation before a limit."""
        kept = {reason: value for reason, value in ends.items() if reason not in UNPROVEN}
        ended = ends.keys() & (UNPROVEN - {"stagnation"} if self._has_limit else UNPROVEN)
        return {"noise": self.noise, **kept} if ended else kept

    def _checked(self, strategy: Strategy, spread: float, most: float) -> Strategy:
        """Replace a convergence that cannot be trusted; return the distribution to continue with."""
        if SETTLED.isdisjoint(self.ends) or not most:  # a distribution of width 0 cannot be widened
            return strategy
        kept = {reason: value for reason, value in self.ends.items() if reason not in SETTLED}
        distance = None if self.ftarget is None else self.best - self.ftarget
        further = self.sharpness.further(
            self.bests[-1], spread, most, strategy, distance=distance, is_over=bool(kept)
        )
        if further is None:
            self.ends = {"collapsed": most, **kept}
        if further is None or further[0] == 1:
            return strategy
        wider, slower = further
        self.ends, self.era_median = {}, math.nan
        self.bests = deque(maxlen=self._window)
        self.era.clear()
        self.era_length = math.ceil(self.era_length / slower)
        return strategy.widened(wider).with_rates_times(slower)

    def _compare_eras(self, generation: int) -> None:
        """Compare medians over many generations, because one lucky early point proves nothing."""
        bests = sorted(best for best in self.era if not math.isnan(best)) or [math.inf]
        middle, repeats = median(bests), len(set(self.era)) < DISTINCT * len(self.era)
        least = RESTARTED if self.sharpness.is_restarted else STALLED
        needed = 0.0 if self.ftarget is None else least * (middle - self.ftarget)
        if repeats and self.is_followed:  # progress has to exceed the differences within an era
            needed = bests[3 * len(bests) // 4] - bests[len(bests) // 4]
        is_stagnant = middle >= self.era_median or self.era_median - middle <= needed
        self.on_plateaus = is_stagnant and repeats
        if self.on_plateaus and not self.is_followed and 2 * len(self.era) < generation:
            return  # values improve in jumps there: the era continues, up to half of the run
        self.stagnant = len(self.era) if is_stagnant else 0
        self.era_median = middle
        self.era_length = max(self.era_length, generation // 5)
        self.era.clear()

    def _range(self) -> float:
        """Return the range of the best values, or the distance from the target if that is less."""
        seen = self.highest - self.best
        return seen if self.ftarget is None else min(seen, self.best - self.ftarget)

    def reasons(self, nfev: int) -> dict[str, float]:
        """Return the reasons to stop after ``nfev`` evaluations; empty while the run should continue."""
        stop: dict[str, float] = {}
        if self.ftarget is not None and self.best <= self.ftarget:
            stop["ftarget"] = self.best
        if self.best == -math.inf:
            stop["minus_inf"] = self.best
        stop |= self.ends
        if self.max_evals is not None and nfev + self.popsize > self.max_evals:
            stop["max_evals"] = self.max_evals
        if self.max_seconds is not None and self.seconds() >= self.max_seconds:
            stop["max_seconds"] = self.max_seconds
        return stop

    def outcome(self, nfev: int) -> dict[str, Any]:
        """Return the entries of a result that say whether and why the run ended."""
        stop = self.reasons(nfev)
        return {
            "success": succeeded(stop, self.ftarget, self.best),
            "status": STATUS[next(iter(stop))] if stop else RUNNING,
            "message": describe(stop),
            "stop": stop,
        }

    def _ends_of_search(self, strategy: Strategy, least: float, most: float) -> dict[str, float]:
        """Return the reasons that follow from the values and from the distribution.

        Its largest standard deviation lies between ``least`` and ``most``.
        """
        stop: dict[str, float] = {}
        if not (self.xtol < least and most < self.largest):  # also if NaN
            largest_std = float(strategy.stds().max())
            if largest_std <= self.xtol:
                stop["xtol"] = largest_std
            if not largest_std < self.largest:
                stop["sigma_overflow"] = largest_std
        if most <= SHRUNK * self.sharpness.widest and self.ftol > 0 and len(self.bests) == self.bests.maxlen:
            tolerance = self.ftol * (seen := self._range())
            differs = abs(self.bests[-1] - self.bests[0]) > tolerance  # cheaper than comparing all values
            if not differs and (spread := max(self.bests) - min(self.bests)) <= tolerance:
                stop["ftol"] = spread / seen if seen else 0.0
        if self.flat >= FLAT_GENERATIONS and "ftol" not in stop:
            stop["flat"] = self.bests[-1]
        if self.stagnant and not (self.is_patient and self._has_limit):
            stop["stagnation"] = self.stagnant
        if not self.condition < self.max_condition:
            stop["condition"] = self.condition
        return stop

    def state(self) -> dict[str, Any]:
        """Return the state that ``restore`` takes, including the time elapsed."""
        observed = {name: getattr(self, name) for name in (*OBSERVED, *SINCE)}
        observed |= asdict(self.sharpness)
        return observed | {"bests": list(self.bests), "era": list(self.era), "seconds": self.seconds()}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore ``state``."""
        for name in (*OBSERVED, *(name for name in SINCE if name in state)):
            setattr(self, name, state[name])
        names = {each.name for each in fields(Sharpness)} & state.keys()  # the earliest files have none
        self.sharpness = Sharpness(**{name: state[name] for name in names})
        self.bests = deque(state["bests"], maxlen=self._window)
        self.era.extend(state["era"])
        self.began = time.monotonic() - state["seconds"]
        if "highest" not in state:  # an earlier version wrote the file
            self.highest = max(filter(math.isfinite, [*self.bests, *self.era]), default=-math.inf)

    def follow(self, ended: Stopping) -> None:
        """Take over the clock of the run that ``ended`` before this one, in the same search."""
        self.began, self.sharpness.is_restarted = ended.began, True

    def seconds(self) -> float:
        """Return how long the run has taken so far."""
        return time.monotonic() - self.began
