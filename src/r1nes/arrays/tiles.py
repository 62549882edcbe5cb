"""Column-wise formulas, evaluated tile by tile and in place for NumPy arrays, in one go for other libraries.

Tiles keep intermediate results in the processor cache and avoid temporary arrays of n·d numbers. PyTorch and
JAX manage their own memory, and JAX arrays are immutable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from r1nes.arrays.libraries import Array, namespace

TILE = 2**18  # numbers; about the size of an L2 cache
MIN_COLUMNS = 2**9  # the narrowest tile, however many rows it has
ALL = slice(None)

Buffer = Any  # an uninitialised NumPy array, or None for libraries that allocate their own results


def column_slices(n: int, d: int) -> list[slice]:
    """Return column slices that cut an (n, d) array into tiles."""
    tile = max(MIN_COLUMNS, TILE // n)
    return [ALL] if d <= tile else [slice(start, start + tile) for start in range(0, d, tile)]


def new_buffer(noise: Array, d: int) -> Buffer:
    """Return an uninitialised (len(noise), d) array for NumPy noise; None for other libraries."""
    return np.empty((len(noise), d), noise.dtype) if type(noise) is np.ndarray else None


def compute_tiles(formula: Callable[..., Array], noise: Array, d: int, out: Array | None) -> Array:
    """Evaluate ``formula`` for every column and return the result, (len(noise), d), in ``out`` if given.

    ``formula`` receives a slice of columns and, for NumPy arrays, the part of the result to write to as its
    ``out`` argument.
    """
    X = new_buffer(noise, d) if out is None else out
    if X is None:
        return formula(ALL)
    if X.size <= TILE:  # the common case, kept cheap
        return formula(ALL, out=X)
    for c in column_slices(*X.shape):
        formula(c, out=X[:, c])
    return X


def accumulate_tiles(formula: Callable[[slice], tuple[Array, Array]], n: int, sums: Array) -> Array:
    """Add the result of ``formula`` to ``sums``; NumPy arrays are changed in place.

    ``formula`` receives a slice of columns and returns the terms for the first row of ``sums`` and for all
    other rows. It reads ``n`` rows of noise, which determines the size of a tile.
    """
    if type(sums) is not np.ndarray:
        xp, (first, others) = namespace(sums), formula(ALL)
        return sums + xp.concat([first[None, :], xp.reshape(others, (-1, sums.shape[1]))])
    for c in column_slices(n, sums.shape[1]):
        first, others = formula(c)
        sums[0, c] += first
        sums[1:, c] += others
    return sums
