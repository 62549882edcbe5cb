"""The k × k part of a step of RkNES, to be called from compiled functions.

The equations are those of ``rank_k.strategy``. Results are written to the last arguments.
"""

from __future__ import annotations

import math

from r1nes.arrays import Array
from r1nes.arrays.compiled import kernel
from r1nes.arrays.loops import TINY, add, copy_to, dot, eigh, fill_with, largest_first, product

LEAST, SHORTEST, LONGEST = 0.1, -9.0, 12.0  # |c| of a free slot, and the limits of c
PACE = 0.5  # of shrinking slots, relative to growing ones
PULL = 0.02  # of shrunk directions back to 0, in units of the rate of the layer
DRIFT = 0.3  # of the mean along its path p_c/√μ_eff, in each generation
FASTEST = 0.15  # growth of λ in a generation: a faster one outruns the mean, and never ends
TURN = 0.5  # the most that a direction turns in one generation, as a tangent
NOISE = 1.2  # s: how much stronger than pure noise the signal of D must be to count


@kernel
def weigh(P: Array, w: Array, mirrored: bool, weights: Array, along: Array, within: Array) -> None:
    """The weight of each direction in Σ w y, PᵀWY and Σ w y²; VΣ w y; and PᵀWP."""
    n, k = P.shape
    for i in range(n):
        weights[0, i], weights[k + 1, i] = w[0, i], w[1, i]
        if mirrored:
            weights[0, i] -= w[0, n + i]
            weights[k + 1, i] += w[1, n + i]
        for m in range(k):
            weights[1 + m, i] = weights[k + 1, i] * P[i, m]
            along[m] += weights[0, i] * P[i, m]
            for q in range(k):
                within[m, q] += weights[1 + m, i] * P[i, q]


@kernel
def add_followed(
    followed: Array,
    with_path: Array,
    power_across: float,
    mu: float,
    of_samples: Array,
    within: Array,
    between: Array,
) -> None:
    """PᵀWP and HHᵀ, ŷ included."""
    for i in range(followed.size):
        for m in range(followed.size):
            of_both = followed[i] * followed[m] / mu
            within[i, m] = of_samples[i, m] + of_both
            between[i, m] += (followed[i] * with_path[m] + followed[m] * with_path[i]) / mu
            between[i, m] += of_both * power_across / mu


@kernel
def across_grown(stretch: Array, within: Array, t: Array) -> tuple[float, float, float]:
    """The trace of PᵀWP; how much of the trace of G and of I is taken away by (5), with its t."""
    trace, of_grown, of_share = 0.0, 0.0, 0.0
    for i in range(t.size):
        t[i] = max(0.0, 1 - 1 / (stretch[i] * stretch[i]))
        trace += within[i, i]
        of_grown += t[i] * (2 - t[i]) * within[i, i]
        of_share += t[i] * (2 - t[i])
    return trace, of_grown, of_share


@kernel
def step_within(
    stretch: Array, rate: float, mean: float, within: Array, shrinking: int, A: Array, U: Array, spare: Array
) -> None:
    """The variances along V after a step, ascending, on the diagonal of A; and their axes, in rows of U."""
    k, root, grown = len(A), math.sqrt(PACE), spare[0]
    for i in range(k):
        for m in range(k):
            pace = (root if i < shrinking else 1.0) * (root if m < shrinking else 1.0)
            A[i, m] = pace * rate * (within[i, m] - (mean if i == m else 0.0))  # (1), less τ
    eigh(A, U)
    for i in range(k):
        grown[i] = math.exp(min(max(A[i, i], -1.0), 1.0))
    for i in range(k):
        for m in range(k):
            A[i, m] = 0.0
            for q in range(k):
                A[i, m] += U[q, i] * grown[q] * U[q, m]
            A[i, m] *= stretch[i] * stretch[m]
    eigh(A, U)


@kernel
def stretches(variances: Array, rate: float, shrinking: int, c: Array) -> None:
    """The next c."""
    for i in range(c.size):
        c_i = 0.5 * math.log(max(variances[i, i], TINY))
        shrunk = min(max(c_i + PULL * rate, SHORTEST), -LEAST)
        c[i] = shrunk if i < shrinking else min(max(c_i, LEAST), LONGEST)


@kernel
def step_between(
    stretch: Array,
    rate: float,
    between: Array,
    shrinking: int,
    U: Array,
    next_c: Array,
    of_V: Array,
    of_H: Array,
    T: Array,
    spare: Array,
) -> None:
    """How much of V and of H the next V has, by (4), if D does not move: its rows are orthonormal."""
    k = next_c.size
    for m in range(k):
        pace = PACE if m < shrinking else 1.0
        length, turn = math.sqrt(between[m, m]), rate * pace / (stretch[m] - 1 / stretch[m])  # 1/(2 sinh c)
        turn *= min(1.0, TURN / max(abs(turn) * length, TURN))
        for i in range(k):
            of_H[i, m] = U[i, m] * turn
    product(spare, of_H, between)
    for i in range(k):
        for m in range(k):
            of_V[i, m] = dot(spare[i], of_H[m]) + (1.0 if i == m else 0.0)  # products of the rows so far
    orthonormal(next_c, of_V, T)
    product(of_V, T, U)
    product(spare, T, of_H)
    copy_to(of_H.ravel(), spare.ravel())


@kernel
def orthonormal(c: Array, gram: Array, T: Array) -> None:
    """T such that the rows of TV are orthonormal; those with the largest |c| move the least.

    By Cholesky's decomposition of VVᵀ, which is well-conditioned, since V is nearly orthonormal.
    """
    k, order = c.size, largest_first(c)
    fill_with(T.ravel(), 0.0)
    for i in range(k):
        row = T[order[i]]
        row[order[i]] = 1.0
        for m in range(i):
            p, done = 0.0, T[order[m]]  # of the row that V has here, along a row of the result
            for q in range(k):
                p += gram[order[i], q] * done[q]
            add(row, -p, done)
        power = 0.0
        for p in range(k):
            for q in range(k):
                power += row[p] * gram[p, q] * row[q]
        row /= math.sqrt(power)
