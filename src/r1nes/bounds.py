"""Box bounds: the search is unbounded, and a fold maps every sample into the box.

Along each variable the fold is the identity inside the box and a parabola within a margin m of each face, so
that its slope falls to 0 where it turns back:

    x = low + t²/(4m)  for t < 2m,    x = low + t − m  further inside,    t = |z − (low − m)|

and likewise at the upper face, repeated with period 2(width + 2m). No sample has to be redrawn, in any
dimension, and an optimum on a face becomes a smooth minimum of the folded function instead of a kink.

A variable whose bounds are equal is fixed. The search does not have it: the unbounded space has a coordinate
for each free variable only, and the fold adds the fixed ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import Bounds

from r1nes.arguments import shown
from r1nes.arrays import Array, ArrayType, host, is_masked, namespace, numbers, taken

BoundsLike = Bounds | Sequence[Any] | np.ndarray[Any, Any] | None


class Box:
    """The box lower ≤ x ≤ upper; either bound may be infinite, and both may be equal.

    ``lower`` and ``upper`` are the bounds of the free variables.
    """

    def __init__(self, lower: Array, upper: Array, sigma: float | Array) -> None:
        """Create a box from vectors with lower ≤ upper; ``sigma`` is σ₀, of all free variables or of each."""
        self._free = free = lower < upper
        self._fixed = lower[~free]  # their values
        self._order = np.argsort(np.concatenate([np.flatnonzero(free), np.flatnonzero(~free)]))
        self.lower, self.upper = lower, upper = lower[free], upper[free]
        with np.errstate(over="ignore"):  # a width beyond all numbers is infinite
            self._width = width = upper - lower
        # At most σ/2, so that the fold does not shrink a step of σ much, even within the margin.
        margin = np.minimum(0.05 * width, 0.5 * sigma)
        self._margin = np.maximum(margin, np.finfo(lower.dtype).tiny).astype(lower.dtype)
        self._half_period = width + 2 * self._margin
        below, above = np.isfinite(lower), np.isfinite(upper)
        self._sign = np.where(below, 1, -1).astype(lower.dtype)  # without a lower bound, fold at the upper
        self._face = np.where(below, lower, np.where(above, upper, 0))
        self._other = np.where(above, upper, 0)

    def on(self, array_type: ArrayType) -> Box:
        """Return the same box for points of ``array_type``."""
        if array_type.library == "numpy":
            return self
        box = Box.__new__(Box)
        for name, array in vars(self).items():
            setattr(box, name, array_type.array(np.array(array)) if array.dtype.kind == "f" else array)
        return box

    @property
    def limits(self) -> Array:
        """The largest useful standard deviations; with larger ones, samples scatter over the whole box."""
        return self._width / 3

    def fold(self, points: Array) -> Array:
        """Map ``points`` of the unbounded space, one per row, into the box."""
        return self.complete(self._fold(points), self._fixed)

    def complete(self, rows: Array, fixed: Array) -> Array:
        """Return ``rows`` of numbers per free variable with those of the ``fixed`` variables added."""
        if not len(fixed):
            return rows
        xp = namespace(rows)
        added = xp.broadcast_to(fixed, (len(rows), len(fixed)))
        return taken(xp.concat([rows, added], axis=1), self._order, axis=1)

    def _fold(self, points: Array) -> Array:
        xp, m, H, sign = namespace(points), self._margin, self._half_period, self._sign
        inside = (points >= self.lower + m) & (points <= self.upper - m)
        if inside.all():
            return points
        t = abs(points - self._face + sign * m) % (2 * H)
        t = xp.minimum(t, 2 * H - t)  # distance from one turning point; the next one is at H
        near = xp.minimum(t, H - t)  # distance from the nearer turning point
        depth = xp.where(near < 2 * m, near * near / (4 * m), near - m)  # distance inside the nearer face
        folded = xp.where(t <= H - t, self._face + sign * depth, self._other - sign * depth)
        return xp.where(inside, points, xp.clip(folded, self.lower, self.upper))

    def unfold(self, x: Array) -> Array:
        """Return the point nearest to ``x`` that the fold maps to ``x``."""
        x, root = x[self._free], np.sqrt(self._margin)
        low_gap = np.minimum(x - self.lower, self._margin)
        high_gap = np.minimum(self.upper - x, self._margin)
        return x - (root - np.sqrt(low_gap)) ** 2 + (root - np.sqrt(high_gap)) ** 2


def as_edges(bounds: BoundsLike, x0: Array) -> tuple[Array, Array] | None:
    """Return lower and upper bounds from SciPy's ``Bounds`` or (low, high) pairs; None without bounds."""
    if bounds is None:
        return None
    low: ArrayLike
    high: ArrayLike
    low, high = (bounds.lb, bounds.ub) if isinstance(bounds, Bounds) else _pairs(bounds, x0.size)
    low, high = (numbers("bounds", each).astype(x0.dtype) for each in (low, high))
    try:
        lower, upper = np.broadcast_to(low, x0.shape), np.broadcast_to(high, x0.shape)
    except ValueError as error:
        raise ValueError(f"bounds must match the {x0.size} variables of x0: {error}") from None
    wrong = ~((lower <= upper) & (lower < np.inf) & (upper > -np.inf))  # NaN counts as wrong
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        raise ValueError(f"bounds must have low ≤ high, got ({lower[i]}, {upper[i]}) for variable {i}")
    if (lower == upper).all():
        raise ValueError(f"bounds must leave a variable free, got low = high for all {x0.size}")
    outside = (x0 < lower) | (x0 > upper)
    if outside.any():
        i = int(np.flatnonzero(outside)[0])
        raise ValueError(f"x0 must lie within bounds, got x0[{i}] = {x0[i]} outside ({lower[i]}, {upper[i]})")
    return lower, upper


def default_sigma(edges: tuple[Array, Array] | None) -> float:
    """Return the first standard deviation: 1, or 0.3 times the narrowest side of a finite box."""
    if edges is None:
        return 1.0
    with np.errstate(over="ignore"):
        widths = (edges[1] - edges[0])[edges[0] < edges[1]]
    return 0.3 * float(widths.min()) if np.isfinite(widths).all() else 1.0


def _pairs(bounds: Sequence[Any] | np.ndarray[Any, Any], d: int) -> tuple[list[float], list[float]]:
    expected = f"bounds must be scipy.optimize.Bounds or a pair (low, high) for each of {d} variables"
    try:
        pairs = [(low, high) for low, high in (host(bounds) if is_masked(bounds) else bounds)]
    except (TypeError, ValueError):
        raise ValueError(f"{expected}, got {shown(bounds)}") from None
    if len(pairs) != d:
        raise ValueError(f"{expected}, got {len(pairs)} pairs")
    return [_bound(low, -np.inf) for low, _ in pairs], [_bound(high, np.inf) for _, high in pairs]


def _bound(value: Any, missing: float) -> float:
    if value is None:
        return missing
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"bounds must be a number below 1.8e308, got {shown(value)}") from None
    except (TypeError, ValueError):
        raise TypeError(f"bounds must be numbers or None, got {shown(value)}") from None
