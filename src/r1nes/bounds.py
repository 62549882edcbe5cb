"""Box bounds by reflection: a point beyond a bound is mirrored back into the box.

The search distribution lives in the unbounded space and every sample is folded into the box, so nothing is
ever drawn again, whatever the dimension, and an optimum on a bound is an ordinary minimum of the folded
function. Points inside the box are left as they are, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import Bounds

from r1nes.arrays import Array

BoundsLike = Bounds | Sequence[Any] | np.ndarray[Any, Any] | None


class Box:
    """The box lower ≤ x ≤ upper; either side of a variable may be infinite, or both equal."""

    def __init__(self, lower: Array, upper: Array) -> None:
        """Both are vectors with lower ≤ upper."""
        self.lower, self.upper = lower, upper
        open_below = np.isinf(lower)
        self._anchor = np.where(open_below, np.where(np.isinf(upper), 0, upper), lower)
        self._sign = np.where(open_below, -1, 1).astype(lower.dtype)
        width = upper - lower
        self._period = np.where(width > 0, 2 * width, np.inf)  # fixed variables: clipped below

    @property
    def widths(self) -> Array:
        """The width of each side."""
        return self.upper - self.lower

    def fold(self, points: Array) -> Array:
        """The ``points`` of the unbounded space, one per row, reflected into the box."""
        inside = (points >= self.lower) & (points <= self.upper)
        if inside.all():
            return points
        distance = np.abs(points - self._anchor) % self._period
        distance = np.minimum(distance, self._period - distance)
        folded = np.clip(self._anchor + self._sign * distance, self.lower, self.upper)
        return np.where(inside, points, folded)


def as_box(bounds: BoundsLike, x0: Array) -> Box | None:
    """The box that a user means: SciPy's ``Bounds``, or a pair (low, high) per variable."""
    if bounds is None:
        return None
    low: ArrayLike
    high: ArrayLike
    low, high = (bounds.lb, bounds.ub) if isinstance(bounds, Bounds) else _pairs(bounds, x0.size)
    try:
        lower = np.broadcast_to(np.asarray(low, x0.dtype), x0.shape)
        upper = np.broadcast_to(np.asarray(high, x0.dtype), x0.shape)
    except ValueError as error:
        raise ValueError(f"bounds must fit x0 of {x0.size} variables: {error}") from None
    wrong = ~((lower <= upper) & (lower < np.inf) & (upper > -np.inf))  # NaN is wrong too
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        raise ValueError(f"bounds must have low ≤ high, got ({lower[i]}, {upper[i]}) for variable {i}")
    outside = (x0 < lower) | (x0 > upper)
    if outside.any():
        i = int(np.flatnonzero(outside)[0])
        raise ValueError(f"x0 must lie within bounds, got x0[{i}] = {x0[i]} outside ({lower[i]}, {upper[i]})")
    return Box(lower, upper)


def _pairs(bounds: Sequence[Any] | np.ndarray[Any, Any], d: int) -> tuple[list[float], list[float]]:
    expected = f"bounds must be scipy.optimize.Bounds or a pair (low, high) for each of {d} variables"
    try:
        pairs = [(low, high) for low, high in bounds]
    except (TypeError, ValueError):
        raise ValueError(f"{expected}, got {bounds!r}") from None
    if len(pairs) != d:
        raise ValueError(f"{expected}, got {len(pairs)} pairs")
    lower = [-np.inf if low is None else float(low) for low, _ in pairs]
    upper = [np.inf if high is None else float(high) for _, high in pairs]
    return lower, upper
