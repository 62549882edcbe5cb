"""Orthogonal sampling directions, determined by the seed and their number alone.

Independent samples cover some directions twice and others hardly at all. Here directions come in blocks of d
vectors that are orthogonal and have length √d, so every block covers the space evenly: Σ yyᵀ = d I, exactly.

With few variables, each direction is paired with its opposite in the same generation, which saves
evaluations. With many variables, pairing would double the cost of covering the space, so directions are not
paired. If a generation has more than d pairs, their lengths are those of normal vectors: a search that covers
the space in every generation could not detect from one length alone that its steps are too long.

Up to ``DENSE`` variables a block is a random orthogonal matrix. For more variables, row r of a block is

    y_i = √d s_i w_{i − tr},   indices modulo d

with random signs s and a sequence w whose Fourier coefficients have modulus 1 and random phases. All cyclic
shifts of such a sequence are orthogonal to each other. The step t, about 0.618 d and coprime to d, keeps the
shifts of consecutive rows far apart. A row costs d multiplications, a tenth of the cost of d normal numbers,
and a block costs one FFT.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from r1nes.arrays import Array
from r1nes.sampling.compact import ShiftedSequence
from r1nes.sampling.gaussian import GaussianNoise

DENSE = 8
PAIRED = 2  # directions are paired with their opposites up to d = PAIRED · n
TABLE = 2**14  # numbers; as many small blocks are generated at a time as fit


def paired(n: int, d: int) -> bool:
    """Return whether ``n`` samples in ``d`` dimensions pair each direction with its opposite."""
    return d <= PAIRED * n


class Pairs(NamedTuple):
    """Directions that are followed by their opposites."""

    rows: Array


def as_pairs(noise: Any) -> Any:
    """Return ``noise`` as pairs, if its rows are directions followed by their opposites."""
    if type(noise) is not np.ndarray or not paired(*noise.shape) or len(noise) % 2:
        return noise
    m = len(noise) // 2
    return Pairs(noise[:m]) if np.array_equal(noise[m:], -noise[:m]) else noise


def rows_of(noise: Any) -> Any:
    """Return the directions in ``noise``, one per row; of pairs only the first ones."""
    if isinstance(noise, ShiftedSequence):
        return noise.rows()
    return noise.rows if isinstance(noise, Pairs) else noise


def folded(noise: Any, utilities: Array) -> tuple[Array, Array, tuple[float, float, int]]:
    """Return the weights of each direction for the mean and for the covariance; and Σ w², Σ w and n.

    The opposite of a direction counts against it in the mean, and with it in the covariance.
    """
    of_mean, w = (utilities[0], utilities[1]) if utilities.ndim == 2 else (utilities, utilities)
    n, sums = len(w), (float(of_mean.dot(of_mean)), float(np.add.reduce(w)), len(w))  # faster than @ and sum
    if not isinstance(noise, Pairs):
        return of_mean, w, sums
    m = n // 2
    return of_mean[:m] - of_mean[m:], w[:m] + w[m:], sums


class OrthogonalDirections:
    """Rows of ``width`` numbers, orthogonal in blocks, with the interface of ``GaussianNoise``."""

    def __init__(
        self, seed: np.random.SeedSequence, width: int, dtype: np.dtype[Any], per_generation: int
    ) -> None:
        """Set up the directions of ``seed`` without drawing any numbers."""
        self.width, self.dtype, self.per_generation = width, dtype, per_generation
        self.pairs = per_generation // 2 if paired(per_generation, width) else 0  # per generation
        self.compiled = False  # whether compiled code expands the directions from their compact form
        self.rows_at_once = width * max(1, TABLE // width**2)
        self._table_fits = width <= DENSE or width**2 <= TABLE or self.pairs > width
        self.step = next(t for t in range(math.ceil(0.618 * width), 2 * width) if math.gcd(t, width) == 1)
        self._noise = GaussianNoise(seed, width, dtype)
        self._table: Array = np.empty((0, width))  # small blocks: the rows generated last
        self._first_row = 0  # the number of the first row of the table
        self._current_block = -1  # large blocks: the number of the block generated last
        self._sequence: Array = np.empty(0)  # its √d w
        self._signs = np.empty(0, np.int8)  # its s

    def rows(self, generation: int, start: int, stop: int, out: Array | None = None) -> Array:
        """Return the directions of samples ``start`` to ``stop`` − 1, one per row, in ``out`` if given."""
        if out is None:
            out = np.empty((stop - start, self.width), self.dtype)
        first, end = ((generation - 1) * self.per_generation + i for i in (start, stop))
        pieces, number = [], first
        while number < end:
            row, sign, left = self._locate(number)
            block, row = divmod(row, self.rows_at_once)
            taken = min(end - number, left, self.rows_at_once - row)
            pieces.append((block, row, sign, number - first, taken))
            number += taken
        for block, row, sign, at, taken in sorted(pieces):  # sorted: each block is generated only once
            rows = out[at : at + taken]
            self._fill(rows, block, row)
            if sign < 0:
                np.negative(rows, out=rows)
        return out

    def draw(
        self, generation: int, start: int, stop: int, out: Any = None
    ) -> Array | Pairs | ShiftedSequence:
        """Return the directions of samples ``start`` to ``stop`` − 1 in their shortest form; read-only."""
        if self.pairs:
            if start > 0 or stop != 2 * self.pairs:  # not a generation of whole pairs
                return self.rows(generation, start, stop)
            return Pairs(self._consecutive((generation - 1) * self.pairs, self.pairs, None))
        shifts = self.shifts(generation, start, stop)
        if shifts is not None:
            return shifts
        first = (generation - 1) * self.per_generation + start
        return self._consecutive(first, stop - start, out)

    def _consecutive(self, first: int, count: int, out: Any) -> Array:
        """Return ``count`` rows from row ``first`` on: a part of the table, or copies."""
        if self._table_fits:
            at = self._table_index(first, count)
            if at + count <= len(self._table):
                return self._table[at : at + count]
        same = type(out) is np.ndarray and out.shape == (count, self.width) and out.flags.writeable
        rows: Array = out if same else np.empty((count, self.width), self.dtype)
        done = 0
        while done < count:
            block, row = divmod(first + done, self.rows_at_once)
            taken = min(count - done, self.rows_at_once - row)
            self._fill(rows[done : done + taken], block, row)
            done += taken
        return rows

    def shifts(self, generation: int, start: int, stop: int) -> ShiftedSequence | None:
        """Return the directions in compact form, if compiled code is in use and one large block has them."""
        if not self.compiled or self._table_fits or self.pairs or self.dtype != np.float64:
            return None
        block, row = divmod((generation - 1) * self.per_generation + start, self.rows_at_once)
        if row + stop - start > self.rows_at_once:
            return None
        self._make_sequence(block)
        starts = self._starts(row, row + stop - start)
        return ShiftedSequence(self._sequence, self._signs, starts)

    def _starts(self, row: int, end: int) -> NDArray[np.int64]:
        return -self.step * np.arange(row, end) % self.width

    def _locate(self, number: int) -> tuple[int, int, int]:
        """Return the row and sign of a direction, and the number of consecutive rows from there on."""
        if not self.pairs:
            return number, 1, self.rows_at_once
        chunk, place = divmod(number, 2 * self.pairs)
        side, row = divmod(place, self.pairs)
        return chunk * self.pairs + row, 1 - 2 * side, self.pairs - row

    def _fill(self, out: Array, block: int, row: int) -> None:
        if self._table_fits:
            at = self._table_index(block * self.rows_at_once + row, len(out))
            out[:] = self._table[at : at + len(out)]
        else:
            self._make_sequence(block)
            signs = self._signs.astype(self.dtype)
            for y, start in zip(out, self._starts(row, row + len(out)).tolist(), strict=True):
                np.multiply(self._sequence[start : start + self.width], signs, out=y)

    def _table_index(self, row: int, count: int) -> int:
        """Return the index of ``row`` in the table, regenerated if it lacks ``count`` rows from there.

        Rows that begin near the end of a newly generated table may extend beyond it.
        """
        at = row - self._first_row
        return at if 0 <= at <= len(self._table) - count else self._make_tables(row)

    @cached_property
    def _gather_indices(self) -> NDArray[np.int64]:
        """Indices into w for each row of a block."""
        return (np.arange(self.width) + self._starts(0, self.width)[:, None]) % self.width

    def _make_tables(self, row: int) -> int:
        number, at = divmod(row, self.rows_at_once)
        self._table = np.empty(
            (self.rows_at_once, self.width), self.dtype
        )  # not reused: draw returns parts of it
        self._make_table(number, self._table)
        self._first_row = row - at
        return at

    def _make_table(self, number: int, table: Array) -> None:
        d, rng = self.width, self._noise.stream(number + 1)
        blocks = table.reshape(-1, d, d)
        if d <= DENSE:
            np.multiply(_orthogonal_matrices(rng.standard_normal(blocks.shape)), math.sqrt(d), out=blocks)
        else:
            w, signs = self._sequences(rng, len(blocks))
            np.multiply(w.take(self._gather_indices, axis=1), signs[:, None], out=blocks)
        if self.pairs > d:
            table *= np.sqrt(rng.chisquare(d, (len(table), 1)) / d)

    def _make_sequence(self, block: int) -> None:
        if block != self._current_block:
            w, signs = self._sequences(self._noise.stream(block + 1), 1)
            self._sequence, self._signs = np.append(w[0], w[0]), signs[0]
            self._current_block = block

    def _sequences(self, rng: np.random.Generator, count: int) -> tuple[Array, NDArray[np.int8]]:
        """Return √d w and s for ``count`` blocks."""
        w = (math.sqrt(self.width) * _flat_sequences(rng, count, self.width)).astype(self.dtype)
        return w, 1 - 2 * rng.integers(2, size=(count, self.width)).astype(np.int8)


def _orthogonal_matrices(A: Array) -> Array:
    """Orthonormalise the columns of each matrix by Gram–Schmidt, for many small ones faster than LAPACK.

    A second pass restores the digits that the first one loses to the condition number of A. If A is normal,
    the results are uniformly distributed.
    """
    Q = np.ascontiguousarray(A.transpose(2, 1, 0))  # [column, row, matrix]: vectorised over matrices
    for i, q in enumerate(Q):
        for _ in range(2):
            q -= np.einsum("jm,jrm->rm", np.einsum("jrm,rm->jm", Q[:i], q), Q[:i])
        q /= np.sqrt(np.einsum("rm,rm->m", q, q))
    return Q.transpose(2, 1, 0)


def _flat_sequences(rng: np.random.Generator, count: int, d: int) -> Array:
    """Return ``count`` sequences of length ``d`` and norm 1 that are orthogonal to their own shifts."""
    spectra = np.exp(2j * math.pi * rng.random((count, d // 2 + 1)))
    real = spectra[:, :: (d + 1) // 2]  # the first and, for even d, the last: a sign, no phase
    real[:] = 1 - 2 * rng.integers(2, size=real.shape)
    return np.fft.irfft(spectra, d)
