"""Objective values → ranks → utilities.

Only the order of the values matters, so a run is the same for f and for any increasing function of f.
NaN ranks last, +inf just before it; equal values share the mean of the utilities of their ranks.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from r1nes.arrays import Array
from r1nes.arrays.compiled import compiled

FEW = 64  # values, up to which sorting them by insertion is faster than calling NumPy


def logarithmic(n: int, *, zero_sum: bool) -> Array:
    """w_i ∝ max(0, ln(n/2 + 1) − ln i), best first, of sum 1; or of sum 0, with 1/n subtracted."""
    w = np.maximum(0, math.log(n / 2 + 1) - np.log(np.arange(1, n + 1)))
    w /= w.sum()
    return w - 1 / n if zero_sum else w


def linear(n: int, like: Array) -> Array:
    """Falling evenly from the best rank to the worst, of sum 0, and as strong in all as ``like``."""
    w = (n + 1) / 2 - np.arange(1, n + 1)
    return w * math.sqrt((like @ like) / (w @ w))


def best_first(values: Array) -> NDArray[np.intp]:
    """The order that ranks ``values``: ascending, then +inf, then NaN."""
    return values.argsort(kind="stable")


def assign(ranked: Array, order: NDArray[np.intp], utilities: Array) -> Array:
    """The utility of each sample, where ``ranked`` are the values in ``order``, best first.

    ``utilities`` may have several rows, and then there are as many of each sample.

    A generation without any difference carries no information, so all its utilities are zero: a constant
    function moves nothing, even if the utilities do not sum to zero.
    """
    assigned = np.empty_like(utilities)
    differs = ranked[1:] > ranked[:-1]  # of NaN, never
    if np.count_nonzero(differs) == differs.size:
        assigned[..., order] = utilities
        return assigned
    differs |= np.isnan(ranked[1:]) & ~np.isnan(ranked[:-1])  # NaN ties with NaN alone
    starts = np.flatnonzero(np.append(True, differs))
    if starts.size == 1:
        return np.zeros_like(utilities)
    sizes = np.diff(np.append(starts, ranked.size))
    means = np.add.reduceat(utilities, starts, axis=-1) / sizes
    assigned[..., order] = np.repeat(means, sizes, axis=-1)
    return assigned


def ranking(values: Array, utilities: Array, *, fast: bool) -> tuple[int, Array, Array]:
    """Which of the ``values`` is best, all of them best first, and the utility of each."""
    if fast and values.size <= FEW:
        ranked, assigned = values.copy(), np.empty(utilities.shape)
        first = _ranking.fast(ranked, utilities, assigned)
        if first >= 0:
            return first, ranked, assigned
    order = best_first(values)
    ranked = values[order]
    return int(order[0]), ranked, assign(ranked, order, utilities)


@compiled
def _ranking(ranked: Array, utilities: Array, assigned: Array) -> int:
    """The same, in place; −1 and not done, if the values are not distinct numbers."""
    n = ranked.size
    order = np.empty(n, np.intp)
    for i in range(n):
        value, j = ranked[i], i
        while j > 0 and value < ranked[j - 1]:
            ranked[j], order[j] = ranked[j - 1], order[j - 1]
            j -= 1
        if (j > 0 and value == ranked[j - 1]) or math.isnan(value):
            return -1
        ranked[j], order[j] = value, i
    given, taken = utilities.ravel(), assigned.ravel()
    for start in range(0, given.size, n):
        for i in range(n):
            taken[start + order[i]] = given[start + i]
    return order[0]
