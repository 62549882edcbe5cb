"""One step of the distribution: the update of the method, and the rules that limit it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from r1nes.arrays import Array
from r1nes.plateaus import with_sigma_adjusted
from r1nes.points import Points
from r1nes.probing import Probing
from r1nes.settings import Settings
from r1nes.strategies import Strategy
from r1nes.strategies.protocol import updated

LONGEST_STEP = 1e10  # factor by which σ may change in one step; usual ones are below 2


def learnt(
    strategy: Strategy,
    noise: Any,
    ranked: Array,
    utilities: Array,
    settings: Settings,
    probing: Probing,
    points: Points,
) -> Strategy | None:
    """Return the next distribution, given the values ``ranked``; None if the step is too large to compute."""
    if probing.seen or probing.always:
        strategy = strategy.heeding(probing.doubt())
    try:
        stepped = updated(strategy, noise, utilities)
        growth = stepped.sigma / strategy.sigma
    except (ArithmeticError, np.linalg.LinAlgError):
        return None
    if not (1 / LONGEST_STEP < growth < LONGEST_STEP and math.isfinite(stepped.mean.sum())):
        return None
    limited = settings.algorithm.heeds_noise
    return points.limited(with_sigma_adjusted(stepped, strategy, ranked, settings.sigma, probing, limited))
