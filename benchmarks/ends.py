"""Count false successes and runs that end too early, over 200 seeded runs.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/ends.py

Every run is made twice. Without a target, a success is false if the value is not the minimum, up to 1e-8 of
its first distance, and BFGS or a wider search from there finds a lower one; where neither does, it is a local
minimum. With the target 1e-8, a run that ended short of it continues to twice its evaluations, whatever the
reasons to stop: if it then reaches the target, it ended too early. Takes about two minutes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult
from scipy.optimize import minimize as scipy_minimize

from r1nes import Optimizer, minimize
from r1nes.arrays import Array
from r1nes.bench.functions.problems import problem

FUNCTIONS = ["f1", "f2", "f5", "f6", "f7", "f8", "f9", "f10", "f11", "f12", "f13", "f14"]
DIMENSIONS = {2: 5_000, 4: 10_000, 8: 20_000, 16: 40_000, 32: 60_000}  # and budgets
TARGET = 1e-8

Objective = Callable[[Array], Array]  # its minimum is 0
Run = tuple[str, int, int, Objective, int]  # name, variables, seed, objective, budget


def rounded(X: Array) -> Array:
    """Return ‖x‖², rounded to whole numbers, plus 1: its minimum of 0 is out of reach."""
    return np.round((X**2).sum(axis=1)) + 1


def cone(X: Array) -> Array:
    """Return ‖x − 0.3‖, a sharp minimum."""
    return np.sqrt(((X - 0.3) ** 2).sum(axis=1))


def constant(X: Array) -> Array:
    """Return 1."""
    return np.ones(len(X))


def infinite(X: Array) -> Array:
    """Return inf."""
    return np.full(len(X), np.inf)


def noisy(noise: np.random.Generator, X: Array) -> Array:
    """Return ‖x‖² plus noise that hides the minimum."""
    return (X**2).sum(axis=1) + noise.random(len(X)) + 0.1


def runs() -> Iterator[Run]:
    """Yield 180 runs on BBOB's functions, and 20 on plateaus, noise and a sharp minimum."""
    for d, budget in DIMENSIONS.items():
        for function in FUNCTIONS:
            for seed in range(1, 4):
                yield function, d, seed, problem(function, d, seed).formula, budget
    for seed in range(1, 5):
        d, others = 2**seed, {"rounded": rounded, "cone": cone, "constant": constant, "infinite": infinite}
        for name, fun in others.items():
            yield name, d, seed, fun, 20_000
        yield "noisy", d, seed, partial(noisy, np.random.default_rng(seed)), 20_000


def is_false(result: OptimizeResult, fun: Objective, first: float) -> bool:
    """Return whether a success is none: a lower value is near, or the function has no minimum to find."""
    if result.fun <= TARGET * first:
        return False
    polish: Any = scipy_minimize  # its overloads do not take a method's name and an array
    polished = polish(lambda x: float(fun(x[None])[0]), result.x, method="BFGS")
    wider = minimize(fun, result.x, sigma0=1e-3, vectorized=True, rng=1, max_evals=5_000)
    return not min(float(polished.fun), wider.fun) > result.fun - 1e-6 * abs(result.fun)


def too_early(fun: Objective, x0: Array, seed: int, budget: int) -> tuple[str, bool]:
    """Return why a run with a target ended, and whether it reaches it within twice the evaluations."""
    optimizer = Optimizer(x0, 2.0, rng=seed, ftarget=TARGET, max_evals=budget)
    reason, end = "", budget
    while not (reason and optimizer.nfev >= end) and optimizer.best > TARGET:
        if not reason and (stop := optimizer.stop()):
            reason = next(iter(stop))
            if reason == "max_evals":
                return reason, False
            end = 2 * optimizer.nfev
        X = optimizer.ask()
        optimizer.tell(X, fun(X))
    return reason or "ftarget", bool(reason) and optimizer.best <= TARGET


def main() -> None:
    """Print the table, and every run at fault."""
    ends: dict[str, Counter[str]] = {}
    faults: list[str] = []
    for name, d, seed, fun, budget in runs():
        x0 = np.random.default_rng([d, seed]).uniform(-4, 4, d)
        result = minimize(fun, x0, sigma0=2.0, vectorized=True, rng=seed, max_evals=budget)
        if result.success and is_false(result, fun, float(fun(x0[None])[0])):
            faults.append(f"false success: {name}, d = {d}, seed {seed}: {result.fun:.3g}, {result.message}")
        reason, was_early = too_early(fun, x0, seed, budget)
        if was_early:
            faults.append(f"ended too early: {name}, d = {d}, seed {seed}: {reason}")
        counted = ends.setdefault(name, Counter())
        counted[f"{next(iter(result.stop))}{'+' if result.success else ''}"] += 1
        counted[f"→ {reason}"] += 1
    print("Ends without a target (+: success), and → with the target 1e-8")
    for name, counted in ends.items():
        listed = ", ".join(f"{reason} {count}" for reason, count in sorted(counted.items()))
        print(f"{name:9} {listed}")
    print(*faults, f"{len(faults)} faults", sep="\n")


if __name__ == "__main__":
    main()
