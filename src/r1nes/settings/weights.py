"""Utilities that are given: one weight per rank, best first."""

from __future__ import annotations

from typing import Any

import numpy as np

from r1nes.arrays import Array, numbers

LARGEST = 100.0  # the sum of their absolute values, which is about 1; larger ones only make steps overflow


def weights_of(utilities: Any, n: int) -> Array:
    """Return the ``utilities`` of ``n`` ranks as an array."""
    w = numbers("utilities", utilities).astype(np.float64)
    if w.shape != (n,):
        raise ValueError(f"utilities must hold one weight per rank, {n}, got shape {w.shape}")
    if not np.isfinite(w).all() or (np.diff(w) > 0).any() or w[0] == w[-1]:
        raise ValueError(f"utilities must be finite and fall from the best rank to the worst, got {w}")
    if np.abs(w / LARGEST).sum() > 1:
        raise ValueError(f"utilities must have absolute values of sum {LARGEST:g} at most, got {w}")
    return w
