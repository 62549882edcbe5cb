"""Column tiles of large NumPy arrays, which keep intermediate results in the processor's cache."""

from __future__ import annotations

from collections.abc import Callable
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


def tiled(function: Callable[..., Any], count: int, rows: int) -> Callable[..., Any]:
    """Return ``function``, applied to tiles of its first ``count`` arguments, as if they had ``rows`` rows.

    It must return arrays with the same columns, which are put together, and last a tuple of sums over the
    columns, which are added.
    """

    def in_tiles(*arguments: Any) -> tuple[Any, ...]:
        wholes, d, totals = list[Array](), arguments[0].shape[-1], None
        for t in column_slices(rows, d):
            *parts, sums = function(*(x[..., t] for x in arguments[:count]), *arguments[count:])
            wholes = wholes or [np.empty((*part.shape[:-1], d), part.dtype) for part in parts]
            for whole, part in zip(wholes, parts, strict=True):
                whole[..., t] = part
            totals = sums if totals is None else tuple(a + b for a, b in zip(totals, sums, strict=True))
        return (*wholes, totals)

    return in_tiles
