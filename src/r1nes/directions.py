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
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from r1nes.arrays import Array
from r1nes.noise import Noise

DENSE = 8
PAIRED = 4  # variables per direction of a generation, up to which each direction has its opposite
TABLE = 2**14  # numbers; blocks that are smaller are made as many at a time as fit


def paired(n: int, d: int) -> bool:
    """Whether each direction has its opposite, where a generation has ``n`` of them in ``d`` dimensions."""
    return d <= PAIRED * n


class Shifts(NamedTuple):
    """Directions of a large block that are not made yet: ``sequence`` from each of the ``starts`` on."""

    sequence: Array  # √d w
    signs: NDArray[np.int8]  # s
    starts: NDArray[np.int64]


class Directions:
    """Rows of ``width`` numbers, orthogonal in blocks, with the interface of ``Noise``."""

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
        self._noise = Noise(seed, width, dtype)
        self._made = -1  # which blocks are at hand
        self._table: Array = np.empty(0)  # small blocks: their rows
        self._generations: Array = np.empty(0)  # and those with their opposites, (generations, n, d)
        self._sequence: Array = np.empty(0)  # a large block: √d w
        self._signs = np.empty(0, np.int8)  # and s

    def rows(self, generation: int, start: int, stop: int, out: Array | None = None) -> Array:
        """The directions of samples ``start`` to ``stop`` − 1, one per row, in ``out`` if that is given."""
        if out is None:
            out = np.empty((stop - start, self.width), self.dtype)
        number, end = ((generation - 1) * self.per_generation + i for i in (start, stop))
        first = number
        while number < end:
            row, sign, left = self._row(number)
            block, row = divmod(row, self.rows_at_once)
            taken = min(end - number, left, self.rows_at_once - row)
            rows = out[number - first : number - first + taken]
            self._fill(rows, block, row)
            if sign < 0:
                np.negative(rows, out=rows)
            number += taken
        return out

    def draw(
        self, generation: int, start: int, stop: int, out: Array | Shifts | None = None
    ) -> Array | Shifts:
        """The directions of samples ``start`` to ``stop`` − 1, made or not; to be read only."""
        if self.pairs and start == 0 and stop == 2 * self.pairs == self.per_generation:
            block, row = divmod((generation - 1) * self.pairs, self.rows_at_once)
            if row + self.pairs <= self.rows_at_once and self._table_fits:  # the common case, kept cheap
                if block != self._made:
                    self._make(block)
                return self._generations[row // self.pairs]
        shifts = self.shifts(generation, start, stop)
        if shifts is not None:
            return shifts
        if isinstance(out, Shifts) or (out is not None and out.base is not None):  # ours, not to be changed
            out = None
        return self.rows(generation, start, stop, out)

    def shifts(self, generation: int, start: int, stop: int) -> Shifts | None:
        """Directions that are not made yet, if compiled arithmetic can make them, of one large block."""
        if not self.fast or self._table_fits or self.pairs or self.dtype != np.float64:
            return None
        block, row = divmod((generation - 1) * self.per_generation + start, self.rows_at_once)
        if row + stop - start > self.rows_at_once:
            return None
        if block != self._made:
            self._make(block)
        return Shifts(self._sequence, self._signs, self._starts(row, row + stop - start))

    def _starts(self, row: int, end: int) -> NDArray[np.int64]:
        return -self.step * np.arange(row, end) % self.width

    def _row(self, number: int) -> tuple[int, int, int]:
        """Which row a direction is, with which sign, and how many after it follow the same rule."""
        if not self.pairs:
            return number, 1, self.rows_at_once
        chunk, place = divmod(number, 2 * self.pairs)
        side, row = divmod(place, self.pairs)
        return chunk * self.pairs + row, 1 - 2 * side, self.pairs - row

    def _fill(self, out: Array, number: int, row: int) -> None:
        if number != self._made:
            self._make(number)
        if self._table.size:
            out[:] = self._table[row : row + len(out)]
        else:
            signs = self._signs.astype(self.dtype)
            for y, start in zip(out, self._starts(row, row + len(out)).tolist(), strict=True):
                left = self.width - start
                np.multiply(self._sequence[start:], signs[:left], out=y[:left])
                np.multiply(self._sequence[:start], signs[left:], out=y[left:])

    @cached_property
    def _shifted(self) -> NDArray[np.int64]:
        """Where each row of a block takes its numbers from."""
        return (np.arange(self.width) + self._starts(0, self.width)[:, None]) % self.width

    def _make(self, number: int) -> None:
        d, blocks = self.width, self.rows_at_once // self.width
        rng = self._noise.stream(number + 1)
        if d <= DENSE:
            Q, R = np.linalg.qr(rng.standard_normal((blocks, d, d)))
            Q *= math.sqrt(d) * np.sign(np.diagonal(R, axis1=1, axis2=2))[:, None]  # else not uniform
            self._table = Q.reshape(-1, d).astype(self.dtype)
        else:
            w = (math.sqrt(d) * _flat_sequences(rng, blocks, d)).astype(self.dtype)
            signs = (1 - 2 * rng.integers(2, size=(blocks, d))).astype(np.int8)
            if self._table_fits:
                rows = w.take(self._shifted, axis=1)
                rows *= signs[:, None]
                self._table = rows.reshape(-1, d)
            else:
                self._sequence, self._signs = w[0], signs[0]
        if self.pairs > d:
            lengths = np.sqrt(rng.chisquare(d, (self.rows_at_once, 1)) / d)
            self._table = self._table * lengths.astype(self.dtype)
        if self.pairs and self._table_fits:
            first = -number * self.rows_at_once % self.pairs  # where a generation begins
            count = (self.rows_at_once - first) // self.pairs
            rows = self._table[first : first + count * self.pairs].reshape(count, self.pairs, d)
            self._generations = np.concatenate([rows, -rows], axis=1)
        self._made = number


def _flat_sequences(rng: np.random.Generator, count: int, d: int) -> Array:
    """``count`` sequences of length ``d`` and norm 1 that are orthogonal to their own shifts."""
    spectra = np.exp(2j * math.pi * rng.random((count, d // 2 + 1)))
    real = [0, -1] if d % 2 == 0 else [0]  # where a real sequence has no phase but a sign
    spectra[:, real] = 1 - 2 * rng.integers(2, size=(count, len(real)))
    return np.fft.irfft(spectra, d)
