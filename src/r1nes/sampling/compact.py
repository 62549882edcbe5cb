"""Directions in compact form: cyclic shifts of one sequence, read in place by compiled code.

A direction is y = s∘u, where u is a slice of the sequence and all directions share the signs s. The signs are
applied to the other factor of each product, so that no direction is ever stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from r1nes.arrays import Array
from r1nes.arrays.compiled import compiled, kernel

STRIP = 2**11  # columns processed at a time, of which a few rows fit into the L1 cache


@dataclass(slots=True, eq=False)
class ShiftedSequence:
    """Direction i is ``signs`` times the ``sequence`` from ``starts[i]`` on, modulo the size of ``signs``.

    The sequence stands there twice, so that a direction can be read without wrapping around.
    """

    sequence: Array
    signs: NDArray[np.int8]
    starts: NDArray[np.int64]
    _projected: tuple[Array, Array] | None = None  # the last V, and YVᵀ: points and sums need the same one

    def rows(self) -> Array:
        """Return the directions, one per row."""
        d = self.signs.size
        return np.stack([self.sequence[start : start + d] for start in self.starts]) * self.signs

    def first(self, count: int) -> ShiftedSequence:
        """Return the first ``count`` directions."""
        return ShiftedSequence(self.sequence, self.signs, self.starts[:count])

    def points(self, mean: Array, B: Array, V: Array, factor: Array, out: Array | None) -> Array:
        """Return μ + B(y + Vᵀ(factor∘Vy)) for each direction y, in ``out`` if given."""
        X = np.empty((self.starts.size, mean.size)) if out is None else out
        _points.fast(mean, B, V, self._project(V) * factor, self.sequence, self.signs, self.starts, X)
        return X

    def weighted_sums(self, V: Array, of_mean: Array, w: Array) -> tuple[Array, Array]:
        """Return Σ w (Vy) y and, with the weights ``of_mean``, Σ y below it; and Σ w y²."""
        rows, squares = np.empty((len(V) + 1, V.shape[1])), np.empty(V.shape[1])
        P = w[:, None] * self._project(V)
        _weighted_sums.fast(P, self.sequence, self.signs, self.starts, of_mean, w, rows, squares)
        return rows, squares

    def _project(self, V: Array) -> Array:
        """Return YVᵀ."""
        if self._projected is None or self._projected[0] is not V:
            self._projected = V, _products.fast(V, self.sequence, self.signs, self.starts)
        return self._projected[1]


@kernel
def _project(V: Array, sequence: Array, signs: Any, starts: Any) -> Array:
    """Return YVᵀ."""
    n, (k, d), period = starts.size, V.shape, signs.size
    P, signed = np.zeros((n, k)), np.empty(STRIP)
    for start in range(0, d, STRIP):
        width = min(STRIP, d - start)
        for m in range(k):
            for j in range(width):
                signed[j] = V[m, start + j] * signs[start + j]
            for i in range(n):
                at, total = (starts[i] + start) % period, 0.0
                y = sequence[at : at + width]
                for j in range(width):
                    total += signed[j] * y[j]
                P[i, m] += total
    return P


@kernel
def _points_of(
    mean: Array, B: Array, V: Array, P: Array, sequence: Array, signs: Any, starts: Any, X: Array
) -> None:
    n, (k, d), period = starts.size, V.shape, signs.size
    scaled = np.empty((k + 1, STRIP))  # Bv, and Bs
    for start in range(0, d, STRIP):
        width = min(STRIP, d - start)
        for j in range(width):
            scaled[k, j] = B[start + j] * signs[start + j]
            for m in range(k):
                scaled[m, j] = B[start + j] * V[m, start + j]
        for i in range(n):
            at, x = (starts[i] + start) % period, X[i, start : start + width]
            y = sequence[at : at + width]
            for j in range(width):
                x[j] = mean[start + j] + scaled[k, j] * y[j]
            for m in range(k):
                p, v = P[i, m], scaled[m]
                for j in range(width):
                    x[j] += p * v[j]


@kernel
def _sums_of(
    P: Array, sequence: Array, signs: Any, starts: Any, of_mean: Array, w: Array, rows: Array, squares: Array
) -> None:
    (n, k), d, period = P.shape, squares.size, signs.size
    sums = np.zeros((k + 2, STRIP))
    for start in range(0, d, STRIP):
        width = min(STRIP, d - start)
        sums[:] = 0.0
        for i in range(n):
            at = (starts[i] + start) % period
            y = sequence[at : at + width]
            for m in range(k + 1):
                weight, total = of_mean[i] if m == k else P[i, m], sums[m]
                for j in range(width):
                    total[j] += weight * y[j]
            weight, total = w[i], sums[k + 1]
            for j in range(width):
                total[j] += weight * y[j] * y[j]
        for j in range(width):
            squares[start + j] = sums[k + 1, j]
        for m in range(k + 1):
            for j in range(width):
                rows[m, start + j] = signs[start + j] * sums[m, j]


@compiled
def _products(V: Array, sequence: Array, signs: Any, starts: Any) -> Array:
    return _project(V, sequence, signs, starts)


@compiled
def _points(
    mean: Array, B: Array, V: Array, P: Array, sequence: Array, signs: Any, starts: Any, X: Array
) -> None:
    _points_of(mean, B, V, P, sequence, signs, starts, X)


@compiled
def _weighted_sums(
    P: Array, sequence: Array, signs: Any, starts: Any, of_mean: Array, w: Array, rows: Array, squares: Array
) -> None:
    _sums_of(P, sequence, signs, starts, of_mean, w, rows, squares)
