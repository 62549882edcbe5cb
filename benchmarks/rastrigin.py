"""Rastrigin's function without restarts: ``noise=True`` beside the default and two kinds of CMA-ES.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/rastrigin.py

10, 20 and 40 variables, 10⁴ d evaluations, default populations, starts uniform in [−5, 5]^d with σ₀ = 2,
seeds 1 to 11. Writes ``results/rastrigin.json`` and prints how many runs reach 1e-8, and the median
evaluations of all runs, where one that failed counts as infinite. The settings of r1nes were chosen on seeds
31 to 50. Runs that the file has are not repeated. Requires cma and cmaes; takes about half an hour.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from r1nes import minimize
from r1nes.arrays import Array

RECORDS = Path(__file__).parents[1] / "results" / "rastrigin.json"
DIMENSIONS, SEEDS = (10, 20, 40), range(1, 12)
TARGET = 1e-8


def rastrigin(X: Array) -> Array:
    """Return the values of points in rows; the minimum is 0."""
    return np.sum(X**2 + 10 * (1 - np.cos(2 * math.pi * X)), axis=1)


def ours(x0: Array, seed: int, budget: int, **settings: Any) -> float:
    """Return the evaluations of a run of this package."""
    result = minimize(
        rastrigin, x0, 2.0, vectorized=True, ftarget=TARGET, max_evals=budget, rng=seed, **settings
    )
    return result.nfev if result.success else math.inf


def pycma(x0: Array, seed: int, budget: int) -> float:
    """Return the evaluations of a run of pycma."""
    cma = import_module("cma")
    options: dict[str, Any] = {"seed": seed, "verbose": -9, "ftarget": TARGET, "maxfevals": budget}
    es = cma.CMAEvolutionStrategy(x0, 2.0, options | {"signals_filename": ""})
    while not es.stop():
        X = es.ask()
        es.tell(X, rastrigin(np.array(X)).tolist())
    return es.result.evaluations if es.result.fbest <= TARGET else math.inf


def cmaes(x0: Array, seed: int, budget: int) -> float:
    """Return the evaluations of a run of the package cmaes with learning-rate adaptation."""
    es = import_module("cmaes").CMA(mean=x0.copy(), sigma=2.0, seed=seed, lr_adapt=True)
    for nfev in range(es.population_size, budget + 1, es.population_size):
        X = [es.ask() for _ in range(es.population_size)]
        values = rastrigin(np.array(X)).tolist()
        if min(values) <= TARGET:
            return nfev
        es.tell(list(zip(X, values, strict=True)))
    return math.inf


METHODS: dict[str, Callable[[Array, int, int], float]] = {
    "rknes, noise=True": lambda x0, seed, budget: ours(x0, seed, budget, noise=True),
    "rknes": ours,
    "pycma": pycma,
    "cmaes, lr_adapt": cmaes,
}


def main() -> None:
    """Run what is missing and print the table."""
    found: dict[str, float | None] = (
        json.loads(RECORDS.read_text(encoding="utf-8")) if RECORDS.exists() else {}
    )
    for d in DIMENSIONS:
        for name, run in METHODS.items():
            for seed in SEEDS:
                key = f"{name}; d = {d}; seed {seed}"
                if key not in found:
                    x0 = np.random.default_rng(seed).uniform(-5, 5, d)
                    nfev = run(x0, seed, 10_000 * d)
                    found[key] = nfev if math.isfinite(nfev) else None
                    RECORDS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            runs = [found[f"{name}; d = {d}; seed {seed}"] for seed in SEEDS]
            solved = sum(nfev is not None for nfev in runs)
            median = statistics.median(math.inf if nfev is None else nfev for nfev in runs)
            print(f"| {d} | {name} | {solved} of {len(runs)} | {median:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
