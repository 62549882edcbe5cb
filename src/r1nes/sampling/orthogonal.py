"""Orthogonal sampling directions, determined by the seed and their number alone.

Independent samples cover some directions twice and others hardly at all. Here directions come in blocks of d
vectors that are orthogonal and have length √d, so every block covers the space evenly: Σ yyᵀ = d I, exactly.

A generation of n samples has n − m different directions, and its last m samples are the opposites of the
first m:

    m = n − ⌈d/2⌉, at least 0 and at most ⌊n/2⌋

With few variables, d ≤ n, all directions come in pairs, which saves evaluations. With many, d ≥ 2n, none do,
because pairs would double the cost of covering the space. In between, two generations cover the space, and
the samples that this does not need are opposites. If a generation has more than d pairs, their lengths are
those of normal vectors: a search that covers the space in every generation could not detect from one length
alone that its steps are too long. ``vary`` asks for these lengths in other cases. With many variables they
hardly differ, so that directions of more than ``TABLE`` numbers per block keep one length.

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
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from r1nes.arrays import Array, namespace
from r1nes.arrays.one_text import dot, number, one_text, total
from r1nes.arrays.tiles import BLOCK
from r1nes.sampling.compact import ShiftedSequence
from r1nes.sampling.gaussian import GaussianNoise

DENSE = 8
TABLE = 2**14  # numbers; as many small blocks are generated at a time as fit


def pairs_of(n: int, d: int) -> int:
    """Return m: how many of ``n`` samples in ``d`` dimensions are the opposites of others."""
    return min(n // 2, max(0, n - (d + 1) // 2))


class Pairs(NamedTuple):
    """Directions, followed by the opposites of the first few, which are not stored."""

    rows: Array
    opposites: int  # how many


def as_pairs(noise: Any) -> Any:
    """Return ``noise`` as pairs, if its last m rows are the opposites of the first m."""
    if type(noise) is not np.ndarray or not (m := pairs_of(*noise.shape)):
        return noise
    return Pairs(noise[:-m], m) if np.array_equal(noise[-m:], -noise[:m]) else noise


def rows_of(noise: Any) -> Any:
    """Return the directions in ``noise``, one per row, without the opposites."""
    if isinstance(noise, ShiftedSequence):
        return noise.rows()
    return noise.rows if isinstance(noise, Pairs) else noise


def first_of(noise: Any, count: int) -> Any:
    """Return the noise of the first ``count`` samples."""
    if isinstance(noise, ShiftedSequence):
        return noise.first(count)
    if not isinstance(noise, Pairs):
        return noise[:count]
    fresh = len(noise.rows)
    return Pairs(noise.rows, count - fresh) if count > fresh else noise.rows[:count]


def points_like(noise: Any) -> Array:
    """Return an uninitialised NumPy array for the points of ``noise``."""
    Y = rows_of(noise)
    return np.empty((len(Y) + (noise.opposites if isinstance(noise, Pairs) else 0), Y.shape[1]), Y.dtype)


def around(mean: Array, moved: Array, noise: Any, out: Array | None = None) -> Array:
    """Return ``mean`` + ``moved`` and, for the opposites in ``noise``, ``mean`` − ``moved``, one per row.

    NumPy arrays are written into ``out`` if given.
    """
    fresh, m = len(moved), noise.opposites if isinstance(noise, Pairs) else 0
    if type(moved) is not np.ndarray:
        above = mean + moved
        return namespace(moved).concat([above, mean - moved[:m]]) if m else above
    X = np.empty((fresh + m, moved.shape[1]), moved.dtype) if out is None else out
    np.add(mean, moved, out=X[:fresh])
    if m:
        np.subtract(mean, moved[:m], out=X[fresh:])
    return X


def folded(noise: Any, utilities: Array, compiled: bool = False) -> Any:
    """Return the weights of each direction for the mean and for the covariance; and (Σ w², Σ w, n).

    The opposite of a direction counts against it in the mean, and with it in the covariance.
    """
    of_mean, w = (utilities[0], utilities[1]) if utilities.ndim == 2 else (utilities, utilities)
    m = noise.opposites if isinstance(noise, Pairs) else 0
    of_mean, w, power, total = fold.of("numba" if compiled else "numpy")(of_mean, w, m)
    return of_mean, w, (power, total, len(utilities.T))


@one_text
def fold(of_mean: Array, w: Array, m: int) -> Any:
    """Return the weights of each direction, the last m of which are opposites of the first; Σ w² and Σ w."""
    power, both = number(dot(of_mean, of_mean)), number(total(w))
    if m > 0:
        fresh = of_mean.size - m
        of_mean, opposite, w, again = of_mean[:fresh].copy(), of_mean[fresh:], w[:fresh].copy(), w[fresh:]
        of_mean[:m] -= opposite
        w[:m] += again
    return of_mean, w, power, both


class OrthogonalDirections:
    """Rows of ``width`` numbers, orthogonal in blocks, with the interface of ``GaussianNoise``."""

    def __init__(
        self, seed: np.random.SeedSequence, width: int, dtype: np.dtype[Any], per_generation: int
    ) -> None:
        """Set up the directions of ``seed`` without drawing any numbers."""
        self.width, self.dtype, self.per_generation = width, dtype, per_generation
        self.pairs = pairs_of(per_generation, width)  # per generation
        self.fresh = per_generation - self.pairs  # directions that are not opposites, per generation
        self.compiled = False  # whether compiled code expands the directions from their compact form
        self.rows_at_once = width * max(1, TABLE // width**2)
        self._table_fits = width <= DENSE or width**2 <= TABLE or self.pairs > width
        self.lengths_differ = self.pairs > width
        self.step = next(t for t in range(math.ceil(0.618 * width), 2 * width) if math.gcd(t, width) == 1)
        self._noise = GaussianNoise(seed, width, dtype)
        self._table: Array = np.empty((0, width))  # small blocks: the rows generated last
        self._first_row = 0  # the number of the first row of the table
        self._current_block = -1  # large blocks: the number of the block generated last
        self._sequence: Array = np.empty(0)  # its √d w, twice
        self._windows: Array = np.empty((0, 0))  # all shifts of it, in the same memory
        self._signs = np.empty(0, np.int8)  # its s

    def vary(self, varied: bool) -> None:
        """Set whether directions have the lengths of normal vectors where they could do without."""
        differ = self.pairs > self.width or (varied and self._table_fits)
        if differ != self.lengths_differ:
            self.lengths_differ, self._table, self._current_block = differ, self._table[:0], -1

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
            if start > 0 or stop < self.per_generation:
                return self.rows(generation, start, stop)
            return Pairs(self._consecutive((generation - 1) * self.fresh, self.fresh, None), self.pairs)
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
        generation, i = divmod(number, self.per_generation)
        is_opposite, row = divmod(i, self.fresh)
        rows = self.pairs if is_opposite else self.fresh
        return generation * self.fresh + row, 1 - 2 * is_opposite, rows - row

    def _fill(self, out: Array, block: int, row: int) -> None:
        if self._table_fits:
            at = self._table_index(block * self.rows_at_once + row, len(out))
            out[:] = self._table[at : at + len(out)]
        else:
            self._make_sequence(block)
            signs, starts = self._signs.astype(self.dtype), self._starts(row, row + len(out))
            if out.size <= BLOCK:  # one call instead of one per row
                np.multiply(self._windows[starts], signs, out=out)
                return
            for y, start in zip(out, starts.tolist(), strict=True):
                np.multiply(self._sequence[start : start + self.width], signs, out=y)

    def _table_index(self, row: int, count: int) -> int:
        """Return the index of ``row`` in the table, a new one if it lacks ``count`` rows; this may end it."""
        at = row - self._first_row
        return at if 0 <= at <= len(self._table) - count else self._make_table(row)

    @cached_property
    def _gather_indices(self) -> NDArray[np.int64]:
        """Indices into w for each row of a block."""
        return (np.arange(self.width) + self._starts(0, self.width)[:, None]) % self.width

    def _make_table(self, row: int) -> int:
        number, at = divmod(row, self.rows_at_once)
        d, rng = self.width, self._noise.stream(number + 1)
        table = np.empty((self.rows_at_once, d), self.dtype)  # not reused: draw returns parts of it
        blocks = table.reshape(-1, d, d)
        if d <= DENSE:
            np.multiply(_orthogonal_matrices(rng.standard_normal(blocks.shape)), math.sqrt(d), out=blocks)
        else:
            w, signs = self._sequences(rng, len(blocks))
            np.multiply(w.take(self._gather_indices, axis=1), signs[:, None], out=blocks)
        if self.lengths_differ:
            table *= np.sqrt(rng.chisquare(d, (len(table), 1)) / d)
        self._table, self._first_row = table, row - at
        return at

    def _make_sequence(self, block: int) -> None:
        if block != self._current_block:
            w, signs = self._sequences(self._noise.stream(block + 1), 1)
            self._sequence, self._signs = np.append(w[0], w[0]), signs[0]
            self._windows = sliding_window_view(self._sequence, self.width)
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
