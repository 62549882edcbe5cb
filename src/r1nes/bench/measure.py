"""One run, measured: a cell of the grid goes in, its record comes out.

Everything but the seconds follows from the cell: the instance is the trial, the start is uniform in
[−4, 4]^d and the same for all methods, and each method has a seed of its own.
"""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib.metadata import version

import numpy as np

from r1nes import __version__
from r1nes.arrays import Array
from r1nes.bench.problems import TEXTBOOK, Objective, problem
from r1nes.bench.records import Record
from r1nes.minimize import minimize
from r1nes.strategies import STRATEGIES

TARGET = 1e-8  # above the optimum
PRECISIONS = [float(f"{10 ** (k / 2):.3g}") for k in range(4, -17, -1)]  # 100, 31.6, 10 … 1e-8

# Points a few digits above the spacing of floating-point numbers in [−5, 5] no longer differ in any way that
# could help, while the sharp ridge in 10⁴ variables is still worth searching with steps of 3e-13.
XTOL = 1e-14


@dataclass(frozen=True, order=True)
class Cell:
    """What to run: a method on a function in d dimensions, for the n-th time, within a budget."""

    method: str
    function: str
    dim: int
    trial: int  # from 1
    budget: int  # evaluations

    def __str__(self) -> str:
        """As it is named to the user."""
        return f"{self.method} on {self.function}, d = {self.dim}, trial {self.trial}"


class Ended(Exception):  # noqa: N818 - the ordinary end of a run, no error
    """Raised through a method that would go on although its run is over."""

    def __init__(self, stop: dict[str, float]) -> None:
        """Why, as {reason: value}."""
        self.stop = stop


class Watched:
    """f − fopt, with every evaluation counted; it ends the run of a method that does not end it itself.

    A generation that would exceed the budget is not evaluated, nor is anything after the target.
    """

    def __init__(self, function: Objective, budget: int, target: float = TARGET) -> None:
        """Nothing evaluated yet."""
        self.function, self.budget, self.target = function, budget, target
        self.evaluations = 0
        self.best = math.inf
        self.seconds = 0.0  # of the processor, inside
        self.trajectory: list[list[float]] = []  # [evaluations, precision reached]
        self.popsize: int | None = None  # what the method uses, if it says so

    @property
    def solved(self) -> bool:
        """Whether the target was reached."""
        return self.best <= self.target

    def __call__(self, points: Array) -> Array:
        """The values of points in rows, (n, d)."""
        began = time.process_time()
        if self.solved:
            raise Ended({"ftarget": self.best})
        if self.evaluations + len(points) > self.budget:
            raise Ended({"max_evals": self.evaluations})
        values = np.asarray(self.function(points)) - self.function.fopt
        self._note(values)
        self.evaluations += len(points)
        self.seconds += time.process_time() - began
        return values

    def value(self, point: Array) -> float:
        """The value of one point, (d,)."""
        return float(self(point[None])[0])

    def _note(self, values: Array) -> None:
        self.best = min(self.best, float(values.min()))
        for precision in PRECISIONS[len(self.trajectory) :]:
            if precision < self.best:
                break
            first = int(np.argmax(values <= precision))  # within the generation
            self.trajectory.append([self.evaluations + first + 1, precision])


def measure(cell: Cell) -> Record:
    """Run the cell. ``evaluations`` count up to the one that reached the target, else all."""
    instance = 1 if cell.function in TEXTBOOK else cell.trial
    function = problem(cell.function, dim=cell.dim, instance=instance)
    watched = Watched(function, cell.budget)
    start = _seed("start", cell.function, cell.dim, cell.trial)
    x0 = np.random.default_rng(start).uniform(-4, 4, cell.dim)
    sigma0 = 1.0 if cell.function in TEXTBOOK else 2.0
    seed = _seed(cell.method, cell.function, cell.dim, cell.trial)

    began = time.process_time()
    try:
        stop = _minimize(watched, cell.method, x0, sigma0, seed)
    except Ended as ended:
        stop = ended.stop
    seconds = time.process_time() - began
    return {
        **asdict(cell),
        "instance": instance,
        "seed": seed,
        "popsize": watched.popsize,
        "sigma0": sigma0,
        "target": watched.target,
        "evaluations": watched.trajectory[-1][0] if watched.solved else watched.evaluations,
        "precision": watched.best,
        "solved": watched.solved,
        "stop": stop,
        "seconds": round(seconds, 6),
        "objective_seconds": round(watched.seconds, 6),
        "trajectory": watched.trajectory,
        "versions": {"r1nes": __version__, "numpy": version("numpy")},
    }


def _minimize(watched: Watched, method: str, x0: Array, sigma0: float, seed: int) -> dict[str, float]:
    """One of our own methods: it stops at the target, at the budget, or where it truly has converged."""
    watched.popsize = STRATEGIES[method].default_popsize(x0.size)
    result = minimize(
        watched,
        x0,
        sigma0=sigma0,
        method=method,
        ftarget=watched.target,
        max_evals=watched.budget,
        ftol=0,
        xtol=XTOL,
        vectorized=True,
        rng=seed,
    )
    return {reason: float(value) for reason, value in result.stop.items()}


def _seed(*parts: str | int) -> int:
    """The same 32 bits for the same parts, on every machine and in every process."""
    return int.from_bytes(sha256(repr(parts).encode()).digest()[:4], "little")
