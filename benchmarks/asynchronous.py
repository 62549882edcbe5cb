"""Compare synchronous and asynchronous runs: evaluations and time to the target, on a simulated clock.

    python benchmarks/asynchronous.py

Each evaluation takes a random time of mean 1, lognormal with a spread of 1 (one in twenty takes more than
three times the mean). The synchronous run waits for each whole generation; the asynchronous run never waits.
The table shows the ratio asynchronous / synchronous of the medians over five seeds in 20 variables, and how
many of the five synchronous and asynchronous runs reached the target. Takes about a minute.
"""

from __future__ import annotations

import heapq
import math
import statistics
from collections.abc import Callable, Iterator
from itertools import count

import numpy as np

from r1nes import Optimizer
from r1nes.arrays import Array
from r1nes.bench.functions.textbook import ellipsoid, rosenbrock, sphere

DIM, POPSIZE, TARGET, SPREAD = 20, 12, 1e-8, 1.0


def durations(seed: int) -> Iterator[float]:
    """Yield random durations of mean 1."""
    rng = np.random.default_rng([seed, 1])
    while True:
        yield float(rng.lognormal(-(SPREAD**2) / 2, SPREAD))


def synchronous(fun: Callable[[Array], Array], optimizer: Optimizer, workers: int, seed: int) -> float:
    """Return the time to the target if each generation waits for its last value."""
    clock, duration = 0.0, durations(seed)
    while not optimizer.stop():
        X = optimizer.ask()
        free = [clock] * workers
        for _ in X:
            heapq.heappush(free, heapq.heappop(free) + next(duration))
        clock = max(free)
        optimizer.tell(X, fun(X))
    return clock


def asynchronous(fun: Callable[[Array], Array], optimizer: Optimizer, workers: int, seed: int) -> float:
    """Return the time to the target if each free worker gets the next point at once."""
    clock, duration, number = 0.0, durations(seed), count()
    waiting: list[Array] = []
    busy: list[tuple[float, int, Array]] = []
    while not optimizer.stop():
        while len(busy) < workers:
            if not waiting:
                waiting = list(optimizer.ask())
            heapq.heappush(busy, (clock + next(duration), next(number), waiting.pop(0)))
        clock, _, x = heapq.heappop(busy)
        optimizer.tell(x[None], fun(x[None]))
    return clock


def runs(
    fun: Callable[[Array], Array], method: str, workers: int, *, wait: bool
) -> list[tuple[float, float]]:
    """Return evaluations and time to the target for five seeds; infinite if a run misses the target."""
    found = []
    for seed in range(5):
        x0 = np.zeros(DIM) if fun is rosenbrock else np.full(DIM, 3.0)
        optimizer = Optimizer(
            x0, 1.0, method=method, popsize=POPSIZE, ftarget=TARGET, asynchronous=not wait, rng=seed
        )
        seconds = (synchronous if wait else asynchronous)(fun, optimizer, workers, seed)
        reached = "ftarget" in optimizer.stop()
        found.append((optimizer.nfev, seconds) if reached else (math.inf, math.inf))
    return found


def main() -> None:
    """Print the ratios for numbers of workers below, at and above the population."""
    print("| function | method | workers / population | evaluations | time | solved |")
    print("|---|---|---|---|---|---|")
    for fun in (sphere, ellipsoid, rosenbrock):
        for method in ("rknes", "snes")[: 1 if fun is rosenbrock else 2]:
            for workers in (4, 12, 24):
                waiting, not_waiting = (runs(fun, method, workers, wait=wait) for wait in (True, False))
                evaluations, seconds = (
                    statistics.median(run[i] for run in not_waiting)
                    / statistics.median(run[i] for run in waiting)
                    for i in (0, 1)
                )
                solved = [
                    sum(math.isfinite(seconds) for _, seconds in kind) for kind in (waiting, not_waiting)
                ]
                ratios = f"× {evaluations:.2f} | × {seconds:.2f}"
                case = f"{fun.__name__} | {method} | {workers} / {POPSIZE}"
                print(f"| {case} | {ratios} | {solved[0]}, {solved[1]} |", flush=True)


if __name__ == "__main__":
    main()
