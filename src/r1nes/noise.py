"""Gaussian noise that (seed, generation, sample) alone determines.

Row i of generation g can be drawn again at any time, on any machine, without drawing what came before.
So a run depends neither on who evaluates its points nor in which order, and a worker that knows the seed
needs no vectors sent to it.

The stream is SFC64 with the key, the generation and the block number as its state, stirred before use.
A block holds as many rows as fit into ``BLOCK`` numbers, at least one: setting a state costs as much as
some 300 normal numbers, which short rows share and long rows do not notice.
"""

from __future__ import annotations

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


class Noise:
    """Rows of ``width`` standard normal numbers, keyed by generation and sample."""

    def __init__(self, seed: np.random.SeedSequence, width: int, dtype: np.dtype[Any]) -> None:
        """Draws are those of ``seed``; nothing is drawn yet."""
        self.width, self.dtype = width, dtype
        self.rows_per_block = max(1, BLOCK // width)
        self._key = seed.generate_state(2, np.uint64)
        self._bits = np.random.SFC64(0)
        self._state = self._bits.state
        self._generator = np.random.Generator(self._bits)

    def stream(self, generation: int, block: int = 0) -> np.random.Generator:
        """The generator at the start of one block; the next call moves the same generator on."""
        words = self._state["state"]["state"]
        words[0], words[1], words[2], words[3] = self._key[0], generation, block, self._key[1]
        self._bits.state = self._state
        self._bits.random_raw(STIRS, output=False)
        return self._generator

    def rows(self, generation: int, start: int, stop: int) -> Array:
        """The noise of samples ``start`` to ``stop`` − 1, one per row."""
        out = np.empty((stop - start, self.width), self.dtype)
        size = self.rows_per_block
        for block in range(start // size, -(-stop // size)):
            first, last = max(start, block * size), min(stop, (block + 1) * size)
            draw = self.stream(generation, block).standard_normal
            if first > block * size:  # the earlier rows of this block, to get past them
                draw((first - block * size, self.width), self.dtype)
            draw(out=out[first - start : last - start], dtype=self.dtype)
        return out
