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
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from r1nes.arrays import Array
from r1nes.arrays.compiled import LONG_STRIP, compiled
from r1nes.arrays.loops import multiply
from r1nes.sampling.gaussian import GaussianNoise

DENSE = 8
PAIRED = 4  # directions are paired with their opposites up to d = PAIRED · n
TABLE = 2**14  # numbers; as many small blocks are generated at a time as fit
TABLES = 4  # tables that compiled runs generate at a time, so that few generations span two batches


def paired(n: int, d: int) -> bool:
    """Return whether ``n`` samples in ``d`` dimensions pair each direction with its opposite."""
    return d <= PAIRED * n


class ShiftedSequence(NamedTuple):
    """Directions in compact form: cyclic shifts of one sequence, not yet expanded into rows.

    Direction i is ``signs`` times the ``sequence`` read from ``starts[i]`` on, modulo ``period``. The
    sequence of a large block continues beyond its period by the columns of one strip, so that a strip can be
    read without wrapping around.
    """

    sequence: Array  # √d w
    period: int
    signs: NDArray[np.int8]  # s
    starts: NDArray[np.int64]
    mirrored: bool  # whether the opposite directions follow

    @property
    def n(self) -> int:
        """The number of directions."""
        return self.starts.size * (1 + self.mirrored)


def as_shifts(directions: Array | ShiftedSequence) -> ShiftedSequence:
    """Convert rows to the compact form: their concatenation is the sequence."""
    if isinstance(directions, ShiftedSequence):
        return directions
    return ShiftedSequence(directions.ravel(), *_contiguous_rows(*directions.shape), mirrored=False)


@cache
def _contiguous_rows(n: int, d: int) -> tuple[int, NDArray[np.int8], NDArray[np.int64]]:
    return n * d, np.ones(d, np.int8), d * np.arange(n)


class OrthogonalDirections:
    """Rows of ``width`` numbers, orthogonal in blocks, with the interface of ``GaussianNoise``."""

    def __init__(
        self, seed: np.random.SeedSequence, width: int, dtype: np.dtype[Any], per_generation: int
    ) -> None:
        """Set up the directions of ``seed`` without drawing any numbers."""
        self.width, self.dtype, self.per_generation = width, dtype, per_generation
        self.pairs = per_generation // 2 if paired(per_generation, width) else 0  # per generation
        self.fast = False  # whether compiled code expands the directions from their compact form
        self.rows_at_once = width * max(1, TABLE // width**2)
        self._table_fits = width <= DENSE or width**2 <= TABLE or self.pairs > width
        self.step = next(t for t in range(math.ceil(0.618 * width), 2 * width) if math.gcd(t, width) == 1)
        self._noise = GaussianNoise(seed, width, dtype)
        self._contiguous_rows = _contiguous_rows(self.pairs, width)
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
        self, generation: int, start: int, stop: int, out: Array | ShiftedSequence | None = None
    ) -> Array | ShiftedSequence:
        """Return the directions of samples ``start`` to ``stop`` − 1, as rows or compact; read-only."""
        if self.pairs and start == 0 and stop == 2 * self.pairs == self.per_generation and self._table_fits:
            at = self._table_index((generation - 1) * self.pairs, self.pairs)
            if at + self.pairs <= len(self._table):
                if self.fast:
                    numbers = self._table.ravel()[at * self.width : (at + self.pairs) * self.width]
                    return ShiftedSequence(numbers, *self._contiguous_rows, True)
                rows = self._table[at : at + self.pairs]
                return np.concatenate([rows, -rows])
        shifts = self.shifts(generation, start, stop)
        if shifts is not None:
            return shifts
        return self.rows(generation, start, stop, None if isinstance(out, ShiftedSequence) else out)

    def shifts(self, generation: int, start: int, stop: int) -> ShiftedSequence | None:
        """Return the directions in compact form, if compiled code is in use and one large block has them."""
        if not self.fast or self._table_fits or self.pairs or self.dtype != np.float64:
            return None
        block, row = divmod((generation - 1) * self.per_generation + start, self.rows_at_once)
        if row + stop - start > self.rows_at_once:
            return None
        self._make_sequence(block)
        starts = self._starts(row, row + stop - start)
        return ShiftedSequence(self._sequence, self.width, self._signs, starts, mirrored=False)

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
                left = self.width - start
                np.multiply(self._sequence[start : self.width], signs[:left], out=y[:left])
                np.multiply(self._sequence[:start], signs[left:], out=y[left:])

    def _table_index(self, row: int, count: int) -> int:
        """Return the index of ``row`` in the table, regenerated if it lacks ``count`` rows from there.

        Rows that begin near the end of a newly generated table may extend beyond it.
        """
        at = row - self._first_row
        return at if 0 <= at <= len(self._table) - count else self._make_tables(row)

    @cached_property
    def _all_starts(self) -> NDArray[np.int64]:
        return self._starts(0, self.width)

    @cached_property
    def _gather_indices(self) -> NDArray[np.int64]:
        """Indices into w for each row of a block."""
        return (np.arange(self.width) + self._all_starts[:, None]) % self.width

    def _make_tables(self, row: int) -> int:
        number, at = divmod(row, self.rows_at_once)
        count = TABLES if self.fast else 1
        if len(self._table) != count * self.rows_at_once:  # otherwise reuse the memory, which is faster
            self._table = np.empty((count * self.rows_at_once, self.width), self.dtype)
        for i, table in enumerate(self._table.reshape(count, self.rows_at_once, self.width)):
            self._make_table(number + i, table)
        self._first_row = row - at
        return at

    def _make_table(self, number: int, table: Array) -> None:
        d, rng = self.width, self._noise.stream(number + 1)
        blocks = table.reshape(-1, d, d)
        if d <= DENSE:
            np.multiply(_orthogonal_matrices(rng.standard_normal(blocks.shape)), math.sqrt(d), out=blocks)
        else:
            w, signs = self._sequences(rng, len(blocks))
            if self.fast:
                _shift.fast(w, signs, self._all_starts, table)
            else:
                np.multiply(w.take(self._gather_indices, axis=1), signs[:, None], out=blocks)
        if self.pairs > d:
            table *= np.sqrt(rng.chisquare(d, (len(table), 1)) / d)

    def _make_sequence(self, block: int) -> None:
        if block != self._current_block:
            w, signs = self._sequences(self._noise.stream(block + 1), 1)
            self._sequence, self._signs = np.append(w[0], w[0, :LONG_STRIP]), signs[0]
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


@compiled
def _shift(w: Array, signs: Any, starts: Any, table: Array) -> None:
    """Fill ``table`` with all rows of the blocks."""
    blocks, d = w.shape
    for block in range(blocks):
        for row in range(d):
            y, start = table[block * d + row], starts[row]
            multiply(y, w[block, start:], signs[block])
            multiply(y[d - start :], w[block, :start], signs[block, d - start :])


def _flat_sequences(rng: np.random.Generator, count: int, d: int) -> Array:
    """Return ``count`` sequences of length ``d`` and norm 1 that are orthogonal to their own shifts."""
    spectra = np.exp(2j * math.pi * rng.random((count, d // 2 + 1)))
    real = spectra[:, :: (d + 1) // 2]  # the first and, for even d, the last: a sign, no phase
    real[:] = 1 - 2 * rng.integers(2, size=real.shape)
    return np.fft.irfft(spectra, d)
