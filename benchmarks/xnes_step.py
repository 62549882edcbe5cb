"""Time one generation of xNES: our low-rank exponential against a dense ``scipy.linalg.expm``.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/xnes_step.py [--dims 64 128 256] [--repeats 15]

Both take the same step from the same state. They are timed alternately, and the best time of each counts.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np

from r1nes.arrays import Array
from r1nes.bench.paper.timing import dense
from r1nes.ranking import logarithmic
from r1nes.strategies.full import XNES, FullGaussian


def generation(strategy: FullGaussian, noise: Array, w: Array) -> tuple[FullGaussian, float]:
    """Sample and update; return the next strategy and the seconds taken."""
    began = time.perf_counter()
    strategy.sample(noise)
    following = strategy.update(noise, w)
    return following, time.perf_counter() - began


def main() -> None:
    """Print milliseconds per generation and their ratio for each dimension."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dims", type=int, nargs="+", default=[64, 128, 256, 512])
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    print(f"{'d':>5} {'n':>3} {'ours, ms':>10} {'dense, ms':>10} {'dense/ours':>10} {'difference':>10}")
    for d in options.dims:
        rng = np.random.default_rng(d)
        strategy = XNES().start(np.zeros(d), 1.0, rng)
        n = XNES().default_popsize(d)
        w = logarithmic(n, zero_sum=True)
        best_ours = best_dense = math.inf
        for _ in range(options.repeats):
            noise = rng.standard_normal((n, d))
            ours, seconds_ours = generation(strategy, noise, w)
            theirs, seconds_dense = generation(dense(strategy), noise, w)
            best_ours, best_dense = min(best_ours, seconds_ours), min(best_dense, seconds_dense)
            difference = np.abs(ours.shape - theirs.shape).max()
            strategy = ours
        print(
            f"{d:>5} {n:>3} {1e3 * best_ours:>10.3f} {1e3 * best_dense:>10.3f} "
            f"{best_dense / best_ours:>10.1f} {difference:>10.1e}"
        )


if __name__ == "__main__":
    main()
