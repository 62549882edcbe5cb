"""Compile every numba kernel into the cache beside the source.

``make test`` runs it first, so that its processes load machine code instead of compiling it one by one.
"""

from __future__ import annotations

import numpy as np

import r1nes.arrays.compiled
from r1nes import Optimizer
from r1nes.strategies import STRATEGIES
from support.ask_tell import run

if __name__ == "__main__":
    r1nes.arrays.compiled.PATIENCE = 0.0
    for method in STRATEGIES:
        for d, generations in ((8, 20), (1100, 3)):
            run(Optimizer(np.zeros(d), 0.5, method=method, rng=1), generations)
