"""Presets of R1-NES: the settings in programs by its authors. The paper itself prints none.

With w_i ∝ max(0, ln(n/2 + 1) − ln i), Σ w = 1, and η_μ = 1 in all of them:

    preset       η_λ = η                n                          utilities
    pybrain      0.1                    ⌊max(5, 4 log₂ d, d/5)⌋    w
    heuristic    (9 + 3 ln d)/(5d√d)    4 + ⌊3 ln d⌋               w − 1/n
    matlab       0.1                    ⌊8 ln d⌋                   w

``pybrain`` is what Rank1NES in PyBrain uses. ``heuristic``, the settings of xNES, is what the same code
computes first and then overwrites. ``matlab`` is Yi Sun's Matlab program. Which of them the paper used is not
known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from r1nes.arguments import suggestion


def xnes_rate(d: int) -> float:
    """Return the learning rate of σ and of the shape in xNES, as published."""
    return (9 + 3 * math.log(d)) / (5 * d * math.sqrt(d))


class Preset(NamedTuple):
    """A complete set of the authors' settings."""

    rate: float | None  # η_λ and η; None for that of xNES, which depends on d
    popsize: Callable[[int], int]  # n, of d
    zero_sum: bool  # whether the baseline 1/n is subtracted from the utilities

    def rate_for(self, d: int) -> float:
        """Return η_λ = η for ``d`` variables."""
        return xnes_rate(d) if self.rate is None else self.rate


PRESETS = {
    "pybrain": Preset(0.1, lambda d: int(max(5, 4 * math.log2(d), d / 5)), zero_sum=False),
    "heuristic": Preset(None, lambda d: 4 + int(3 * math.log(d)), zero_sum=True),
    "matlab": Preset(0.1, lambda d: int(8 * math.log(d)), zero_sum=False),
}


def preset_named(name: str) -> Preset:
    """Return the preset; an unknown name is answered with the known ones."""
    if not isinstance(name, str) or name not in PRESETS:
        meant = suggestion(str(name), PRESETS)
        raise ValueError(f"preset must be one of {', '.join(PRESETS)}, got {name!r}{meant}")
    return PRESETS[name]
