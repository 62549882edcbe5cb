"""Time whole runs with default settings, each in a process of its own: ours and those of other packages.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/whole_runs.py [--out results/whole_runs.json]

The objective is a sphere whose centre moves by 0.01 and whose minimum falls by 1 in each generation, so that
no run ends before its budget of 10,000 or 100,000 evaluations; ``noise=False`` because asking again would
take that for noise. The objective takes a whole generation, where the package can pass one. Reported are
microseconds per evaluation, the objective included: of the run without imports, and in brackets of the
process from the first import on. Packages alternate, and the best of several repeats counts. Machine code of
numba is compiled before, and then loaded from its cache.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

DIMS, BUDGETS = (8, 64, 512), (10_000, 100_000)
OURS = ("rknes", "rknes without numba", "rknes diagonal")
NAMES = (*OURS, "cma", "cmaes SepCMA", "crfmnes", "pypop7 RMES")
SLOW = {("cma", 512)}  # takes a quarter of an hour


class BudgetError(Exception):
    """The budget is spent."""


def run(name: str, d: int, budget: int) -> dict[str, float]:
    """Run one package in this process; return the seconds of the run and of the process."""
    began = time.perf_counter()
    import numpy as np

    calls = 0

    def all_at_once(X: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        moved = X - 0.01 * calls
        return np.einsum("ij,ij->i", moved, moved) - calls

    if name in OURS:
        import r1nes

        settings: dict[str, dict[str, Any]] = {
            "rknes": {"noise": False},
            "rknes without numba": {"compiled": False, "noise": False},
            "rknes diagonal": {"base": "diagonal", "noise": False},
        }
        if name != "rknes without numba":
            import numba  # noqa: F401 - a run imports it when it needs it
        started = time.perf_counter()
        result = r1nes.minimize(
            all_at_once, np.zeros(d), 1.0, max_evals=budget, vectorized=True, rng=1, **settings[name]
        )
        assert result.nfev > 0.99 * budget, result.message
    else:
        import contenders  # the loops that drive other packages, one point at a time

        class Moving:
            """The same objective for single points."""

            evaluations, per_generation = 0, 2 * round((4 + 3 * np.log(d)) / 2)

            def one(self, x: np.ndarray) -> float:
                self.evaluations += 1
                if self.evaluations > budget:
                    raise BudgetError
                generation = self.evaluations // self.per_generation
                moved = x.ravel() - 0.01 * generation
                return float(moved @ moved) - generation

            def all(self, X: np.ndarray) -> np.ndarray:
                return np.array([self.one(x) for x in X])

        objective = Moving()
        drive = contenders.PEERS[name]
        _import(name)
        started = time.perf_counter()
        with suppress(BudgetError):
            contenders.quiet(drive, objective, d, objective.per_generation)
    ended = time.perf_counter()
    return {"run": ended - started, "process": ended - began}


def _import(name: str) -> None:
    """Import the package that ``name`` belongs to."""
    from importlib import import_module

    modules = {
        "cma": "cma",
        "cmaes SepCMA": "cmaes",
        "crfmnes": "crfmnes",
        "pypop7 RMES": "pypop7.optimizers.es.rmes",
    }
    import_module(modules[name])


def main() -> None:  # noqa: C901
    """Measure all runs in turn and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--one", nargs=3, metavar=("NAME", "D", "EVALS"), help="run one package in this process"
    )
    parser.add_argument("--names", default=",".join(NAMES))
    parser.add_argument("--dims", default=",".join(map(str, DIMS)))
    parser.add_argument("--budgets", default=",".join(map(str, BUDGETS)))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.one:
        name, d, budget = options.one
        print(json.dumps(run(name, int(d), int(budget))))
        return
    names, dims = options.names.split(","), [int(d) for d in options.dims.split(",")]
    budgets = [int(budget) for budget in options.budgets.split(",")]
    best: dict[str, dict[str, float]] = {}
    for repeat in range(options.repeats + 1):  # the first one compiles
        for d in dims:
            for budget in budgets:
                for name in names:
                    if (repeat == 0 and name not in OURS) or (name, d) in SLOW:
                        continue
                    command = [sys.executable, __file__, "--one", name, str(d), str(budget)]
                    done = subprocess.run(
                        command, capture_output=True, text=True, check=True, encoding="utf-8"
                    )
                    seconds = json.loads(done.stdout.splitlines()[-1])
                    if repeat:
                        key = f"{name}, d = {d}, {budget}"
                        before = best.get(key, seconds)
                        best[key] = {part: min(before[part], seconds[part]) for part in seconds}
    for budget in budgets:
        print(f"\n{budget:,} evaluations, µs each of the run (of the process)")
        print("| |" + "".join(f" d = {d} |" for d in dims) + "\n|---|" + "---|" * len(dims))
        for name in names:
            cells = [best.get(f"{name}, d = {d}, {budget}") for d in dims]
            texts = [
                f"{1e6 * c['run'] / budget:.3g} ({1e6 * c['process'] / budget:.3g})" if c else ""
                for c in cells
            ]
            print(f"| {name} | " + " | ".join(texts) + " |")
    if options.out:
        options.out.write_text(json.dumps(best, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
