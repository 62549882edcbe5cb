"""Plateaus: where the best points of a generation tie, the distribution is widened to look further.

Ties say nothing about direction, and a distribution that shrinks on a plateau never leaves it. So σ grows

    σ ← min(10σ, σ₀)     if a fifth of the points tie with the best one, and σ < σ₀,
    σ ← 2σ               at least, if all values of the generation are equal.

Only a generation without any information may exceed σ₀: on an objective that does not depend on the scale of
x, such as the errors of a linear classifier, ties are common at every σ. There, RkNES would also widen the
distribution without end by itself. So beyond 10σ₀ its largest standard deviation grows only while the values
improve ever faster, as they do where steps are too short, or have never differed; under noise, beyond 30σ₀.
"""

from __future__ import annotations

import math

from r1nes.arrays import Array
from r1nes.probing import Probing
from r1nes.strategies import Strategy

TIED_SHARE = 0.2  # of the points, beside the best one; at least 2, because mirrored points may tie in pairs
JUMP = 10.0  # small factors only balance the shrinking at the edge of a plateau
STRIDE = 2.0  # beyond σ₀
WIDE, WIDE_UNDER_NOISE = 10.0, 30.0  # σ₀, beyond which only improving values widen the distribution


def widening(ranked: Array, strategy: Strategy, sigma0: float) -> float:
    """Return the factor for σ after a generation with values ``ranked``, best first; 1 without ties."""
    n = len(ranked)
    if ranked[0] != ranked[min(n - 1, max(2, math.ceil(TIED_SHARE * n)))]:  # also if NaN
        return 1.0
    least = STRIDE if ranked[0] == ranked[-1] else 1.0
    return max(least, min(JUMP, sigma0 / strategy.sigma))


def with_sigma_adjusted(
    strategy: Strategy, before: Strategy, ranked: Array, sigma0: float, probing: Probing, limited: bool
) -> Strategy:
    """Return ``strategy`` after a generation with values ``ranked``, with σ as the rules above have it.

    ``before`` is the distribution of that generation. If ``limited``, it is wide only while values improve.
    """
    factor = widening(ranked, strategy, sigma0)
    if factor > 1:
        strategy = strategy.widened(factor)
    limit = sigma0 * (WIDE_UNDER_NOISE if probing.doubt_begins else WIDE)
    if limited and strategy.largest_std()[1] > limit and not probing.may_widen:
        largest = float(strategy.stds().max())
        if limit < largest < math.inf:
            widest = max(limit, float(before.stds().max()))
            strategy = strategy.widened(min(1.0, widest / largest))
    return strategy
