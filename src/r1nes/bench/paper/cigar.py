"""The paper's figure "Behavior of R1-NES on the 32-dimensional cigar function"."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from r1nes.bench.functions import textbook
from r1nes.display.style import BLACK, BLUE, GREY, ORANGE, figure
from r1nes.minimize import minimize

DIM, SEEDS = 32, 11
POINTS = 400  # stored per curve: as many as a figure can show

Run = dict[str, Any]  # seed, evaluations, solved, c, and the curves by name


def measure() -> list[Run]:
    """Run R1-NES as published from uniform starts in [−4, 4]^d down to 1e-8; keep the first run's curves."""
    return [_run(seed, keep_curves=seed == 0) for seed in range(SEEDS)]


def _run(seed: int, *, keep_curves: bool) -> Run:
    x0 = np.random.default_rng(seed).uniform(-4, 4, DIM)
    result = minimize(textbook.cigar, x0, sigma0=1.0, method="r1nes", ftarget=1e-8, vectorized=True, rng=seed)
    run = {
        "seed": seed,
        "evaluations": result.nfev,
        "solved": result.success,
        "c": round(float(result.history["c"][-1]), 6),
    }
    if keep_curves:
        kept = np.unique(np.linspace(0, result.nit - 1, POINTS).astype(int))
        run["curves"] = {
            name: [float(f"{value:.6g}") for value in column[kept]] for name, column in result.history.items()
        }
    return run


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
