"""Compare restarts with pycma's BIPOP on functions with plateaus or many minima.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/multimodal.py [first trial]

Prints how many of 11 instances each solves to 1e-8 within 10⁵ evaluations, and the median evaluations of all
runs, where one that failed counts as infinite. Both start at the same points with σ = 2. The step ellipsoid
is ours, because ioh's is flat around its minimum. Requires ioh and cma; takes about ten minutes. The
settings of r1nes were chosen on trials 31 to 52.
"""

from __future__ import annotations

import io
import math
import sys
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from importlib import import_module
from typing import Any

import ioh
import numpy as np

from r1nes import minimize
from r1nes.arrays import Array
from r1nes.bench.functions.problems import problem

FUNCTIONS = {
    7: ("Step ellipsoid", (20, 40)),
    15: ("Rastrigin", (5, 10)),
    17: ("Schaffers F7", (5, 10)),
    19: ("Griewank-Rosenbrock", (5, 10)),
    21: ("Gallagher, 101 peaks", (5, 10)),
}
TARGET, BUDGET, TRIALS = 1e-8, 100_000, 11

Precision = Callable[[Array], Array]  # points in rows → f − fopt


def precision(number: int, trial: int, d: int) -> Precision:
    """Return the function, above its minimum."""
    if number == 7:
        return problem("f7", d, trial).formula
    f = ioh.get_problem(number, trial, d, problem_class=ioh.ProblemClass.BBOB)
    return lambda X: np.asarray(f(X)) - f.optimum.y


def ours(f: Precision, x0: Array, seed: int, restarts: int | str) -> tuple[float, float]:
    """Return the best value and the evaluations of our default with restarts."""
    result = minimize(
        f, x0, sigma0=2.0, ftarget=TARGET, max_evals=BUDGET, restarts=restarts,
        vectorized=True, compiled=False, rng=seed,
    )  # fmt: skip
    return result.fun, result.nfev


def pycma(f: Precision, x0: Array, seed: int) -> tuple[float, float]:
    """Return the best value and the evaluations of pycma's BIPOP-CMA-ES."""
    options: dict[str, Any] = {"ftarget": TARGET, "maxfevals": BUDGET, "seed": seed, "signals_filename": ""}
    options |= {"verbose": -9, "verb_log": 0}
    best, evaluations = math.inf, 0

    def watched(x: Array) -> float:
        nonlocal best, evaluations
        value = float(f(np.asarray(x)[None])[0])
        best, evaluations = min(best, value), evaluations + 1
        return value

    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import_module("cma").fmin2(watched, x0, 2.0, options, restarts=9, bipop=True)
    return best, evaluations


def main(first: int) -> None:
    """Print the table for the trials from ``first``."""
    solvers: dict[str, Callable[[Precision, Array, int], tuple[float, float]]] = {
        "restarts=9": partial(ours, restarts=9),
        'restarts="ipop:9"': partial(ours, restarts="ipop:9"),
        "pycma, BIPOP": pycma,
    }
    print(f"Solved of {TRIALS}, median evaluations" + "".join(f"{name:>22}" for name in solvers))
    for number, (name, dims) in FUNCTIONS.items():
        for d in dims:
            print(f"f{number} {name:22} d = {d:2}", end="", flush=True)
            for solve in solvers.values():
                needed = []
                for trial in range(first, first + TRIALS):
                    x0 = np.random.default_rng([number, d, trial]).uniform(-4, 4, d)
                    best, evaluations = solve(precision(number, trial, d), x0, trial)
                    needed.append(evaluations if best <= TARGET else math.inf)
                print(f"{np.isfinite(needed).sum():>14}  {np.median(needed):6.2g}", end="", flush=True)
            print()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
