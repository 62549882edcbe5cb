"""A step of RkNES over a diagonal with many variables, tile by tile, from sums over its samples.

The equations are those of ``rank_k.step``; tiles keep their intermediate results in the processor's cache.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from r1nes.arrays import Array, library_of, like
from r1nes.arrays.tiles import column_slices
from r1nes.sampling.compact import ShiftedSequence
from r1nes.strategies.rank_k.rates import Rates, Slots, State
from r1nes.strategies.rank_k.step import advance, decide, measure, orthonormal, settle, shift, weighted_sums

ROWS = 64  # of a tile: about as many as a step has in use


@dataclass(slots=True)
class Moments:
    """Sums over samples."""

    rows: Any = 0.0  # PᵀWY and Σ w y, (k + 1, d)
    squares: Any = 0.0  # Σ w y²
    power: float = 0.0  # Σ w² of the mean's weights
    total: float = 0.0  # Σ w of the covariance's
    n: int = 0  # samples
    folded: list[Array] = field(default_factory=list)  # weights of the covariance, one per direction

    def add(self, V: Array, Y: Any, of_mean: Array, w: Array) -> None:
        """Add the samples of the directions Y."""
        self.folded.append(w)
        if isinstance(Y, ShiftedSequence):
            rows, squares = Y.weighted_sums(V, of_mean, w)
        elif library_of(Y) == "numpy":
            P, d = Y @ V.T, Y.shape[1]
            rows, squares = np.empty((len(V) + 1, d), Y.dtype), np.empty(d, Y.dtype)
            for t in column_slices(*Y.shape):
                rows[:, t], squares[t] = weighted_sums(P, Y[:, t], of_mean, w)
        else:
            rows, squares = weighted_sums.of(library_of(Y))(Y @ V.T, Y, like(of_mean, Y), like(w, Y))
        self.rows, self.squares = self.rows + rows, self.squares + squares


def advance_in_tiles(library: str, state: State, moments: Moments, rates: Rates, slots: Slots) -> Any:
    """Return what ``advance`` returns, in three passes over the columns for NumPy and numba."""
    w, g, d = np.concatenate(moments.folded), moments.squares, state.mean.shape[0]
    if library not in ("numpy", "numba"):
        return advance.of(library)(state, moments.rows, g, like(w, state.mean), rates, slots)
    tiles, rows = column_slices(ROWS, d), np.concatenate((moments.rows, state.q[None]))
    V, along, measured = state.V, rows @ state.V.T, np.zeros(5)
    gram: Any = 0.0
    part: Any
    part, p = measure.of(library), np.empty_like(state.p)
    for t in tiles:
        across, p[t], products, sums = part(
            _tile(V, t), along, _tile(rows, t), state.p[t], g[t], state.past[t], rates
        )
        rows[:, t], gram, measured = across, gram + products, measured + sums
    sums = tuple(measured.tolist())
    c, e, parts, numbers = decide.of(library)(state, along, gram, sums, float(w @ w), 0.0, rates, slots)
    part, last, change, gram, logs = shift.of(library), settle.of(library), numbers[3], 0.0, 0.0
    mean, B, next_V, q, past = (np.empty_like(x) for x in (state.mean, state.B, V, state.q, state.past))
    for t in tiles:
        v, q_t, ahead, grown = part(_tile(V, t), _tile(rows, t), state.q[t], g[t], parts, numbers, rates)
        here = state._replace(mean=state.mean[t], B=state.B[t], past=state.past[t])
        mean[t], B[t], v, q[t], past[t] = last(here, v, c, q_t, g[t], ahead, grown, change, rates)
        next_V[:, t], gram, logs = v, gram + v @ v.T, logs + float(np.log(grown).sum())
    for t in tiles:
        next_V[:, t] = orthonormal(next_V[:, t], gram)
    log_sigma = state.log_sigma + change + logs / d
    return mean, B, next_V, c, q, p, past, state.past_power, e, state.e_full, log_sigma


def _tile(x: Array, columns: slice) -> Array:
    return np.ascontiguousarray(x[:, columns])
