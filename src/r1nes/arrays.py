"""The arrays that every other module speaks of, and how a user's start becomes one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.floating[Any]]


def as_start(x0: ArrayLike) -> Array:
    """A private, contiguous copy of ``x0`` as a vector: float32 stays, all else becomes float64."""
    given = np.atleast_1d(np.asarray(x0))
    if given.ndim != 1 or given.size == 0:
        raise ValueError(f"x0 must be a vector of at least one number, got shape {given.shape}")
    if given.dtype.kind not in "fiub":
        raise TypeError(f"x0 must hold real numbers, got dtype {given.dtype}")
    start: Array = np.array(given, dtype=np.float32 if given.dtype == np.float32 else np.float64)
    if not np.isfinite(start).all():
        first = int(np.flatnonzero(~np.isfinite(start))[0])
        raise ValueError(f"x0 must be finite, got x0[{first}] = {start[first]}")
    return start
