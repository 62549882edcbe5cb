"""The points of RkNES, compiled, from directions in compact form (``ShiftedSequence``).

A direction is y_j = s_j u_j, where u is a slice of the ``sequence`` and all directions share the ``signs`` s.
So the signs are applied to V once instead of to each direction, and u is read in place.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from r1nes.arrays import Array
from r1nes.arrays.compiled import compiled, kernel, strip_width
from r1nes.arrays.loops import add_rows, combine, copy_to, four_dots, four_starts, multiply

# Rows of a state; V from the first direction on. Sums over samples are kept in the last rows, in this order.
MEAN, SCALES, PATH, SIGNAL, PATH_SIGMA, FIRST = range(6)


@compiled
def points(
    rows: Array,
    sigma: float,
    c: Array,
    sequence: Array,
    period: int,
    signs: Any,
    starts: Any,
    mirrored: bool,
    X: Array,
) -> None:
    """Points x = μ + σDMy, of covariance σ²DM²D."""
    n, k, d = starts.size, c.size, X.shape[1]
    width = min(strip_width(n, d), d)
    work, P = np.zeros((max(3, k) + 2, width)), np.zeros((n, max(3, k)))
    V, scales, spare = work[2:], work[0], work[1]
    project(rows[FIRST:], sequence, period, signs, starts, V, P)
    for m in range(k):
        stretch = math.expm1(c[m])
        for i in range(n):
            P[i, m] *= stretch
    for start in range(0, d, width):
        stop = min(start + width, d)
        for m in range(k):
            multiply(V[m], rows[FIRST + m, start:stop], signs[start:stop])
        multiply(scales, rows[SCALES, start:stop], signs[start:stop])
        for i in range(n):
            at = (starts[i] + start) % period
            y = sequence[at : at + stop - start]
            _place(X[i, start:stop], rows[MEAN, start:stop], sigma, scales, y, P[i], V, spare)
            if mirrored:
                combine(X[n + i, start:stop], 2.0, rows[MEAN, start:stop], -1.0, X[i, start:stop])


@kernel
def _place(
    x: Array, mean: Array, sigma: float, scales: Array, y: Array, p: Array, V: Array, spare: Array
) -> None:
    """The point x = μ + σD(y + Vᵀp), the last three directions in the same loop."""
    many = p.size - 3
    if many:
        copy_to(spare[: y.size], y)
        y = spare[: y.size]
        add_rows(y, 1.0, p[:many], V, 0)
    p_0, p_1, p_2 = p[many], p[many + 1], p[many + 2]
    v_0, v_1, v_2 = V[many], V[many + 1], V[many + 2]
    for j in range(x.size):
        x[j] = mean[j] + sigma * scales[j] * (y[j] + p_0 * v_0[j] + p_1 * v_1[j] + p_2 * v_2[j])


@kernel
def project(V: Array, sequence: Array, period: int, signs: Any, starts: Any, work: Array, P: Array) -> None:
    """Add YVᵀ to P; of ``work`` are used as many rows as V has."""
    n, (k, d), width = starts.size, V.shape, work.shape[1]
    for start in range(0, d, width):
        stop = min(start + width, d)
        for m in range(k):
            multiply(work[m], V[m, start:stop], signs[start:stop])
        for i in range(0, n, 4):
            four = four_starts(starts, i, start, period)
            for m in range(k):
                dots = four_dots(work[m, : stop - start], sequence, four)
                for q in range(min(4, n - i)):
                    P[i + q, m] += dots[q]
