"""A step of RkNES over a diagonal with many variables, tile by tile, from sums over its samples."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from r1nes.arrays import Array, library_of, like
from r1nes.arrays.one_text import inner
from r1nes.arrays.tiles import BLOCK, column_slices, tiled
from r1nes.sampling.compact import ShiftedSequence
from r1nes.sampling.orthogonal import folded, rows_of
from r1nes.strategies.rank_k.step import advance, combine, measure, move, weighted_sums

ROWS = 16  # of a tile: as many as the results of a pass have, twice


class Moments(NamedTuple):
    """Sums over samples."""

    rows: Any = 0.0  # PᵀWY and Σ w y, (k + 1, d)
    squares: Any = 0.0  # Σ w y²
    w_power: float = 0.0  # Σ w² of the covariance's weights, one per direction
    power: float = 0.0  # Σ w² of the mean's
    total: float = 0.0  # Σ w of the covariance's
    n: int = 0  # samples


def moments_of(V: Array, noise: Any, utilities: Array) -> Moments:
    """Return the sums over the samples of ``noise``."""
    of_mean, w, weights = folded(noise, utilities)
    if isinstance(noise, ShiftedSequence):
        sums = noise.weighted_sums(V, of_mean, w)
    elif library_of(Y := rows_of(noise)) == "numpy":
        P, d = inner(Y, V), Y.shape[1]
        sums = np.empty((len(V) + 1, d), Y.dtype), np.empty(d, Y.dtype)
        for t in column_slices(*Y.shape, size=BLOCK):
            sums[0][:, t], sums[1][t] = weighted_sums(P, Y[:, t], of_mean, w)
    else:
        sums = weighted_sums.of(library_of(Y))(Y @ V.T, Y, like(of_mean, Y), like(w, Y))
    return Moments(*sums, float(w @ w), *weights)


@cache
def advance_in_tiles() -> Any:
    """Return NumPy's ``advance`` for many variables, whose passes over columns are divided into tiles."""
    counts: dict[Any, int] = {measure: 6, combine: 3, move: 8}  # arguments that have columns
    passes = {text.__name__: tiled(text, count, ROWS) for text, count in counts.items()}
    return advance.bound("numpy", **passes)
