"""Compile every numba kernel into the cache beside the source.

``make test`` runs it first, so that its processes load machine code instead of compiling it one by one.
"""

from __future__ import annotations

import numpy as np

from r1nes import Optimizer
from r1nes.strategies import STRATEGIES
from support.ask_tell import run

if __name__ == "__main__":
    for method in STRATEGIES:
        for d, generations in ((8, 20), (1100, 3), (6000, 3)):
            if method != "xnes" or d == 8:
                run(Optimizer(np.zeros(d), 0.5, method=method, rng=1, compiled=True), generations)
