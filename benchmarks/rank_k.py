"""Measure the cost of RkNES, and solve the 10,000-dimensional cigar.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/rank_k.py [cost | cigar]

``cost``: own time per evaluation for 1,000 to 1,000,000 variables with the default directions, and for 1 to
16 directions in 100,000 variables, with the fitted exponent of d and a linear fit in k; a few minutes.
``cigar``: one run from a uniform start to 1e-8, with at most 300 evaluations per variable; a few minutes.
Without an argument, both.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import r1nes
from r1nes.bench.analysis.statistics import growth_exponent
from r1nes.bench.functions.textbook import cigar

DIMS = [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000]
RANKS = [1, 2, 4, 8, 16]
NUMBERS = 2e7  # random numbers sampled per timing, in at least two generations
REPEATS = 5  # alternating; the best counts


def own_seconds(d: int, **settings: Any) -> float:
    """Return the seconds of ask and tell per evaluation."""
    optimizer = r1nes.Optimizer(np.zeros(d), 1.0, method="rknes", rng=1, **settings)
    generations = max(2, int(NUMBERS / (d * optimizer.popsize)))
    values = np.random.default_rng(1).random((generations + 1, optimizer.popsize))
    optimizer.tell(optimizer.ask(), values[-1])
    began = time.process_time()
    for generation in range(generations):
        optimizer.tell(optimizer.ask(), values[generation])
    return (time.process_time() - began) / (generations * optimizer.popsize)


def cost() -> None:
    """Print the costs over d and over k."""
    by_d, by_k = dict.fromkeys(DIMS, np.inf), dict.fromkeys(RANKS, np.inf)
    for _ in range(REPEATS):
        for d in DIMS:
            by_d[d] = min(by_d[d], own_seconds(d))
        for k in RANKS:
            by_k[k] = min(by_k[k], own_seconds(100_000, rank=k))
    print("        d   µs per evaluation   ns per variable")
    for d, seconds in by_d.items():
        print(f"{d:9,}{1e6 * seconds:20.1f}{1e9 * seconds / d:18.2f}")
    print(f"time ∝ d^{growth_exponent(DIMS, list(by_d.values())):.3f}\n")
    print("        k   ns per variable (d = 100,000)")
    for k, seconds in by_k.items():
        print(f"{k:9}{1e4 * seconds:18.2f}")
    per_direction, rest = np.polyfit(RANKS, [1e4 * seconds for seconds in by_k.values()], 1)
    print(f"time ≈ {rest:.2f} + {per_direction:.2f} k")


def solve_cigar(d: int = 10_000) -> None:
    """Run RkNES on the cigar and print its progress."""
    shown = time.monotonic()

    def show(result: Any) -> None:
        nonlocal shown
        if time.monotonic() - shown > 30:
            shown = time.monotonic()
            print(f"{result.nfev:>10,} evaluations  {result.fun:.3e}", flush=True)

    x0 = np.random.default_rng(1).uniform(-4, 4, d)
    result = r1nes.minimize(
        cigar,
        x0,
        sigma0=1.0,
        method="rknes",
        ftarget=1e-8,
        max_evals=300 * d,
        vectorized=True,
        rng=1,
        callback=show,
    )
    print(f"cigar, d = {d:,}: {result.message}")
    print(f"{result.nfev:,} evaluations, {result.nfev / d:.0f} per variable, best {result.fun:.3e}")


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["cost", "cigar"]
    if "cost" in wanted:
        cost()
    if "cigar" in wanted:
        solve_cigar()
