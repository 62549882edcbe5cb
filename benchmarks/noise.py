"""Compare the default with SNES, CMA-ES, its noise handler and its learning-rate adaptation under noise.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/noise.py [--methods "rknes;snes"]

The sphere, a rotated ellipsoid of condition 10⁴ and Rosenbrock's function, 10 and 32 variables. Values carry
normal noise of standard deviation 0.1 or 1, or a factor e^{0.3 N}. All methods start at the same points,
uniform in [−1, 1]^d, with σ₀ = 0.5 and their default populations. Recorded is the true value of the mean
after 20,000 and after 100,000 evaluations; at 1e-8 a function counts as solved. pycma ends by its own reasons
to stop, because its means diverge beyond them; the others run on.

Runs that ``results/noise.json`` has are not repeated: delete it to measure all again. Everything takes
several hours on one core; then a table is printed. Requires cma and cmaes.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from r1nes import Optimizer
from r1nes.arrays import Array

RECORDS = Path(__file__).parents[1] / "results" / "noise.json"
DIMENSIONS, FUNCTIONS, NOISES = (10, 32), ("sphere", "ellipsoid", "rosenbrock"), ("0.1", "1", "factor")
BUDGETS = (20_000, 100_000)
SOLVED = 1e-8

Values = Callable[[Array], Array]  # points in rows → values
Steps = Iterator[tuple[int, Array]]  # evaluations so far, and the mean


def function(name: str, d: int) -> Values:
    """Return the function without noise; its minimum is 0."""
    if name == "sphere":
        return lambda X: (X**2).sum(1)
    if name == "rosenbrock":
        return lambda X: (100 * (X[:, :-1] ** 2 - X[:, 1:]) ** 2 + (X[:, :-1] - 1) ** 2).sum(1)
    R = np.linalg.qr(np.random.default_rng(5).standard_normal((d, d)))[0]
    scales = 1e4 ** (np.arange(d) / (d - 1))
    return lambda X: (X @ R) ** 2 @ scales


def noisy(f: Values, noise: str, rng: np.random.Generator) -> Values:
    """Return ``f`` as it is measured."""
    if noise == "factor":
        return lambda X: f(X) * np.exp(0.3 * rng.standard_normal(len(X)))
    size = float(noise)
    return lambda X: f(X) + size * rng.standard_normal(len(X))


def ours(f: Values, x0: Array, seed: int, **settings: Any) -> Steps:
    """Run a method of this package."""
    optimizer = Optimizer(x0, 0.5, rng=seed, **settings)
    while True:
        X = optimizer.ask()
        optimizer.tell(X, f(X))
        yield optimizer.nfev, optimizer.mean


def pycma(f: Values, x0: Array, seed: int, *, handler: bool = False) -> Steps:
    """Run pycma, with its noise handler as its documentation shows it."""
    cma = import_module("cma")
    options: dict[str, Any] = {"seed": seed, "verbose": -9, "signals_filename": ""}
    es = cma.CMAEvolutionStrategy(x0, 0.5, options)
    handled = cma.NoiseHandler(es.N, maxevals=[1, 1, 30]) if handler else None
    nfev = 0

    def counted(x: Array) -> float:
        nonlocal nfev
        nfev += 1
        return float(f(np.asarray(x)[None])[0])

    while not es.stop():
        if handled is None:
            X = es.ask()
            es.tell(X, f(np.array(X)).tolist())
            nfev += len(X)
        else:
            X, values = es.ask_and_eval(counted, evaluations=handled.evaluations)
            es.tell(X, values)
            es.sigma *= handled(X, values, counted, es.ask)
        yield nfev, es.mean


def cmaes(f: Values, x0: Array, seed: int) -> Steps:
    """Run the package cmaes with learning-rate adaptation."""
    es = import_module("cmaes").CMA(mean=x0.copy(), sigma=0.5, seed=seed, lr_adapt=True)
    nfev = 0
    while True:
        X = [es.ask() for _ in range(es.population_size)]
        es.tell(list(zip(X, f(np.array(X)).tolist(), strict=True)))
        nfev += len(X)
        yield nfev, es.mean


METHODS: dict[str, Callable[[Values, Array, int], Steps]] = {
    "rknes": ours,
    "snes": lambda f, x0, seed: ours(f, x0, seed, method="snes"),
    "pycma": pycma,
    "pycma, handler": lambda f, x0, seed: pycma(f, x0, seed, handler=True),
    "cmaes, lr_adapt": cmaes,
}


def measure(method: str, d: int, name: str, noise: str, seed: int) -> list[float]:
    """Return the true value of the mean at each budget."""
    f, x0 = function(name, d), np.random.default_rng(seed).uniform(-1, 1, d)
    ends: list[float] = []
    value = float(f(x0[None])[0])
    try:
        for nfev, mean in METHODS[method](noisy(f, noise, np.random.default_rng([seed, 7])), x0, seed):
            while len(ends) < len(BUDGETS) and nfev > BUDGETS[len(ends)]:
                ends.append(value)  # of the last generation within the budget
            value = float(f(np.asarray(mean)[None])[0])
            if len(ends) == len(BUDGETS) or value <= SOLVED or not math.isfinite(value):
                break
    except (FloatingPointError, np.linalg.LinAlgError, ValueError, AssertionError) as error:
        print(f"{method}, {name}-{d}, noise {noise}, seed {seed}: {error!r}")
    return ends + [value] * (len(BUDGETS) - len(ends))


def table(records: dict[str, list[float]], seeds: range) -> None:
    """Print medians over the seeds, and how the default compares with the best of the others."""
    rows = list(product(DIMENSIONS, FUNCTIONS, NOISES, range(len(BUDGETS))))
    held = ahead = total = 0
    print(f"{'':32}" + "".join(f"{method:>17}" for method in METHODS))
    for d, name, noise, i in rows:
        medians = {}
        for method in METHODS:
            ends = [records.get(f"{method}|{d}|{name}|{noise}|{seed}") for seed in seeds]
            known = [max(SOLVED, end[i]) if end[i] < math.inf else math.inf for end in ends if end]
            medians[method] = (statistics.median(known), len(known)) if known else (math.nan, 0)
        listed = "".join(f"{median:12.2g} ({count:2})" for median, count in medians.values())
        best = min(median for method, (median, _) in medians.items() if method != "rknes")
        ratio = best / medians["rknes"][0]
        total, held, ahead = total + 1, held + (ratio >= 1), ahead + (ratio >= 5)
        print(f"d={d:<3} {name:10} {noise:6} {BUDGETS[i]:7,} {listed}  {ratio:8.3g}")
    print(f"rknes at least as good as the best other in {held} of {total}, 5 times better in {ahead}")


def main() -> None:
    """Run what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--methods", default=";".join(METHODS), help="names, separated by ;")
    parser.add_argument("--seeds", default="1-11")
    parser.add_argument("--records", type=Path, default=RECORDS)
    parser.add_argument("--table", action="store_true", help="only print what is recorded")
    options = parser.parse_args()
    first, last = map(int, options.seeds.split("-"))
    seeds = range(first, last + 1)
    names = options.methods.split(";")
    warnings.simplefilter("ignore")

    def read() -> dict[str, list[float]]:
        return json.loads(options.records.read_text(encoding="utf-8")) if options.records.exists() else {}

    if not options.table:
        for seed, method, d, name, noise in product(seeds, names, DIMENSIONS, FUNCTIONS, NOISES):
            key = f"{method}|{d}|{name}|{noise}|{seed}"
            if key not in read():
                ends = measure(method, d, name, noise, seed)
                records = dict(sorted((read() | {key: ends}).items()))
                options.records.write_text(json.dumps(records, indent=0) + "\n", encoding="utf-8")
    table(read(), seeds)


if __name__ == "__main__":
    main()
