"""Column tiles of large NumPy arrays, which keep intermediate results in the processor's cache."""

from __future__ import annotations

from typing import Any

import numpy as np

from r1nes.arrays.libraries import Array

TILE = 2**18  # numbers; about the size of an L2 cache
BLOCK = 2**15  # numbers in a tile with several temporary results; larger ones cost page faults
MIN_COLUMNS = 2**7  # the narrowest tile, however many rows it has
STRIP = 2**11  # columns that a compiled loop processes at a time: a few rows of them fit into the L1 cache
ALL = slice(None)

Buffer = Any  # an uninitialised NumPy array, or None for libraries that allocate their own results


def column_slices(n: int, d: int, *, size: int = TILE) -> list[slice]:
    """Return column slices that cut an (n, d) array into tiles of about ``size`` numbers."""
    tile = max(MIN_COLUMNS, size // n)
    return [ALL] if d <= tile else [slice(start, start + tile) for start in range(0, d, tile)]


def new_buffer(noise: Array, d: int) -> Buffer:
    """Return an uninitialised (len(noise), d) array for NumPy noise; None for other libraries."""
    return np.empty((len(noise), d), noise.dtype) if type(noise) is np.ndarray else None
