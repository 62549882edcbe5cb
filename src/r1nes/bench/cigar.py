"""The paper's figure "Behavior of R1-NES on the 32-dimensional cigar function"."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from scipy.optimize import OptimizeResult

from r1nes.bench import textbook
from r1nes.bench.style import BLACK, BLUE, GREY, ORANGE, figure
from r1nes.minimize import minimize

DIM, SEED = 32, 1


def run() -> OptimizeResult:
    """R1-NES as published, from a uniform start in [−4, 4]^d, down to 1e-8."""
    x0 = np.random.default_rng(SEED).uniform(-4, 4, DIM)
    return minimize(textbook.cigar, x0, sigma0=1.0, method="r1nes", ftarget=1e-8, vectorized=True, rng=SEED)


def draw(result: OptimizeResult, path: Path) -> None:
    """Left, the fitness; right, λ and c with the line log 1000 that c should settle at."""
    history = result.history
    nfev = history["nfev"]
    with figure(path, 2, width=4.0) as (left, right):
        left.fill_between(
            nfev, history["min"], history["max"], color=GREY, lw=0, label="population, min to max"
        )
        left.plot(nfev, history["best"], color=BLACK, label="best so far")
        left.set(yscale="log", xlabel="evaluations", ylabel="f(x)", xlim=(0, None))
        left.set_title(f"Fitness: 1e-8 after {result.nfev:,} evaluations")
        left.legend(loc="lower left")

        right.axhline(math.log(1000), color=BLACK, lw=0.8)
        right.annotate("log 1000", (0, math.log(1000)), xytext=(2, 3), textcoords="offset points")
        right.plot(nfev, history["c"], color=ORANGE, label="c = log ‖u‖")
        right.plot(nfev, history["lambda"], color=BLUE, ls="--", label="λ = log σ")
        right.set(xlabel="evaluations", title="Parameters of the distribution", xlim=(0, None))
        right.legend(loc="lower left")
