"""Objective values → ranks → utilities.

Only the order of the values matters, so a run is invariant under increasing transformations of f. NaN ranks
last, +inf just before it. Equal values share the mean utility of their ranks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from r1nes.arrays import Array


def logarithmic(n: int, *, zero_sum: bool) -> Array:
    """Return w_i ∝ max(0, ln(n/2 + 1) − ln i), best first, with sum 1; ``zero_sum`` subtracts 1/n."""
    w = np.maximum(0, math.log(n / 2 + 1) - np.log(np.arange(1, n + 1)))
    w /= w.sum()
    return w - 1 / n if zero_sum else w


def linear(n: int, like: Array) -> Array:
    """Return utilities that fall linearly from best to worst, with sum 0 and the norm of ``like``."""
    w = (n + 1) / 2 - np.arange(1, n + 1)
    return w * math.sqrt((like @ like) / (w @ w))


def median(ranked: Sequence[float] | Array) -> float:
    """Return the median of values in ascending order."""
    n = len(ranked)
    return 0.5 * float(ranked[(n - 1) // 2]) + 0.5 * float(ranked[n // 2])  # their sum may overflow


def best_first(values: Array) -> NDArray[np.intp]:
    """Return the indices that sort ``values`` in ascending order, +inf and then NaN last."""
    return values.argsort(kind="stable")


def assign(ranked: Array, order: NDArray[np.intp], utilities: Array) -> Array:
    """Return the utility of each sample, given the values ``ranked`` in ``order``, best first.

    If ``utilities`` has several rows, so has the result.

    A generation of equal values carries no information, so all its utilities are zero: a constant function
    leaves the distribution unchanged, even if the utilities do not sum to zero.
    """
    differs = ranked[1:] > ranked[:-1]  # always false for NaN
    if np.count_nonzero(differs) == differs.size:  # faster than all
        return utilities.take(order.argsort(), axis=-1)
    assigned = np.empty_like(utilities)
    differs |= np.isnan(ranked[1:]) & ~np.isnan(ranked[:-1])  # NaN ties only with NaN
    starts = np.flatnonzero(np.append(True, differs))
    if starts.size == 1:
        return np.zeros_like(utilities)
    sizes = np.diff(np.append(starts, ranked.size))
    means = np.add.reduceat(utilities, starts, axis=-1) / sizes
    assigned[..., order] = np.repeat(means, sizes, axis=-1)
    return assigned


def ranking(values: Array, utilities: Array) -> tuple[int, Array, Array]:
    """Return the index of the best value, the ``values`` best first, and the utility of each sample."""
    order = best_first(values)
    ranked = values[order]
    return int(order[0]), ranked, assign(ranked, order, utilities)
