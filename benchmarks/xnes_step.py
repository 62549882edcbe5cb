"""One generation of xNES: our low-rank exponential beside a dense ``scipy.linalg.expm``.

    python benchmarks/xnes_step.py [--dims 64 128 256 512] [--repeats 15]

Both take the same step from the same state; the two are timed in turns, and the best time of each counts.
Set OMP_NUM_THREADS=1 and OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np
from scipy.linalg import expm

from r1nes.arrays import Array
from r1nes.ranking import logarithmic
from r1nes.strategies.full import XNES


def ours(strategy: XNES, noise: Array, w: Array) -> tuple[Array, Array]:
    """Sample and update with the package."""
    X = strategy.sample(noise)
    return X, strategy.update(noise, w).shape


def dense(strategy: XNES, noise: Array, w: Array) -> tuple[Array, Array]:
    """The same generation with the matrix exponential taken as printed."""
    d, B = strategy.mean.size, strategy.shape
    X = strategy.mean + strategy.sigma * (noise @ B.T)
    grad_M = (noise.T * w) @ noise - w.sum() * np.eye(d)
    grad_B = grad_M - np.trace(grad_M) / d * np.eye(d)
    return X, B @ expm(0.5 * strategy.rate_shape * grad_B)


def main() -> None:
    """Print seconds per generation and their ratio for each dimension."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dims", type=int, nargs="+", default=[64, 128, 256, 512])
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    print(f"{'d':>5} {'n':>3} {'ours, ms':>10} {'dense, ms':>10} {'dense/ours':>10} {'difference':>10}")
    for d in options.dims:
        rng = np.random.default_rng(d)
        strategy = XNES().start(np.zeros(d), 1.0, rng)
        n = XNES.default_popsize(d)
        w = logarithmic(n, zero_sum=True)
        best = {ours: math.inf, dense: math.inf}
        for _ in range(options.repeats):
            noise = rng.standard_normal((n, d))
            shapes = []
            for step in best:
                begun = time.perf_counter()
                shapes.append(step(strategy, noise, w)[1])
                best[step] = min(best[step], time.perf_counter() - begun)
            difference = np.abs(shapes[0] - shapes[1]).max()
            strategy = strategy.update(noise, w)
        print(
            f"{d:>5} {n:>3} {1e3 * best[ours]:>10.3f} {1e3 * best[dense]:>10.3f} "
            f"{best[dense] / best[ours]:>10.1f} {difference:>10.1e}"
        )


if __name__ == "__main__":
    main()
