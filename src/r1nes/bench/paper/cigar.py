"""The paper's figure "Behavior of R1-NES on the 32-dimensional cigar function"."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from r1nes.arrays import Array
from r1nes.bench.functions import textbook
from r1nes.bench.runner.measure import OWN
from r1nes.display.style import BLACK, BLUE, GREY, ORANGE, figure
from r1nes.minimize import minimize
from r1nes.optimizer import Optimizer

DIM, SEEDS = 32, 11
POINTS = 400  # stored per curve: as many as a figure can show
SHOWN = "r1nes"  # the method in the figure

Run = dict[str, Any]  # method, seed, evaluations, solved, c, and the curves by name


def measure() -> list[Run]:
    """Run from uniform starts in [−4, 4]^d down to 1e-8; keep the curves of the first run of ``SHOWN``."""
    published = [_run(method, seed) for method in (SHOWN, "r1nes-heuristic") for seed in range(SEEDS)]
    return published + [_run_default(seed) for seed in range(SEEDS)]


def runs_of(runs: list[Run], method: str) -> list[Run]:
    """Return the runs of one method."""
    return [run for run in runs if run.get("method", SHOWN) == method]


def _start(seed: int) -> Array:
    return np.random.default_rng(seed).uniform(-4, 4, DIM)


def _run(method: str, seed: int) -> Run:
    """Run R1-NES; its c is log ‖u‖."""
    result = minimize(
        textbook.cigar,
        _start(seed),
        sigma0=1.0,
        method=OWN[method],
        ftarget=1e-8,
        vectorized=True,
        rng=seed,
    )
    run = _entry(method, seed, result.nfev, result.success, float(result.history["c"][-1]))
    if method == SHOWN and seed == 0:
        kept = np.unique(np.linspace(0, result.nit - 1, POINTS).astype(int))
        run["curves"] = {
            name: [float(f"{value:.6g}") for value in column[kept]] for name, column in result.history.items()
        }
    return run


def _run_default(seed: int) -> Run:
    """Run RkNES; its c is the logarithm of its longest axis relative to the others."""
    optimizer = Optimizer(_start(seed), 1.0, method=OWN["rknes"], ftarget=1e-8, rng=seed)
    while not optimizer.stop():
        X = optimizer.ask()
        optimizer.tell(X, textbook.cigar(X))
    axes = np.linalg.eigvalsh(optimizer.strategy.cov())
    c = 0.5 * math.log(axes[-1] / float(np.median(axes)))
    return _entry("rknes", seed, optimizer.nfev, bool(optimizer.result.success), c)


def _entry(method: str, seed: int, evaluations: int, solved: bool, c: float) -> Run:
    return {
        "method": method,
        "seed": seed,
        "evaluations": evaluations,
        "solved": solved,
        "c": round(c, 6),
    }


def draw(runs: list[Run], path: Path) -> None:
    """Draw the fitness on the left, and λ and c with c's expected limit log 1000 on the right."""
    run = next(run for run in runs if "curves" in run)
    curves = run["curves"]
    nfev = curves["nfev"]
    with figure(path, 2, width=4.0) as (left, right):
        left.fill_between(
            nfev, curves["min"], curves["max"], color=GREY, lw=0, label="population, min to max"
        )
        left.plot(nfev, curves["best"], color=BLACK, label="best so far")
        left.set(yscale="log", xlabel="evaluations", ylabel="f(x)", xlim=(0, None))
        left.set_title(f"Fitness: 1e-8 after {run['evaluations']:,} evaluations")
        left.legend(loc="lower left")

        right.axhline(math.log(1000), color=BLACK, lw=0.8)
        right.annotate("log 1000", (0, math.log(1000)), xytext=(2, 3), textcoords="offset points")
        right.plot(nfev, curves["c"], color=ORANGE, label="c = log ‖u‖")
        right.plot(nfev, curves["lambda"], color=BLUE, ls="--", label="λ = log σ")
        right.set(xlabel="evaluations", title="Parameters of the distribution", xlim=(0, None))
        right.legend(loc="lower left")
