"""Noise seen by asking again: two points of a generation are evaluated a second time in the next one.

A probe generation has n points like any other, but its last two are the first two of the generation before.
With their old values f and new ones f'

    s² = ((f'₁ − f'₂) − (f₁ − f₂))²/4

estimates the variance of the noise. Whatever all points of a generation share, such as a mini-batch, cancels;
whatever changes their order does not. ρ, the average share of s² in the variance of the values, is 0 for a
deterministic objective, and then nothing but the probes' evaluations changes. Generations 8, 12,
16 and every 20th probe, and every 4th once a difference has been seen: the values alone decide which do.

How far learning rates should follow their signal is the doubt g ∈ [0, 1]. Noise matters as much as its share

    g = min(1, ρ/0.2),   0 while ρ ≤ 0.01

and the medians of the last 40 generations tell whether the search improves in spite of it. z compares the
later 20 with the earlier 20 by their order alone (Mann–Whitney, in standard deviations):

    improving = clip((z − 1.25)/2, 0, 1)     rates need not fall
    worsening = clip((−z − 1.25)/2, 0, 1)    the distribution has been widened too far: rates rise, σ falls
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np

from r1nes.arrays import Array, ArrayType, copied, namespace
from r1nes.ranking import median

REPEATED = 2  # points per probe
LEAST_PROBED = 4  # points of a generation that can probe
EARLY = (8, 12, 16)  # the first generations that probe: a very short run pays nothing
SELDOM, OFTEN = 20, 4  # generations between later probes
MEMORY, LONG_MEMORY = 0.25, 0.05  # of ρ and of the variance of the noise
LEAST_SHARE, FULL_SHARE = 0.01, 0.2  # ρ at which doubt begins, and at which it is complete
WINDOW = 20  # generations that are compared with as many before them
CLEAR, DECIDED = 1.25, 2.0  # z at which a trend begins to count, and how much further it counts fully
LAST = 12  # generations that show whether improvement accelerates
ROUNDING = 1e-12  # differences relative to the values that may come from the order of summation


class Doubt(NamedTuple):
    """The noise of the values, as passed to a strategy."""

    noisy: bool = False  # whether values are noisy at all
    share: float = 0.0  # g
    improving: float = 0.0
    worsening: float = 0.0
    is_blind: bool = False  # whether rates adapt although no noise was seen


@dataclass(slots=True)
class Probing:
    """Decides which generations probe, and estimates the noise from the values of these."""

    active: bool  # whether points are ever evaluated again
    always: bool = False  # whether rates adapt without evidence
    seen: bool = False  # whether two values of one point ever differed
    share: float = 0.0  # ρ
    variance: float = 0.0  # of the noise, averaged over more probes
    count: int = 0  # probes since noise was seen
    medians: list[float] = field(default_factory=list)  # of recent generations
    informed: bool = False  # whether the values of a generation ever differed
    points: Any = None  # the points to evaluate again in the next generation, (2, d), or None
    values: tuple[float, float] = (0.0, 0.0)  # their values
    spread: float = 0.0  # the variance of the values of their generation

    @property
    def repeated(self) -> int:
        """How many points of the next generation were evaluated before."""
        return 0 if self.points is None else REPEATED

    def complete(self, points: Array, out: Array | None) -> Array:
        """Return the new ``points`` of a generation and those to evaluate again, in ``out`` if given."""
        if out is None:
            return namespace(points).concat([points, self.points])
        out[:-REPEATED], out[-REPEATED:] = points, self.points
        return out

    def hear(self, values: Array) -> None:
        """Take the second ``values`` of the points that were evaluated again."""
        (f1, f2), (g1, g2) = self.values, map(float, values)
        difference = (g1 - g2) - (f1 - f2)
        if not math.isfinite(difference):
            return
        if abs(difference) <= ROUNDING * max(map(abs, (f1, f2, g1, g2))):
            difference = 0.0
        noise = difference * difference / 4
        if noise > 0 and not self.seen:
            self.seen, self.medians = True, []  # a trend under noise begins here
        ratio = min(1.0, noise / self.spread) if 0 < self.spread < math.inf else float(noise > 0)
        self.share += MEMORY * (ratio - self.share)
        if self.seen:
            self.count += 1
            self.variance += max(LONG_MEMORY, 1 / self.count) * (noise - self.variance)

    def observe(self, generation: int, points: Any, values: Array, ranked: Array) -> None:
        """Record the new ``points`` of a ``generation``, and keep two of them if the next one probes."""
        self.informed |= bool(ranked[0] < ranked[-1])
        middle = median(ranked)
        self.medians = [*self.medians[1 - 2 * WINDOW :], math.inf if math.isnan(middle) else middle]
        self.points = None
        if not self.active:
            return
        if generation + 1 in EARLY or (generation + 1) % (OFTEN if self.seen else SELDOM) == 0:
            kept = [points.point(i) for i in range(REPEATED)] if hasattr(points, "point") else None
            self.points = copied(points[:REPEATED]) if kept is None else namespace(kept[0]).stack(kept)
            self.values = float(values[0]), float(values[1])
            finite = values[np.isfinite(values)]
            with np.errstate(over="ignore", invalid="ignore"):  # infinite or NaN beyond all numbers
                self.spread = float(finite.var()) if finite.size else 0.0

    @property
    def is_blind(self) -> bool:
        """Whether rates adapt although no noise was seen: ranks may look like noise among many minima."""
        return self.always and not self.seen

    @property
    def doubt_begins(self) -> bool:
        """Whether the noise is large enough to matter."""
        return self.share > LEAST_SHARE

    def doubt(self) -> Doubt:
        """Return what the values so far say about noise."""
        if self.is_blind:
            return Doubt(noisy=True, share=1.0, is_blind=True)
        if not self.doubt_begins:
            return Doubt()
        z = self.trend()
        return Doubt(
            True,
            min(1.0, self.share / FULL_SHARE),
            min(1.0, max(0.0, (z - CLEAR) / DECIDED)),
            min(1.0, max(0.0, (-z - CLEAR) / DECIDED)),
        )

    @property
    def may_widen(self) -> bool:
        """Whether values improve ever faster, as where steps are too short, or never differed at all."""
        if not self.informed:
            return True
        recent = self.medians[-LAST:]
        h = len(recent) // 3
        if not h or max(recent[-h:]) >= min(recent[:h]):
            return False
        first, middle, last = (sum(recent[i * h : (i + 1) * h]) for i in range(3))
        return middle - last > first - middle > 0

    def trend(self) -> float:
        """Return z: positive if the later medians are smaller than the earlier ones."""
        h = len(self.medians) // 2
        if h < 4:
            return 0.0
        old, new = np.array(self.medians[:h]), np.array(self.medians[-h:])
        wins = np.count_nonzero(new[:, None] < old) + 0.5 * np.count_nonzero(new[:, None] == old)
        return float((wins - h * h / 2) / math.sqrt(h * h * (2 * h + 1) / 12))

    @property
    def std(self) -> float:
        """The estimated standard deviation of the noise."""
        return math.sqrt(self.variance)

    def state(self) -> dict[str, Any]:
        """Return everything that the next generations depend on."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_state(cls, state: dict[str, Any], array_type: ArrayType) -> Probing:
        """Return the estimate with that ``state``."""
        points = state["points"]
        if points is not None and np.shape(points)[:1] != (REPEATED,):
            raise ValueError(f"{REPEATED} points are evaluated again, got shape {np.shape(points)}")
        return cls(**state | {"points": None if points is None else array_type.array(points)})
