"""Orthogonal directions that the seed and their number alone determine.

Independent samples look twice into some directions and hardly into others. These come in blocks of d, all
orthogonal and of length √d, so that each block looks everywhere once: Σ yyᵀ = d I, exactly.

With few variables a generation has each direction and its opposite, and needs fewer evaluations for it. With
many variables it would take twice as long to look everywhere.
Where a generation takes more than d pairs, lengths are those of normal vectors: a search that looks
everywhere in each generation would not notice, from one length alone, that its steps are too long.

Up to ``DENSE`` variables a block is a random orthogonal matrix. For more, its row r is

    y_i = √d s_i w_{i − tr},   indices modulo d

with random signs s and a sequence w whose Fourier coefficients all have modulus 1, and random phases: each
cyclic shift of such a sequence is orthogonal to every other. The step t, about 0.618 d and without a common
divisor with d, takes rows that follow each other far apart. So a row costs d multiplications, a tenth of
what d normal numbers cost, and a block one FFT.
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
PAIRED = 4  # variables per direction of a generation, up to which each direction has its opposite
TABLE = 2**14  # numbers; blocks that are smaller are made as many at a time as fit
TABLES = 4  # that compiled runs make in a row, so that few generations have rows of two


def paired(n: int, d: int) -> bool:
    """Whether each direction has its opposite, where a generation has ``n`` of them in ``d`` dimensions."""
    return d <= PAIRED * n


class ShiftedSequence(NamedTuple):
    """Directions that are not made yet: numbers of the ``sequence``, from each of the ``starts`` on.

    It begins again after a period; and at its end it has begun again already, by the columns of a strip.
    """

    sequence: Array  # √d w
    period: int
    signs: NDArray[np.int8]  # s
    starts: NDArray[np.int64]
    mirrored: bool  # whether their opposites follow

    @property
    def n(self) -> int:
        """How many directions these are."""
        return self.starts.size * (1 + self.mirrored)


def as_shifts(directions: Array | ShiftedSequence) -> ShiftedSequence:
    """Directions that are made are a sequence as well, one after the other."""
    if isinstance(directions, ShiftedSequence):
        return directions
    return ShiftedSequence(directions.ravel(), *_in_a_row(*directions.shape), mirrored=False)


@cache
def _in_a_row(n: int, d: int) -> tuple[int, NDArray[np.int8], NDArray[np.int64]]:
    return n * d, np.ones(d, np.int8), d * np.arange(n)


class OrthogonalDirections:
    """Rows of ``width`` numbers, orthogonal in blocks, with the interface of ``GaussianNoise``."""

    def __init__(
        self, seed: np.random.SeedSequence, width: int, dtype: np.dtype[Any], per_generation: int
    ) -> None:
        """Nothing is drawn yet."""
        self.width, self.dtype, self.per_generation = width, dtype, per_generation
        self.pairs = per_generation // 2 if paired(per_generation, width) else 0  # in a generation
        self.fast = False  # whether directions are left to compiled arithmetic to make
        self.rows_at_once = width * max(1, TABLE // width**2)
        self._table_fits = width <= DENSE or width**2 <= TABLE or self.pairs > width
        self.step = next(t for t in range(math.ceil(0.618 * width), 2 * width) if math.gcd(t, width) == 1)
        self._noise = GaussianNoise(seed, width, dtype)
        self._in_a_row = _in_a_row(self.pairs, width)
        self._table: Array = np.empty((0, width))  # small blocks: rows that are at hand
        self._first = 0  # which row is the first of them
        self._made = -1  # which large block is at hand
        self._sequence: Array = np.empty(0)  # √d w
        self._signs = np.empty(0, np.int8)  # and s

    def rows(self, generation: int, start: int, stop: int, out: Array | None = None) -> Array:
        """The directions of samples ``start`` to ``stop`` − 1, one per row, in ``out`` if that is given."""
        if out is None:
            out = np.empty((stop - start, self.width), self.dtype)
        first, end = ((generation - 1) * self.per_generation + i for i in (start, stop))
        pieces, number = [], first
        while number < end:
            row, sign, left = self._row(number)
            block, row = divmod(row, self.rows_at_once)
            taken = min(end - number, left, self.rows_at_once - row)
            pieces.append((block, row, sign, number - first, taken))
            number += taken
        for block, row, sign, at, taken in sorted(pieces):  # so that each block is made but once
            rows = out[at : at + taken]
            self._fill(rows, block, row)
            if sign < 0:
                np.negative(rows, out=rows)
        return out

    def draw(
        self, generation: int, start: int, stop: int, out: Array | ShiftedSequence | None = None
    ) -> Array | ShiftedSequence:
        """The directions of samples ``start`` to ``stop`` − 1, made or not; to be read only."""
        if self.pairs and start == 0 and stop == 2 * self.pairs == self.per_generation and self._table_fits:
            at = self._at((generation - 1) * self.pairs, self.pairs)
            if at + self.pairs <= len(self._table):
                if self.fast:
                    numbers = self._table.ravel()[at * self.width : (at + self.pairs) * self.width]
                    return ShiftedSequence(numbers, *self._in_a_row, True)
                rows = self._table[at : at + self.pairs]
                return np.concatenate([rows, -rows])
        shifts = self.shifts(generation, start, stop)
        if shifts is not None:
            return shifts
        return self.rows(generation, start, stop, None if isinstance(out, ShiftedSequence) else out)

    def shifts(self, generation: int, start: int, stop: int) -> ShiftedSequence | None:
        """Directions that are not made yet, if compiled arithmetic can make them, of one large block."""
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

    def _row(self, number: int) -> tuple[int, int, int]:
        """Which row a direction is, with which sign, and how many after it follow the same rule."""
        if not self.pairs:
            return number, 1, self.rows_at_once
        chunk, place = divmod(number, 2 * self.pairs)
        side, row = divmod(place, self.pairs)
        return chunk * self.pairs + row, 1 - 2 * side, self.pairs - row

    def _fill(self, out: Array, block: int, row: int) -> None:
        if self._table_fits:
            at = self._at(block * self.rows_at_once + row, len(out))
            out[:] = self._table[at : at + len(out)]
        else:
            self._make_sequence(block)
            signs = self._signs.astype(self.dtype)
            for y, start in zip(out, self._starts(row, row + len(out)).tolist(), strict=True):
                left = self.width - start
                np.multiply(self._sequence[start : self.width], signs[:left], out=y[:left])
                np.multiply(self._sequence[:start], signs[left:], out=y[left:])

    def _at(self, row: int, count: int) -> int:
        """Where some rows begin in the table; they are in it, unless they begin in its last block."""
        at = row - self._first
        return at if 0 <= at <= len(self._table) - count else self._make_tables(row)

    @cached_property
    def _all_starts(self) -> NDArray[np.int64]:
        return self._starts(0, self.width)

    @cached_property
    def _shifted(self) -> NDArray[np.int64]:
        """Where each row of a block takes its numbers from."""
        return (np.arange(self.width) + self._all_starts[:, None]) % self.width

    def _make_tables(self, row: int) -> int:
        number, at = divmod(row, self.rows_at_once)
        count = TABLES if self.fast else 1
        if len(self._table) != count * self.rows_at_once:  # else in the same memory: it is faster
            self._table = np.empty((count * self.rows_at_once, self.width), self.dtype)
        for i, table in enumerate(self._table.reshape(count, self.rows_at_once, self.width)):
            self._make_table(number + i, table)
        self._first = row - at
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
                np.multiply(w.take(self._shifted, axis=1), signs[:, None], out=blocks)
        if self.pairs > d:
            table *= np.sqrt(rng.chisquare(d, (len(table), 1)) / d)

    def _make_sequence(self, block: int) -> None:
        if block != self._made:
            w, signs = self._sequences(self._noise.stream(block + 1), 1)
            self._sequence, self._signs, self._made = np.append(w[0], w[0, :LONG_STRIP]), signs[0], block

    def _sequences(self, rng: np.random.Generator, count: int) -> tuple[Array, NDArray[np.int8]]:
        """√d w and s of some blocks."""
        w = (math.sqrt(self.width) * _flat_sequences(rng, count, self.width)).astype(self.dtype)
        return w, 1 - 2 * rng.integers(2, size=(count, self.width)).astype(np.int8)


def _orthogonal_matrices(A: Array) -> Array:
    """Of the columns of each matrix, by Gram and Schmidt; for many small ones faster than LAPACK.

    Twice, since once loses as many digits as A has in its condition number. Of normal numbers they are
    uniformly distributed.
    """
    Q = np.ascontiguousarray(A.transpose(2, 1, 0))  # [column, row, matrix]: matrices go abreast
    for i, q in enumerate(Q):
        for _ in range(2):
            q -= np.einsum("jm,jrm->rm", np.einsum("jrm,rm->jm", Q[:i], q), Q[:i])
        q /= np.sqrt(np.einsum("rm,rm->m", q, q))
    return Q.transpose(2, 1, 0)


@compiled
def _shift(w: Array, signs: Any, starts: Any, table: Array) -> None:
    """Every row of some blocks."""
    blocks, d = w.shape
    for block in range(blocks):
        for row in range(d):
            y, start = table[block * d + row], starts[row]
            multiply(y, w[block, start:], signs[block])
            multiply(y[d - start :], w[block, :start], signs[block, d - start :])


def _flat_sequences(rng: np.random.Generator, count: int, d: int) -> Array:
    """``count`` sequences of length ``d`` and norm 1 that are orthogonal to their own shifts."""
    spectra = np.exp(2j * math.pi * rng.random((count, d // 2 + 1)))
    real = spectra[:, :: (d + 1) // 2]  # the first one and, if d is even, the last: no phase but a sign
    real[:] = 1 - 2 * rng.integers(2, size=real.shape)
    return np.fft.irfft(spectra, d)
