"""Vector operations and a small symmetric eigenproblem, to be called from compiled functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from r1nes.arrays.compiled import inline_kernel, kernel
from r1nes.arrays.libraries import Array

TINY = 1e-37  # variances below this are treated as 0


@inline_kernel
def dot(x: Array, y: Array) -> float:
    """Return xᵀy."""
    total = 0.0
    for j in range(x.size):
        total += x[j] * y[j]
    return total


@inline_kernel
def total_of(x: Array) -> float:
    """Return the sum of ``x``."""
    total = 0.0
    for j in range(x.size):
        total += x[j]
    return total


@inline_kernel
def add(out: Array, factor: float, x: Array) -> None:
    """Add ``factor`` times ``x`` to ``out``."""
    for j in range(out.size):
        out[j] += factor * x[j]


@inline_kernel
def add_rows(out: Array, sign: float, factors: Array, rows: Array, at: int) -> None:
    """Add ``sign * factors @ rows``, from column ``at`` on, to ``out``; three rows per pass over ``out``."""
    n, width = factors.size, out.size
    for i in range(0, n - 2, 3):
        a, b, c = sign * factors[i], sign * factors[i + 1], sign * factors[i + 2]
        x, y, z = rows[i, at : at + width], rows[i + 1, at : at + width], rows[i + 2, at : at + width]
        for j in range(width):
            out[j] += a * x[j] + b * y[j] + c * z[j]
    for i in range(n - n % 3, n):
        add(out, sign * factors[i], rows[i, at : at + width])


@inline_kernel
def add_squares(out: Array, factor: float, x: Array) -> None:
    """Add ``factor`` times the squares of ``x`` to ``out``."""
    for j in range(out.size):
        out[j] += factor * x[j] * x[j]


@kernel
def four_starts(starts: Any, i: int, start: int, period: int) -> tuple[int, int, int, int]:
    """Return where column ``start`` of rows ``i`` to ``i`` + 3 is in a periodic sequence.

    Beyond the last row, the last row is repeated.
    """
    last = starts.size - 1
    return (
        (starts[i] + start) % period,
        (starts[min(i + 1, last)] + start) % period,
        (starts[min(i + 2, last)] + start) % period,
        (starts[min(i + 3, last)] + start) % period,
    )


@inline_kernel
def four_dots(x: Array, sequence: Array, starts: Any) -> tuple[float, float, float, float]:
    """Return the dot products of ``x`` with four slices of a sequence, in one pass over ``x``."""
    a, b, c, d = _four(sequence, starts, x.size)
    of_a, of_b, of_c, of_d = 0.0, 0.0, 0.0, 0.0
    for j in range(x.size):
        of_a += x[j] * a[j]
        of_b += x[j] * b[j]
        of_c += x[j] * c[j]
        of_d += x[j] * d[j]
    return of_a, of_b, of_c, of_d


@inline_kernel
def four_powers(sequence: Array, starts: Any, width: int) -> tuple[float, float, float, float]:
    """Return the sums of squares of four slices of a sequence."""
    a, b, c, d = _four(sequence, starts, width)
    of_a, of_b, of_c, of_d = 0.0, 0.0, 0.0, 0.0
    for j in range(width):
        of_a += a[j] * a[j]
        of_b += b[j] * b[j]
        of_c += c[j] * c[j]
        of_d += d[j] * d[j]
    return of_a, of_b, of_c, of_d


@inline_kernel
def add_four(out: Array, factors: Array, sequence: Array, starts: Any) -> None:
    """Add ``factors`` times four slices of a sequence to ``out``."""
    a, b, c, d = _four(sequence, starts, out.size)
    of_a, of_b, of_c, of_d = factors[0], factors[1], factors[2], factors[3]
    for j in range(out.size):
        out[j] += of_a * a[j] + of_b * b[j] + of_c * c[j] + of_d * d[j]


@inline_kernel
def add_four_squares(out: Array, factors: Array, sequence: Array, starts: Any) -> None:
    """Add ``factors`` times the squares of four slices of a sequence to ``out``."""
    a, b, c, d = _four(sequence, starts, out.size)
    of_a, of_b, of_c, of_d = factors[0], factors[1], factors[2], factors[3]
    for j in range(out.size):
        out[j] += of_a * a[j] * a[j] + of_b * b[j] * b[j] + of_c * c[j] * c[j] + of_d * d[j] * d[j]


@inline_kernel
def _four(sequence: Array, starts: Any, width: int) -> tuple[Array, Array, Array, Array]:
    a, b, c, d = starts
    return sequence[a : a + width], sequence[b : b + width], sequence[c : c + width], sequence[d : d + width]


@inline_kernel
def combine(out: Array, of_x: float, x: Array, of_y: float, y: Array) -> None:
    """Set ``out`` to ``of_x * x + of_y * y``."""
    for j in range(out.size):
        out[j] = of_x * x[j] + of_y * y[j]


@inline_kernel
def copy_to(out: Array, x: Array) -> None:
    """Copy ``x`` to ``out``."""
    for j in range(out.size):
        out[j] = x[j]


@inline_kernel
def fill_with(out: Array, value: float) -> None:
    """Set every element of ``out`` to ``value``."""
    for j in range(out.size):
        out[j] = value


@inline_kernel
def multiply(out: Array, x: Array, y: Any) -> None:
    """Set ``out`` to ``x * y`` over the length of ``x``."""
    for j in range(x.size):
        out[j] = x[j] * y[j]


@inline_kernel
def multiply_by(out: Array, x: Any) -> None:
    """Multiply ``out`` by ``x`` in place; ``multiply`` may not vectorise if its arguments overlap."""
    for j in range(out.size):
        out[j] *= x[j]


@inline_kernel
def divide_by(out: Array, x: Array) -> None:
    """Divide ``out`` by ``x`` in place."""
    for j in range(out.size):
        out[j] /= x[j]


@inline_kernel
def divide(out: Array, x: Array, y: Array) -> None:
    """Set ``out`` to ``x / y`` over the length of ``out``."""
    for j in range(out.size):
        out[j] = x[j] / y[j]


@inline_kernel
def exp_small(out: Array, x: Array) -> None:
    """Set ``out`` to e^x for x in [−1, 1], by a power series without branches, which vectorises."""
    for j in range(out.size):
        y = x[j]
        high = 1 / 479_001_600 + y * (
            1 / 6_227_020_800
            + y
            * (
                1 / 87_178_291_200
                + y * (1 / 1_307_674_368_000 + y * (1 / 20_922_789_888_000 + y * (1 / 355_687_428_096_000)))
            )
        )
        middle = 1 / 720 + y * (
            1 / 5_040
            + y * (1 / 40_320 + y * (1 / 362_880 + y * (1 / 3_628_800 + y * (1 / 39_916_800 + y * high))))
        )
        out[j] = 1 + y * (1 + y * (1 / 2 + y * (1 / 6 + y * (1 / 24 + y * (1 / 120 + y * middle)))))


@kernel
def largest_first(c: Array) -> NDArray[np.intp]:
    """Return the indices that sort ``c`` by descending magnitude, by a stable insertion sort."""
    order = np.arange(c.size)
    for i in range(1, c.size):
        moved, j = order[i], i
        while j > 0 and abs(c[order[j - 1]]) < abs(c[moved]):
            order[j] = order[j - 1]
            j -= 1
        order[j] = moved
    return order


@kernel
def product(out: Array, A: Array, B: Array) -> None:
    """Set ``out`` to AB, for small square matrices."""
    for i in range(len(A)):
        for m in range(len(A)):
            total = 0.0
            for q in range(len(A)):
                total += A[i, q] * B[q, m]
            out[i, m] = total


@kernel
def eigh(A: Array, U: Array) -> None:
    """Diagonalise symmetric A in place, eigenvalues ascending, with its eigenvectors in the rows of ``U``.

    Uses Jacobi rotations, each of which zeroes one pair of entries: the fastest method for a few rows.
    """
    k = len(A)
    fill_with(U.ravel(), 0.0)
    for p in range(k):
        U[p, p] = 1.0
    for _ in range(50):
        turned = False
        for p in range(k):
            for q in range(p):
                if A[p, q] * A[p, q] > 1e-31 * (abs(A[p, p] * A[q, q]) + TINY):
                    turned = True
                    _rotate(A, U, p, q)
        if not turned:
            break
    _sort(A, U)


@kernel
def _sort(A: Array, U: Array) -> None:
    for p in range(len(A)):
        for q in range(p, 0, -1):  # insertion sort
            if A[q, q] < A[q - 1, q - 1]:
                A[q, q], A[q - 1, q - 1] = A[q - 1, q - 1], A[q, q]
                for m in range(len(A)):
                    U[q, m], U[q - 1, m] = U[q - 1, m], U[q, m]


@kernel
def _rotate(A: Array, U: Array, p: int, q: int) -> None:
    half = 0.5 * (A[p, p] - A[q, q]) / A[p, q]
    t = math.copysign(1.0, half) / (abs(half) + math.sqrt(1 + half * half))
    cos = 1 / math.sqrt(1 + t * t)
    sin = t * cos
    A[p, p] += t * A[p, q]
    A[q, q] -= t * A[p, q]
    A[p, q] = A[q, p] = 0.0
    for m in range(len(A)):
        U[p, m], U[q, m] = cos * U[p, m] + sin * U[q, m], cos * U[q, m] - sin * U[p, m]
        if m not in (p, q):
            A[m, p], A[m, q] = cos * A[m, p] + sin * A[m, q], cos * A[m, q] - sin * A[m, p]
            A[p, m], A[q, m] = A[m, p], A[m, q]
