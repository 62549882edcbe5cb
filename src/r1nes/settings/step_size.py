"""σ₀: one number for all variables, or one for each."""

from __future__ import annotations

from typing import Any

import numpy as np

from r1nes.arguments import positive
from r1nes.arrays import Array, host
from r1nes.bounds import default_sigma


def positive_each(name: str, value: Any) -> Any:
    """Return ``value`` as a finite float above 0, or as a vector of such numbers."""
    if not hasattr(value, "shape") and not isinstance(value, list | tuple):
        return positive(name, value)
    numbers = host(value)
    if numbers.dtype.kind not in "fiu" or numbers.ndim > 1:
        raise TypeError(f"{name} must be a number or a vector of numbers, got {value!r}")
    if not (numbers.size and (numbers > 0).all() and np.isfinite(numbers).all()):
        raise ValueError(f"{name} must be finite and above 0, got {value!r}")
    return float(numbers) if numbers.ndim == 0 else numbers.astype(np.float64)


def step_size_of(
    sigma0: Any, edges: tuple[Array, Array] | None, start: Array
) -> tuple[Any, float, Array | None]:
    """Return σ₀ with its default filled in, and its geometric mean over the free variables.

    The third value is σ₀ divided by that mean, or None if it is the same for all variables.
    """
    if sigma0 is None:
        sigma0 = default_sigma(edges)
    if not isinstance(sigma0, np.ndarray):
        return sigma0, sigma0, None
    if sigma0.shape != start.shape:
        raise ValueError(f"sigma0 must be a number or {start.size}, one per variable; got {sigma0.size}")
    if (sigma0 == sigma0[0]).all():
        return sigma0, float(sigma0[0]), None
    free = slice(None) if edges is None else edges[0] < edges[1]
    sigma = float(np.exp(np.log(sigma0[free]).mean()))
    return sigma0, sigma, (sigma0 / sigma).astype(start.dtype)
