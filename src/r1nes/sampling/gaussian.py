"""Gaussian noise that (seed, generation, sample) alone determines.

Row i of generation g can be drawn again at any time, on any machine, without drawing what came before.
So a run depends neither on who evaluates its points nor in which order, and a worker that knows the seed
needs no vectors sent to it.

The stream is SFC64 with the key, the generation and the block number as its state, stirred before use.
A block holds as many rows as fit into ``BLOCK`` numbers, at least one: setting a state costs as much as
some 300 normal numbers, which short rows share and long rows do not notice.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from r1nes.arrays import Array

BLOCK = 4096
STIRS = 18  # rounds after which PractRand's author trusts an SFC64 seeded with three words
SETUP = 0  # the generation whose stream sets up the first distribution; sampling starts at 1

Seed = int | np.random.SeedSequence | np.random.Generator | None


def seed_sequence(rng: Seed) -> np.random.SeedSequence:
    """The seed of a run, from ``rng`` as SciPy and NumPy users know it; global state is not touched.

    A Generator is advanced by one draw, so that two runs from one Generator differ.
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
        """Draws are those of ``seed``; nothing is drawn yet."""
        self.width, self.dtype = width, dtype
        self.fast = False  # whether numba draws: the same numbers, in a third of the time
        self.rows_per_block = max(1, BLOCK // width)
        first, last = seed.generate_state(2, np.uint64)
        self._words = np.array([first, 0, 0, last], np.uint64)  # key, generation, block, key
        self._bits = np.random.SFC64(0)
        self._state = self._bits.state
        self._generator = np.random.Generator(self._bits)

    def stream(self, generation: int, block: int = 0) -> np.random.Generator:
        """The generator at the start of one block; the next call moves the same generator on."""
        self._words[1], self._words[2] = generation, block
        self._state["state"]["state"] = self._words
        self._bits.state = self._state
        self._bits.random_raw(STIRS, output=False)
        return self._generator

    def rows(self, generation: int, start: int, stop: int, out: Array | None = None) -> Array:
        """The noise of samples ``start`` to ``stop`` − 1, one per row, in ``out`` if that is given."""
        if out is None:
            out = np.empty((stop - start, self.width), self.dtype)
        size = self.rows_per_block
        if start == 0 and stop <= size:  # the common case, kept cheap
            self._draw(out, generation, 0)
            return out
        for block in range(start // size, -(-stop // size)):
            begin = block * size
            first, last = max(start, begin), min(stop, begin + size)
            if first > begin:  # the earlier rows of this block, to get past them
                rows = np.empty((last - begin, self.width), self.dtype)
                self._draw(rows, generation, block)
                out[first - start : last - start] = rows[first - begin :]
            else:
                self._draw(out[first - start : last - start], generation, block)
        return out

    draw = rows  # there is no other way

    def _draw(self, out: Array, generation: int, block: int) -> None:
        """The first rows of a block. Single precision is double precision, rounded."""
        if self.fast:
            _filler()(out, self._words, generation, block, STIRS)
            return
        draw = self.stream(generation, block).standard_normal
        if self.dtype == np.float64:
            draw(out=out)
            return
        numbers = out.reshape(-1)
        for start in range(0, numbers.size, BLOCK):
            numbers[start : start + BLOCK] = draw(min(BLOCK, numbers.size - start))


@cache
def _filler() -> Callable[..., None]:
    from r1nes.sampling.ziggurat import fill

    return fill.fast
