"""Convergence that cannot be trusted: sharp minima, sharp ridges and noise.

At a smooth minimum the values of a generation differ by an amount that falls with σ²; if they are noise, it
does not fall. If it falls with σ, the search has reached a sharp minimum such as that of ‖x‖, or a ridge
with a slope along it. Both look alike until σ is widened once: only on a ridge does the search then end at
another value. There, the steps across the ridge hide the slope along it, and σ shrinks with them. Averaged
over more generations they do not. So the learning rates of a method that has them are multiplied by 0.3, as
if the population were larger, and σ is widened further; up to three times, but with a target only while that
brings the values ten times nearer to it. On a ridge it does, among many minima hardly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from r1nes.arrays import host
from r1nes.strategies import Strategy

MARKS = 4  # generations a decade of σ apart that are compared
RESOLVED = 1e3  # rounding errors; values that differ by less say nothing about the objective
NOISY, SMOOTH = 0.5, 1.5  # powers of σ that the spread of the values follows: 0 for noise, 2 at a minimum
LOOK = 1e5  # factor by which σ is widened to tell a sharp minimum from a ridge
MOVED = 5.0  # change of the best value by that, in spreads of a generation's values, that shows a ridge
SLOWER, SLOWINGS = 0.3, 3  # factor of the learning rates on a ridge, and how often it may apply
NEARER = 0.1  # distance from the target that slower rates must have reached before even slower ones, relative
SHRUNK = 1e-3  # largest standard deviation at which x counts as converged, relative to the widest


@dataclass(slots=True)
class Sharpness:
    """How the spread of the values follows σ, and what looking further has shown."""

    widest: float = 0.0  # largest standard deviation so far (an upper bound, as in ``marks``)
    next_mark: float = math.inf
    marks: list[tuple[float, float]] = field(default_factory=list)  # (standard deviation, spread of values)
    doubt: tuple[float, float] | None = None  # last best value and spread before σ was widened
    slowings: int = 0  # how often the learning rates were multiplied
    distance: float = math.inf  # from the target, when they were multiplied last
    is_restarted: bool = False  # whether another run of the search came before this one

    def mark(self, most: float, best: float, worst: float, eps: float) -> None:
        """Keep the widest standard deviation, and how far values differ each time it has shrunk tenfold."""
        if self.next_mark <= most <= self.widest:
            return
        self.widest = max(self.widest, most)
        resolved = worst - best > RESOLVED * eps * max(abs(best), abs(worst))  # not NaN
        if resolved and 0 < most < self.next_mark:
            self.marks = [*self.marks[1 - MARKS :], (most, worst - best)]
            self.next_mark = most / 10

    def power(self) -> float:
        """Return p in spread ∝ σ^p over the last decades of σ; NaN before two of them."""
        if len(self.marks) < 3:
            return math.nan
        (std, spread), *_, (last_std, last_spread) = self.marks
        return math.log(spread / last_spread) / math.log(std / last_std)

    def is_lost(self, strategy: Strategy, eps: float) -> bool:
        """Return whether most steps are lost in rounding errors, although those along a ridge are not."""
        if not (self.power() < SMOOTH and _has_rates(strategy)):
            return False
        return strategy.sigma < eps * float(np.abs(host(strategy.mean)).max())

    def further(
        self,
        best: float,
        spread: float,
        most: float,
        strategy: Strategy,
        *,
        distance: float | None,
        is_over: bool,
    ) -> tuple[float, float] | None:
        """Return how to look further where the run seems to have converged: None if it collapsed.

        Args:
            best: The best value of the last generation.
            spread: How far its values differ.
            most: The largest standard deviation.
            strategy: The distribution.
            distance: That of the best value so far from the target; None without a target. With one, success
                depends on it alone, so that a convergence need not be checked.
            is_over: Whether the run ends for another reason in any case.

        Returns:
            The factors by which to widen the distribution and to multiply its learning rates; both are 1 if
            the convergence can be trusted.
        """
        power = self.power()
        may_slow = (
            not (is_over or self.is_restarted)  # its population is larger
            and self.slowings < SLOWINGS
            and _has_rates(strategy)
        )
        if power < NOISY:
            return None
        if self.doubt is not None:
            before, unit = self.doubt
            if not abs(best - before) > MOVED * unit:
                return 1.0, 1.0
            if not may_slow or (distance is not None and distance > NEARER * self.distance):
                return None
            self.slowings += 1
            self.distance = math.inf if distance is None else distance
            self.doubt, self.marks, self.next_mark = None, [], math.inf
            return min(max(LOOK * most, SHRUNK * self.widest), self.widest) / most, SLOWER
        if power < SMOOTH and self.widest > 10 * most and not is_over and (may_slow or distance is None):
            self.doubt = best, spread
            return min(LOOK * most, self.widest) / most, 1.0
        return 1.0, 1.0


def _has_rates(strategy: Strategy) -> bool:
    return strategy.with_rates_times(SLOWER) is not strategy
