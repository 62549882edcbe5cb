"""A method's own cost per evaluation: the time of ask and tell, without the objective."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Self

import numpy as np
from scipy.linalg import expm

from r1nes.arrays import Array
from r1nes.bench.analysis.statistics import growth_exponent
from r1nes.display.style import BLACK, BLUE, GREY, ORANGE, figure
from r1nes.optimizer import Optimizer
from r1nes.strategies import STRATEGIES
from r1nes.strategies.full import FullGaussian

Timing = dict[str, float | str]  # method, dim, microseconds

DIMS = [2**k for k in range(1, 10)]  # the paper's
FURTHER = [1024, 2048, 4096, 8192]  # where the part linear in d dominates
POPSIZE = 102  # of R1-NES at d = 512; with d/5 samples, larger d would measure the caches
SLICE = 0.02  # seconds per repeat


@dataclass(slots=True, eq=False)
class DenseGaussian(FullGaussian):
    """xNES with the matrix exponential computed as published, O(d³) per generation."""

    def update(self, noise: Array, utilities: Array) -> Self:
        """Return the same step as ``FullGaussian.update``."""
        d, w, s, B = self.mean.size, utilities, noise, self.shape
        grad_M = (s.T * w) @ s - w.sum() * np.eye(d)
        grad_sigma = float(np.trace(grad_M)) / d
        shape = B @ expm(0.5 * self.rate_shape * (grad_M - grad_sigma * np.eye(d)))
        return replace(
            self,
            mean=self.mean + self.rate_mean * self.sigma * (B @ (w @ s)),
            sigma=self.sigma * math.exp(0.5 * self.rate_sigma * grad_sigma),
            shape=shape,
            power=float(np.vdot(shape, shape)),
        )


def popsize_of(method: str, dim: int) -> int:
    """Return the samples per generation; the dense xNES has those of xNES."""
    return min(POPSIZE, STRATEGIES[method.split(",")[0]]().default_popsize(dim))


def _ours(method: str, dim: int) -> Optimizer:
    return Optimizer(np.ones(dim), 1.0, method=method, popsize=popsize_of(method, dim), rng=1)


def dense(strategy: FullGaussian) -> DenseGaussian:
    """Return a ``DenseGaussian`` in the same state."""
    return DenseGaussian(*(getattr(strategy, field.name) for field in fields(FullGaussian)))


def _dense(dim: int) -> Optimizer:
    optimizer = _ours("xnes", dim)
    assert isinstance(optimizer.strategy, FullGaussian)
    optimizer.strategy = dense(optimizer.strategy)
    return optimizer


TIMED_METHODS: dict[str, tuple[Callable[[int], Optimizer], Sequence[int]]] = {
    "r1nes": (lambda dim: _ours("r1nes", dim), [*DIMS, *FURTHER]),
    "snes": (lambda dim: _ours("snes", dim), [*DIMS, *FURTHER]),
    "xnes": (lambda dim: _ours("xnes", dim), DIMS),
    "xnes, dense exponential": (_dense, DIMS),
    "rknes": (lambda dim: _ours("rknes", dim), [*DIMS, *FURTHER]),
}


def measure(repeats: int = 5) -> list[Timing]:
    """Return the best of several repeats for each method and dimension; methods take turns."""
    cells = [(method, dim) for method, (_, dims) in TIMED_METHODS.items() for dim in dims]
    best = dict.fromkeys(cells, math.inf)
    for _ in range(repeats):
        for method, dim in cells:
            best[method, dim] = min(best[method, dim], _seconds(TIMED_METHODS[method][0](dim)))
    return [
        {"method": method, "dim": dim, "microseconds": round(1e6 * seconds, 3)}
        for (method, dim), seconds in best.items()
    ]


def _seconds(optimizer: Optimizer) -> float:
    """Return CPU seconds per evaluation over ``SLICE`` seconds, without the first generation."""
    spent, counted = 0.0, 0
    while spent < SLICE or counted == 0:
        began = time.process_time()
        X = optimizer.ask()
        asked = time.process_time()
        values = (X * X).sum(axis=1)
        evaluated = time.process_time()
        optimizer.tell(X, values)
        optimizer.stop()
        told = time.process_time()
        if optimizer.generation > 1:
            spent += (asked - began) + (told - evaluated)
            counted += len(X)
    return spent / counted


def draw(timings: list[Timing], path: Path) -> None:
    """Draw microseconds over d on log scales, with reference slopes 1 and 3."""
    looks = [(BLUE, "-", "o"), (GREY, ":", "D"), (BLACK, "-.", "^"), (BLACK, "--", "s"), (ORANGE, "-", "v")]
    with figure(path, 1, width=5.2, height=3.8) as (panel,):
        for method, (color, style, marker) in zip(TIMED_METHODS, looks, strict=True):
            points = [(t["dim"], t["microseconds"]) for t in timings if t["method"] == method]
            if not points:
                continue
            dims, costs = zip(*points, strict=True)
            panel.plot(dims, costs, color=color, ls=style, marker=marker, ms=4, label=method)
        for slope, at, cost in ((1, np.array([1024, 8192]), 3.5), (3, np.array([128, 512]), 160.0)):
            panel.plot(at, cost * (at / at[0]) ** slope, color=BLACK, lw=0.6)
            panel.annotate(
                f"d{'³' if slope == 3 else ''}",
                (at[1], cost * (at[1] / at[0]) ** slope),
                xytext=(4, -4),
                textcoords="offset points",
                fontsize=8,
            )
        panel.set(xscale="log", yscale="log", xlabel="dimension d", ylabel="µs per evaluation")
        panel.set_xticks([*DIMS, *FURTHER], [str(dim) for dim in [*DIMS, *FURTHER]], fontsize=7)
        panel.set_xticks([], minor=True)
        panel.legend(loc="upper left")


def exponent(timings: list[Timing], method: str, least: int, last: float = math.inf) -> float:
    """Return the slope of log time per generation over log d, fitted for ``least`` ≤ d ≤ ``last``.

    Per generation, because populations grow with d; NaN with fewer than two dimensions.
    """
    chosen = [t for t in timings if t["method"] == method and least <= int(t["dim"]) <= last]
    dims = [int(t["dim"]) for t in chosen]
    costs = [float(t["microseconds"]) * popsize_of(method, int(t["dim"])) for t in chosen]
    return growth_exponent(dims, costs) if len(dims) > 1 else math.nan
