"""A step of RkNES over a diagonal with many variables, tile by tile, from sums over its samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from r1nes.arrays import Array, library_of, like
from r1nes.arrays.tiles import BLOCK, column_slices, tiled
from r1nes.sampling.compact import ShiftedSequence
from r1nes.sampling.orthogonal import folded, rows_of
from r1nes.strategies.rank_k.step import advance, combine, measure, settle, shift, weighted_sums

ROWS = 64  # of a tile: about as many as a step has in use


@dataclass(slots=True)
class Moments:
    """Sums over samples."""

    rows: Any = 0.0  # PᵀWY and Σ w y, (k + 1, d)
    squares: Any = 0.0  # Σ w y²
    power: float = 0.0  # Σ w² of the mean's weights
    total: float = 0.0  # Σ w of the covariance's
    luck: float = 0.0  # Σ w² of the covariance's, one per direction
    n: int = 0  # samples

    def add(self, V: Array, noise: Any, utilities: Array) -> None:
        """Add the samples of ``noise``."""
        of_mean, w, (power, total, n) = folded(noise, utilities)
        if isinstance(noise, ShiftedSequence):
            rows, squares = noise.weighted_sums(V, of_mean, w)
        elif library_of(Y := rows_of(noise)) == "numpy":
            P, d = Y @ V.T, Y.shape[1]
            rows, squares = np.empty((len(V) + 1, d), Y.dtype), np.empty(d, Y.dtype)
            for t in column_slices(*Y.shape, size=BLOCK):
                rows[:, t], squares[t] = weighted_sums(P, Y[:, t], of_mean, w)
        else:
            rows, squares = weighted_sums.of(library_of(Y))(Y @ V.T, Y, like(of_mean, Y), like(w, Y))
        self.rows, self.squares, self.luck = (
            self.rows + rows,
            self.squares + squares,
            self.luck + float(w @ w),
        )
        self.power, self.total, self.n = self.power + power, self.total + total, self.n + n


@cache
def advance_in_tiles(library: str) -> Any:
    """Return ``advance`` for many variables, whose passes over columns NumPy and numba do in tiles."""
    if library not in ("numpy", "numba"):
        return advance.of(library)
    counts: dict[Any, int] = {measure: 6, combine: 3, shift: 4, settle: 8}  # arguments that have columns
    passes = {text.__name__: tiled(text.of(library), n, ROWS) for text, n in counts.items()}
    return advance.bound("numpy", **passes)
