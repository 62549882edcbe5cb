"""NumPy's normal numbers from SFC64, three times as fast as NumPy draws them, for numba to compile.

The ziggurat covers half of the bell e^{−x²/2} with 256 layers of equal area. A random word picks layer i and,
as a fraction of its width x_i, a number; it counts at once where the layer is covered by the next one, and in
the sliver beyond only if a second random number says so. The lowest layer has the tail beyond x = r.

The widths are read off NumPy itself, so every number agrees with NumPy's bit for bit.

G. Marsaglia, W. W. Tsang: The ziggurat method for generating random variables, 2000.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from r1nes.arrays import Array
from r1nes.arrays.compiled import compiled, jitable

R = 3.6541528853610087963519472518  # where the tail begins
STEPS = 2.0**52  # of which a width consists


Words = NDArray[np.uint64]


class Layers(NamedTuple):
    """Of the ziggurat, from the lowest one up."""

    width: Array  # x_i, in STEPS; and −x_i after them: to find a sign is faster than to decide on it
    covered: Words  # how many STEPS lie within the layer above
    height: Array  # e^{−x_i²/2}


def layers() -> Layers:
    """Those that NumPy uses: one step into a layer gives its width."""
    bits = np.random.SFC64(0)
    state = bits.state
    generator = np.random.Generator(bits)
    width = np.empty(512)
    for i in range(512):
        one_step = (1 << 9) | i  # a word: the layer in 8 bits, the sign in 1, and the steps
        state["state"]["state"][:] = [one_step, 0, 0, 0]  # the next word is the sum of the 1st, 2nd and 4th
        bits.state = state
        width[i] = generator.standard_normal()
    x = STEPS * width[:256]
    covered = np.append([R / x[0], 0.0], x[1:-1] / x[2:]) * STEPS
    return Layers(width, covered.astype(np.uint64), np.append(1.0, np.exp(-0.5 * x[1:] ** 2)))


WIDTH, COVERED, HEIGHT = layers()


@jitable
def _word(a: Any, b: Any, c: Any, counter: Any) -> tuple[Any, Any, Any, Any, Any]:
    """The next state of SFC64 and, last, the word it gives."""
    word = a + b + counter
    turned = (c << np.uint64(24)) | (c >> np.uint64(40))
    return b ^ (b >> np.uint64(11)), c + (c << np.uint64(3)), turned + word, counter + np.uint64(1), word


@jitable
def _fraction(word: Any) -> Any:
    """A number from 0 to 1, of the upper 53 bits."""
    return np.float64(np.int64(word >> np.uint64(11))) * 2.0**-53


@compiled
def fill(out: Any, key: Any, generation: Any, block: Any, stirs: Any) -> None:
    """Put normal numbers into the rows of ``out``, from an SFC64 of that state, stirred first."""
    a, b, c, counter = key[0], np.uint64(generation), np.uint64(block), key[3]
    for _ in range(stirs):
        a, b, c, counter, word = _word(a, b, c, counter)
    rows, columns = out.shape
    for i in range(rows):
        for j in range(columns):
            while True:
                a, b, c, counter, word = _word(a, b, c, counter)
                layer = word & np.uint64(0xFF)
                steps = (word >> np.uint64(9)) & np.uint64(0xFFFFFFFFFFFFF)
                x = np.float64(np.int64(steps)) * WIDTH[word & np.uint64(0x1FF)]
                if steps < COVERED[layer]:  # 99 times of 100
                    break
                a, b, c, counter, word = _word(a, b, c, counter)
                if layer > 0:  # the sliver
                    low, high = HEIGHT[layer], HEIGHT[layer - np.uint64(1)]
                    if low + (high - low) * _fraction(word) < math.exp(-0.5 * x * x):
                        break
                else:  # the tail
                    beyond = -math.log1p(-_fraction(word)) * (1 / R)
                    a, b, c, counter, word = _word(a, b, c, counter)
                    while -2 * math.log1p(-_fraction(word)) <= beyond * beyond:
                        a, b, c, counter, word = _word(a, b, c, counter)
                        beyond = -math.log1p(-_fraction(word)) * (1 / R)
                        a, b, c, counter, word = _word(a, b, c, counter)
                    x = -(R + beyond) if steps & np.uint64(0x100) else R + beyond
                    break
            out[i, j] = x
