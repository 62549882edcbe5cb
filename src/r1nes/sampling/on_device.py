"""Noise for PyTorch and JAX arrays: drawn on the host and copied to the device, or drawn on the device.

Noise from the host is the same as in NumPy runs, so a run agrees across libraries to rounding. Noise from the
device's own generator is also determined by (seed, generation, sample), but only for the same device and the
same version of the library.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from r1nes.arrays import Array, ArrayType, like, namespace
from r1nes.sampling.gaussian import BLOCK, GaussianNoise
from r1nes.sampling.orthogonal import DENSE, OrthogonalDirections, Pairs

NORMAL, PHASES, SIGNS, LENGTHS = range(4)  # independent streams of one key


class HostNoise:
    """Rows of noise drawn on the host and copied to the device."""

    def __init__(self, source: GaussianNoise | OrthogonalDirections, array_type: ArrayType) -> None:
        """Copy the rows of ``source`` to arrays of ``array_type``; draws nothing yet."""
        self._source, self._array_type = source, array_type

    def vary(self, varied: bool) -> None:
        """Set whether orthogonal directions have lengths that differ."""
        if isinstance(self._source, OrthogonalDirections):
            self._source.vary(varied)

    def rows(self, generation: int, start: int, stop: int, _: object = None) -> Array:
        """Return the noise of samples ``start`` to ``stop`` − 1, one per row."""
        return self._array_type.array(self._source.rows(generation, start, stop))

    def draw(self, generation: int, start: int, stop: int, _: object = None) -> Array | Pairs:
        """Return the same in its shortest form, without opposites."""
        drawn = self._source.draw(generation, start, stop)
        return (
            Pairs(self._array_type.array(drawn.rows), drawn.opposites)
            if isinstance(drawn, Pairs)
            else self._array_type.array(drawn)
        )


class DeviceNoise:
    """Rows of ``width`` standard normal numbers from the device's generator."""

    def __init__(
        self, seed: np.random.SeedSequence, width: int, array_type: ArrayType, per_generation: int
    ) -> None:
        """Set up the streams of ``seed`` without drawing any numbers."""
        self._seed, self._width, self._array_type = seed, width, array_type
        self._rows_per_block = min(per_generation, max(1, BLOCK // width))
        self.compiled = False  # part of the interface of GaussianNoise; unused here

    def rows(self, generation: int, start: int, stop: int, _: object = None) -> Array:
        """Return the noise of samples ``start`` to ``stop`` − 1, one per row."""
        size = self._rows_per_block
        first, last = start // size, -(-stop // size)
        blocks = [
            self._array_type.normal(_key(self._seed, NORMAL, generation, block), (size, self._width))
            for block in range(first, last)
        ]
        drawn = blocks[0] if len(blocks) == 1 else namespace(blocks[0]).concat(blocks)
        return drawn[start - first * size : stop - first * size]

    draw = rows


class DeviceDirections(OrthogonalDirections):
    """Orthogonal directions, drawn and assembled on the device."""

    def __init__(
        self, seed: np.random.SeedSequence, width: int, array_type: ArrayType, per_generation: int
    ) -> None:
        """Set up the streams of ``seed`` without drawing any numbers."""
        super().__init__(seed, width, array_type.dtype, per_generation)
        self._seed, self._array_type = seed, array_type
        self._waves: Array = np.empty(0)  # large blocks: √d w of the current block, shape (1, d)
        self._flips: Array = np.empty(0)  # and its s

    def rows(self, generation: int, start: int, stop: int, _: object = None) -> Array:
        """Return the directions of samples ``start`` to ``stop`` − 1, one per row."""
        number, end = ((generation - 1) * self.per_generation + i for i in (start, stop))
        pieces = []
        while number < end:
            row, sign, left = self._locate(number)
            block, row = divmod(row, self.rows_at_once)
            taken = min(end - number, left, self.rows_at_once - row)
            pieces.append(sign * self._block_rows(block, row, taken))
            number += taken
        return pieces[0] if len(pieces) == 1 else namespace(pieces[0]).concat(pieces)

    def draw(self, generation: int, start: int, stop: int, _: object = None) -> Array | Pairs:
        """Return the same in its shortest form, without opposites."""
        if not self.pairs or start > 0 or stop < self.per_generation:
            return self.rows(generation, start, stop)
        return Pairs(self.rows(generation, 0, self.fresh), self.pairs)

    def _block_rows(self, number: int, row: int, count: int) -> Array:
        if number != self._current_block:
            self._make(number)
        if len(self._table):
            return self._table[row : row + count]
        return self._expand(self._waves, row, row + count)[0] * self._flips

    def _make(self, number: int) -> None:
        d, blocks = self.width, self.rows_at_once // self.width
        if d <= DENSE:
            self._table = self._dense(number, blocks)
        else:
            waves = self._flat(number, blocks)
            flips = _signs(self._normal(SIGNS, number, blocks, d))
            if self._table_fits:
                rows = self._expand(waves, 0, d) * flips[:, None, :]
                self._table = namespace(waves).reshape(rows, (-1, d))
            else:
                self._waves, self._flips = waves, flips
        if self.lengths_differ:
            numbers = self._normal(LENGTHS, number, self.rows_at_once, d)
            mean_squares = (numbers * numbers).sum(axis=1)[:, None] / d
            self._table = self._table * namespace(numbers).sqrt(mean_squares)
        self._current_block = number

    def _expand(self, waves: Array, row: int, end: int) -> Array:
        """Shift each sequence for rows ``row`` to ``end`` − 1 of its block: (sequences, rows, d)."""
        xp: Any = namespace(waves)
        starts = xp.asarray(self._starts(row, end), device=waves.device)
        places = (xp.arange(self.width, device=waves.device) + starts[:, None]) % self.width
        taken = xp.take(waves, xp.reshape(places, (-1,)), axis=1)
        return xp.reshape(taken, (len(waves), end - row, self.width))

    def _dense(self, number: int, blocks: int) -> Array:
        """Return √d times the rows of random orthogonal matrices."""
        d = self.width
        normal = self._normal(PHASES, number, blocks, d, d)
        xp = namespace(normal)
        Q, R = xp.linalg.qr(normal)
        signs = _signs(xp.linalg.diagonal(R))  # makes Q uniformly distributed
        return xp.reshape(math.sqrt(d) * Q * signs[:, None, :], (-1, d))

    def _flat(self, number: int, blocks: int) -> Array:
        """Return sequences √d w orthogonal to their shifts; complex normal numbers give random phases."""
        d = self.width
        parts = self._normal(PHASES, number, 2, blocks, d // 2 + 1)
        xp = namespace(parts)
        phased = np.ones(d // 2 + 1)
        phased[[0, -1] if d % 2 == 0 else [0]] = 0  # these coefficients are real: a sign, no phase
        real, imaginary = parts[0], parts[1] * like(phased, parts)
        real = xp.where(real == 0, xp.ones_like(real), real)  # exact zeros do occur in float32
        modulus = xp.sqrt(real * real + imaginary * imaginary)
        return math.sqrt(d) * xp.fft.irfft((real + 1j * imaginary) / modulus, n=d)

    def _normal(self, stream: int, number: int, *shape: int) -> Array:
        return self._array_type.normal(_key(self._seed, stream, number), shape)


def _signs(x: Array) -> Array:
    ones = namespace(x).ones_like(x)
    return namespace(x).where(x < 0, -ones, ones)


def _key(seed: np.random.SeedSequence, *words: int) -> np.random.SeedSequence:
    return np.random.SeedSequence([*(int(word) for word in seed.generate_state(4)), *words])
