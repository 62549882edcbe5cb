"""Products and sums of vectors, and the eigenproblem of a few rows, for compiled functions to call."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from r1nes.arrays import Array
from r1nes.compiled import kernel

TINY = 1e-37  # a variance that is as good as 0


@kernel
def dot(x: Array, y: Array) -> float:
    """xᵀy."""
    total = 0.0
    for j in range(x.size):
        total += x[j] * y[j]
    return total


@kernel
def total_of(x: Array) -> float:
    """Its sum."""
    total = 0.0
    for j in range(x.size):
        total += x[j]
    return total


@kernel
def add(out: Array, factor: float, x: Array) -> None:
    """Add ``factor`` times ``x``, in place."""
    for j in range(out.size):
        out[j] += factor * x[j]


@kernel
def add_rows(out: Array, factors: Array, rows: Array, at: int) -> None:
    """Add ``factors`` times ``rows``, from column ``at`` on; three at a time, to read ``out`` less often."""
    n, width = factors.size, out.size
    for i in range(0, n - 2, 3):
        a, b, c = factors[i], factors[i + 1], factors[i + 2]
        x, y, z = rows[i, at : at + width], rows[i + 1, at : at + width], rows[i + 2, at : at + width]
        for j in range(width):
            out[j] += a * x[j] + b * y[j] + c * z[j]
    for i in range(n - n % 3, n):
        add(out, factors[i], rows[i, at : at + width])


@kernel
def add_squares(out: Array, factor: float, x: Array) -> None:
    """Add ``factor`` times the squares of ``x``, in place."""
    for j in range(out.size):
        out[j] += factor * x[j] * x[j]


@kernel
def copy_to(out: Array, x: Array) -> None:
    """Elementwise."""
    for j in range(out.size):
        out[j] = x[j]


@kernel
def fill_with(out: Array, value: float) -> None:
    """Every element."""
    for j in range(out.size):
        out[j] = value


@kernel
def place_at(x: Array, scales: Array, mean: Array) -> None:
    """Scale ``x`` and move it to ``mean``, in place."""
    for j in range(x.size):
        x[j] = mean[j] + scales[j] * x[j]


@kernel
def multiply(out: Array, x: Array, y: Any) -> None:
    """Elementwise, as far as ``x`` goes."""
    for j in range(x.size):
        out[j] = x[j] * y[j]


@kernel
def largest_first(c: Array) -> NDArray[np.intp]:
    """The order of a few numbers by their size, equal ones as they are."""
    order = np.arange(c.size)
    for i in range(1, c.size):
        moved, j = order[i], i
        while j > 0 and abs(c[order[j - 1]]) < abs(c[moved]):
            order[j] = order[j - 1]
            j -= 1
        order[j] = moved
    return order


@kernel
def eigh(A: Array) -> tuple[Array, Array]:
    """Eigenvalues, ascending, and eigenvectors, in rows; ``A`` is used up.

    By Jacobi's rotations, each of which makes one pair of entries 0: the quickest way for a few rows.
    """
    k = A.shape[0]
    U, values = np.eye(k), np.empty(k)
    for _ in range(50):
        turned = False
        for p in range(k):
            for q in range(p):
                if not A[p, q] * A[p, q] > 1e-34 * (abs(A[p, p] * A[q, q]) + TINY):
                    continue
                turned = True
                _rotate(A, U, p, q)
        if not turned:
            break
    for p in range(k):
        values[p] = A[p, p]
        for q in range(p, 0, -1):  # to its place among the smaller ones
            if values[q] < values[q - 1]:
                values[q], values[q - 1] = values[q - 1], values[q]
                for m in range(k):
                    U[q, m], U[q - 1, m] = U[q - 1, m], U[q, m]
    return values, U


@kernel
def _rotate(A: Array, U: Array, p: int, q: int) -> None:
    half = 0.5 * (A[p, p] - A[q, q]) / A[p, q]
    t = math.copysign(1.0, half) / (abs(half) + math.sqrt(1 + half * half))
    cos = 1 / math.sqrt(1 + t * t)
    sin = t * cos
    for m in range(len(A)):
        A[m, p], A[m, q] = cos * A[m, p] + sin * A[m, q], cos * A[m, q] - sin * A[m, p]
    for m in range(len(A)):
        A[p, m], A[q, m] = cos * A[p, m] + sin * A[q, m], cos * A[q, m] - sin * A[p, m]
        U[p, m], U[q, m] = cos * U[p, m] + sin * U[q, m], cos * U[q, m] - sin * U[p, m]
    A[p, q] = A[q, p] = 0.0
