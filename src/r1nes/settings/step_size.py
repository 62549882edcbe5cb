"""σ₀: one number for all variables, or one for each."""

from __future__ import annotations

from typing import Any

import numpy as np

from r1nes.arguments import positive, shown
from r1nes.arrays import Array, numbers
from r1nes.bounds import default_sigma


def positive_each(name: str, value: Any) -> Any:
    """Return ``value`` as a finite float above 0, or as a vector of such numbers."""
    if not hasattr(value, "shape") and not isinstance(value, list | tuple):
        return positive(name, value)
    given = numbers(name, value)
    if given.dtype.kind not in "fiu" or given.ndim > 1:
        raise TypeError(f"{name} must be a number or a vector of numbers, got {shown(value)}")
    if not (given.size and (given > 0).all() and np.isfinite(given).all()):
        raise ValueError(f"{name} must be finite and above 0, got {shown(value)}")
    return float(given) if given.ndim == 0 else given.astype(np.float64)


def largest_std(dtype: np.dtype[Any]) -> float:
    """Return the standard deviation from which on squares of squares overflow."""
    return float(np.finfo(dtype).max) ** 0.25


def step_size_of(
    sigma0: Any, edges: tuple[Array, Array] | None, start: Array
) -> tuple[Any, float, Array | None]:
    """Return σ₀ with its default filled in, and its geometric mean over the free variables.

    The third value is σ₀ divided by that mean, or None if it is the same for all variables.
    """
    origin = "" if sigma0 is not None else ", by default 0.3 times the narrowest side of bounds"
    if sigma0 is None:
        sigma0 = default_sigma(edges)
    kind = start.dtype
    least, limit = float(np.finfo(kind).tiny) ** 0.5, largest_std(kind)
    if not (np.min(sigma0) > least and np.max(sigma0) < limit):
        raise ValueError(
            f"sigma0 must be above {least:.3g} and below {limit:.3g}, the limits of {kind} arithmetic, "
            f"got {shown(sigma0)}{origin}"
        )
    if not isinstance(sigma0, np.ndarray):
        return sigma0, sigma0, None
    if sigma0.shape != start.shape:
        raise ValueError(f"sigma0 must be a number or {start.size}, one per variable; got {sigma0.size}")
    if (sigma0 == sigma0[0]).all():
        return sigma0, float(sigma0[0]), None
    free = slice(None) if edges is None else edges[0] < edges[1]
    sigma = float(np.exp(np.log(sigma0[free]).mean()))
    return sigma0, sigma, (sigma0 / sigma).astype(start.dtype)
