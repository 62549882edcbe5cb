"""Time steps while other processes keep all cores busy, with one BLAS thread and with the default number.

    python benchmarks/busy_cores.py [--dims 64 256 --seconds 10]

Leave OMP_NUM_THREADS and OPENBLAS_NUM_THREADS unset. Prints microseconds per evaluation, without the
objective, for RkNES with a full base. Requires threadpoolctl.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time

import numpy as np

import r1nes
from r1nes.arrays import threads


def spin() -> None:
    """Keep one core busy."""
    while True:
        pass


def microseconds(d: int, seconds: float) -> float:
    """Return the time of ask and tell per evaluation in ``d`` dimensions."""
    optimizer = r1nes.Optimizer(np.zeros(d), 1.0, method=r1nes.RkNES(base="full"), compiled=False, rng=1)
    values, began = np.random.default_rng(1), time.perf_counter()
    while time.perf_counter() - began < seconds or optimizer.generation < 2:
        X = optimizer.ask()
        optimizer.tell(X, values.random(len(X)))
    return 1e6 * (time.perf_counter() - began) / optimizer.nfev


def main() -> None:
    """Measure both ways in turn and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dims", type=int, nargs="+", default=[64, 128, 256])
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    cores = multiprocessing.cpu_count()
    others = [multiprocessing.Process(target=spin, daemon=True) for _ in range(cores)]
    for process in others:
        process.start()
    print(f"{cores} cores, as many busy processes\n| d | one thread | default |\n|---|---|---|")
    limits = threads.LARGE, sys.maxsize
    for d in options.dims:
        cells = []
        for threads.LARGE in limits:
            cells.append(f"{microseconds(d, options.seconds):,.0f}")
        print(f"| {d} | {' | '.join(cells)} |", flush=True)
    for process in others:
        process.kill()


if __name__ == "__main__":
    main()
