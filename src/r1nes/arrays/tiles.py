"""Formulas that work column by column: on NumPy's arrays tile by tile and in place, on others in one go.

Tiles keep what a formula needs in between within the cache of the processor, and out of the memory that grows
with n·d. PyTorch and JAX look after their own; and JAX never changes an array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from r1nes.arrays.compiled import NARROWEST, TILE
from r1nes.arrays.libraries import Array, namespace, on_host

ALL = slice(None)

Buffer = Any  # an uninitialised NumPy array, or None for libraries that allocate their own results


def column_slices(n: int, d: int) -> list[slice]:
    """The columns of each tile of ``n`` rows."""
    tile = max(NARROWEST, TILE // n)
    return [ALL] if d <= tile else [slice(start, start + tile) for start in range(0, d, tile)]


def new_buffer(noise: Array, d: int) -> Buffer:
    """An uninitialised (len(noise), d) array for NumPy noise; None for other libraries."""
    return np.empty((len(noise), d), noise.dtype) if on_host(noise) else None


def compute_tiles(formula: Callable[..., Array], X: Buffer) -> Array:
    """The array whose columns the ``formula`` gives; within ``X``, it is told where as ``out``."""
    if X is None:
        return formula(ALL)
    if X.size <= TILE:  # the common case, kept cheap
        return formula(ALL, out=X)
    for c in column_slices(*X.shape):
        formula(c, out=X[:, c])
    return X


def accumulate_tiles(formula: Callable[[slice], tuple[Array, Array]], n: int, sums: Array) -> Array:
    """The ``sums`` with what the ``formula`` of some columns gives for the first row and for all others.

    It works on ``n`` rows of noise. NumPy's sums are changed in place.
    """
    if not on_host(sums):
        xp, (first, others) = namespace(sums), formula(ALL)
        return sums + xp.concat([first[None, :], xp.reshape(others, (-1, sums.shape[1]))])
    for c in column_slices(n, sums.shape[1]):
        first, others = formula(c)
        sums[0, c] += first
        sums[1:, c] += others
    return sums
