"""Compare RkNES with pycma on rotated quadratics with random spectra.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/quadratics.py [--dims 16,32] [--problems 5]

f(x) = Σ λ_i (Qx)_i² with a random rotation Q and a condition number between 10² and 10⁶. Kinds of spectra:

    long     2 to d/5 axes with small λ, the others 1
    short    2 to d/5 axes with large λ, the others 1
    half     one half of the axes 1, the other half the condition number
    uniform  logarithms of λ uniform between both

Both start at the same point, uniform in [−4, 4]^d, with σ₀ = 2 and default settings, and run to 1e-8. Printed
are evaluations, and the median ratio of each kind and dimension.
"""

from __future__ import annotations

import argparse
import statistics
from importlib import import_module

import numpy as np

import r1nes
from r1nes.arrays import Array

KINDS = ("long", "short", "half", "uniform")


def spectrum(kind: str, d: int, rng: np.random.Generator) -> Array:
    """Return the eigenvalues λ."""
    condition, few = 10 ** rng.uniform(2, 6), int(rng.integers(2, max(3, d // 5 + 1)))
    values = np.ones(d)
    if kind == "long":
        values[:few] = condition ** -rng.uniform(0.7, 1, few)
    elif kind == "short":
        values[:few] = condition ** rng.uniform(0.7, 1, few)
    elif kind == "half":
        values[: d // 2] = condition
    else:
        values = condition ** rng.uniform(0, 1, d)
    return values


def compare(kind: str, d: int, seed: int) -> tuple[float, float]:
    """Return the evaluations of both on one problem; infinite if it was not solved."""
    rng = np.random.default_rng([KINDS.index(kind), d, seed])
    values, Q = spectrum(kind, d, rng), np.linalg.qr(rng.standard_normal((d, d)))[0]
    x0, budget = rng.uniform(-4, 4, d), 3_000 * d

    def f(X: Array) -> Array:
        return (X @ Q.T) ** 2 @ values

    ours = r1nes.minimize(
        f, x0, 2.0, ftarget=1e-8, max_evals=budget, vectorized=True, rng=seed, ftol=0, xtol=0
    )
    options = {"ftarget": 1e-8, "maxfevals": budget, "seed": seed, "verbose": -9, "tolfun": 0, "tolx": 0}
    es = import_module("cma").CMAEvolutionStrategy(
        x0, 2.0, options | {"tolfunhist": 0, "signals_filename": ""}
    )
    while not es.stop():
        X = es.ask()
        es.tell(X, f(np.array(X)).tolist())
    theirs = es.result.evaluations if es.result.fbest <= 1e-8 else np.inf
    return (ours.nfev if ours.success else np.inf), theirs


def main() -> None:
    """Print all comparisons."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dims", default="16,32,64,100")
    parser.add_argument("--problems", type=int, default=5)
    options = parser.parse_args()
    for kind in KINDS:
        every = []
        for d in map(int, options.dims.split(",")):
            pairs = [compare(kind, d, seed) for seed in range(1, options.problems + 1)]
            ratios = [ours / theirs for ours, theirs in pairs]
            every += ratios
            listed = ", ".join(f"{ours:.0f}/{theirs:.0f}" for ours, theirs in pairs)
            print(
                f"{kind:8} d = {d:3}: {statistics.median(ratios):.2f} of pycma's evaluations ({listed})",
                flush=True,
            )
        print(f"{kind:8} all:     {statistics.median(every):.2f}, worst {max(every):.2f}", flush=True)


if __name__ == "__main__":
    main()
