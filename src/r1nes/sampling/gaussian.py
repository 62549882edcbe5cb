"""Gaussian noise, determined by (seed, generation, sample) alone.

Row i of generation g can be regenerated at any time, on any machine, without drawing the rows before it. A
run is therefore independent of where and in which order its points are evaluated, and a worker that has the
seed can generate its own vectors.

Each stream is an SFC64 generator whose state holds the key, the generation and the block number. The first
``WARMUP`` outputs are discarded. A block holds as many rows as fit into ``BLOCK`` numbers, but at least one:
setting the state costs as much as some 300 normal numbers, so short rows share a state, and for long rows the
cost is negligible.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from r1nes.arrays import Array

BLOCK = 4096
WARMUP = 18  # rounds that PractRand's author recommends after seeding SFC64 with three words
SETUP = 0  # the generation number of the stream that initialises a strategy; sampling starts at 1

Seed = int | np.random.SeedSequence | np.random.Generator | None


def seed_sequence(rng: Seed) -> np.random.SeedSequence:
    """Return the seed sequence for ``rng``, which follows the convention of NumPy and SciPy.

    NumPy's global random state is not used. A Generator is advanced by one draw, so that two runs started
    from the same Generator differ.
    """
    if isinstance(rng, np.random.SeedSequence):
        return rng
    if isinstance(rng, np.random.Generator):
        return np.random.SeedSequence([int(word) for word in rng.integers(2**32, size=4)])
    if rng is None or (isinstance(rng, int | np.integer) and not isinstance(rng, bool) and rng >= 0):
        return np.random.SeedSequence(None if rng is None else int(rng))
    raise TypeError(
        f"rng must be None, an int ≥ 0, a SeedSequence or a Generator, got {rng!r} ({type(rng).__name__})"
    )


class GaussianNoise:
    """Rows of ``width`` standard normal numbers, keyed by generation and sample."""

    def __init__(self, seed: np.random.SeedSequence, width: int, dtype: np.dtype[Any]) -> None:
        """Set up the streams of ``seed`` without drawing any numbers."""
        self.width, self.dtype = width, dtype
        self.compiled = False  # whether to draw with numba: the same numbers in a third of the time
        self.rows_per_block = max(1, BLOCK // width)
        first, last = seed.generate_state(2, np.uint64)
        self._words = np.array([first, 0, 0, last], np.uint64)  # key, generation, block, key
        self._bits = np.random.SFC64(0)
        self._state = self._bits.state
        self._generator = np.random.Generator(self._bits)

    def stream(self, generation: int, block: int = 0) -> np.random.Generator:
        """Return the shared generator, positioned at the start of a block; the next call repositions it."""
        self._words[1], self._words[2] = generation, block
        self._state["state"]["state"] = self._words
        self._bits.state = self._state
        self._bits.random_raw(WARMUP, output=False)
        return self._generator

    def rows(self, generation: int, start: int, stop: int, out: Array | None = None) -> Array:
        """Return the noise of samples ``start`` to ``stop`` − 1, one per row, written to ``out`` if given."""
        if out is None:
            out = np.empty((stop - start, self.width), self.dtype)
        size = self.rows_per_block
        if start == 0 and stop <= size:  # the common case, kept cheap
            self._draw(out, generation, 0)
            return out
        for block in range(start // size, -(-stop // size)):
            begin = block * size
            first, last = max(start, begin), min(stop, begin + size)
            if first > begin:  # draw the earlier rows of the block too, and discard them
                rows = np.empty((last - begin, self.width), self.dtype)
                self._draw(rows, generation, block)
                out[first - start : last - start] = rows[first - begin :]
            else:
                self._draw(out[first - start : last - start], generation, block)
        return out

    draw = rows  # Gaussian noise has no compact form

    def _draw(self, out: Array, generation: int, block: int) -> None:
        """Fill ``out`` with the first rows of a block; single precision is rounded double precision."""
        if self.compiled:
            _compiled_fill()(out, self._words, generation, block, WARMUP)
            return
        draw = self.stream(generation, block).standard_normal
        if self.dtype == np.float64:
            draw(out=out)
            return
        numbers = out.reshape(-1)
        for start in range(0, numbers.size, BLOCK):
            numbers[start : start + BLOCK] = draw(min(BLOCK, numbers.size - start))


@cache
def _compiled_fill() -> Callable[..., None]:
    from r1nes.sampling.ziggurat import fill

    return fill.fast
