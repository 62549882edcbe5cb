"""What it costs and saves not to wait: evaluations and time to the target, by a simulated clock.

    python benchmarks/asynchronous.py

Each evaluation takes a random time of mean 1, lognormal with a spread of 1 (one in twenty takes over three
times the mean). The synchronous run waits for a whole generation, the asynchronous one never; medians of five
seeds, on 20 variables; solved are how many of them reach the target, synchronous and asynchronous.
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

DIM, TARGET, SPREAD = 20, 1e-8, 1.0


def sphere(X: Array) -> Array:
    """Σ x²."""
    return (X * X).sum(axis=1)


def ellipsoid(X: Array) -> Array:
    """Axes from 1 to 1000 long."""
    return X**2 @ np.logspace(0, 6, DIM)


def rosenbrock(X: Array) -> Array:
    """A bent valley."""
    return (100 * (X[:, 1:] - X[:, :-1] ** 2) ** 2 + (1 - X[:, :-1]) ** 2).sum(axis=1)


def durations(seed: int) -> Iterator[float]:
    """One after the other, of mean 1."""
    rng = np.random.default_rng([seed, 1])
    while True:
        yield float(rng.lognormal(-(SPREAD**2) / 2, SPREAD))


def synchronous(fun: Callable[[Array], Array], optimizer: Optimizer, workers: int, seed: int) -> float:
    """The time at which the target is reached, if each generation waits for its last value."""
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
    """The time at which the target is reached, if whoever is free gets the next point."""
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


def main() -> None:
    """Print evaluations and time of both, for numbers of workers around the population."""
    print("| function | method | workers / population | evaluations | time | solved |")
    print("|---|---|---|---|---|---|")
    for fun in (sphere, ellipsoid, rosenbrock):
        for method in ("rknes", "snes")[: 1 if fun is rosenbrock else 2]:
            for workers in (4, 12, 24):
                runs: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
                for seed in range(5):
                    for patient, run in ((False, synchronous), (True, asynchronous)):
                        x0 = np.zeros(DIM) if fun is rosenbrock else np.full(DIM, 3.0)
                        optimizer = Optimizer(
                            x0, 1.0, method=method, popsize=12, ftarget=TARGET, asynchronous=patient, rng=seed
                        )
                        seconds = run(fun, optimizer, workers, seed)
                        if "ftarget" in optimizer.stop():
                            runs[patient].append((optimizer.nfev, seconds))
                        else:
                            runs[patient].append((math.inf, math.inf))
                ratios = [
                    statistics.median(run[i] for run in runs[True])
                    / statistics.median(run[i] for run in runs[False])
                    for i in (0, 1)
                ]
                solved = [sum(math.isfinite(seconds) for _, seconds in runs[kind]) for kind in (False, True)]
                print(
                    f"| {fun.__name__} | {method} | {workers} / 12 | × {ratios[0]:.2f} | × {ratios[1]:.2f} "
                    f"| {solved[0]}, {solved[1]} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
