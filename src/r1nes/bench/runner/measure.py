"""Measure one run: turn a cell of the grid into a record.

The cell determines everything but the seconds: the instance is the trial, the start is the same for all
methods, and each method has its own seed. The start is uniform in [−4, 4]^d with σ₀ = 2, or 1 for textbook
functions; in the form of R1-NES's authors it is theirs, N(0, I) with σ₀ = 1.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from importlib.metadata import version

import numpy as np

from r1nes.arrays import Array
from r1nes.bench.functions import pybrain
from r1nes.bench.functions.problems import TEXTBOOK, problem
from r1nes.bench.runner.peers import PEERS
from r1nes.bench.runner.published import PUBLISHED, run_as_published
from r1nes.bench.runner.records import Record
from r1nes.bench.runner.watch import TARGET, Ended, Watched
from r1nes.minimize import minimize
from r1nes.restarts import MANY
from r1nes.strategies import R1NES, STRATEGIES, Method, RkNES
from r1nes.strategies.presets import PRESETS
from r1nes.strategies.rank_k.rates import LONGEST, SHORTEST


class ManyPoints(RkNES):
    """RkNES with ten points per variable and generation, as its restarts have them on plateaus."""

    @staticmethod
    def default_popsize(d: int) -> int:
        """Return the number of points."""
        return MANY * d


# This package's methods, R1-NES with each further preset ("r1nes-heuristic", "r1nes-matlab"), and RkNES with
# a full base in any dimension or with many points.
OWN: dict[str, Method] = {name: kind() for name, kind in STRATEGIES.items()} | {
    f"r1nes-{preset}": R1NES(preset=preset) for preset in PRESETS if preset != R1NES.preset
}
OWN |= {"rknes-full": RkNES(base="full"), "rknes-10d": ManyPoints()}
BENCH_METHODS = [*OWN, *PEERS]  # and those of other packages

# Steps only a few digits above the spacing of floating-point numbers in [−5, 5] can no longer improve the
# result, but the sharp ridge in 10⁴ variables still needs steps of 3e-13.
XTOL = 1e-14


@dataclass(frozen=True)
class Cell:
    """One run of the grid: a method on a function in d dimensions, its trial number and its budget."""

    method: str
    function: str
    dim: int
    trial: int  # from 1
    budget: int  # evaluations
    restarts: int = 0  # at most; their evaluations count; this package's methods only

    def __str__(self) -> str:
        """Return the description shown in messages."""
        return f"{self.method} on {self.function}, d = {self.dim}, trial {self.trial}"


def measure_cell(cell: Cell, *, as_published: bool = False) -> Record:
    """Run the cell; its ``evaluations`` stop counting at the one that reached the target.

    ``as_published`` runs R1-NES, SNES and xNES without this package's additions, and notes it in the record.
    """
    instance = 1 if cell.function in TEXTBOOK else cell.trial
    watched = Watched(problem(cell.function, dim=cell.dim, instance=instance), cell.budget)
    x0, sigma0 = _start(cell)
    seed = _seed(cell.method, cell.function, cell.dim, cell.trial)
    solve, packages = _solver(cell, as_published)

    began = time.process_time()
    try:
        stop = solve(watched, x0, sigma0, seed)
    except Ended as ended:
        stop = ended.stop
    seconds = time.process_time() - began
    return {
        **asdict(cell),
        "instance": instance,
        "seed": seed,
        "popsize": watched.popsize,
        "sigma0": sigma0,
        "target": TARGET,
        "evaluations": watched.trajectory[-1][0] if watched.solved else watched.evaluations,
        "precision": watched.best,
        "solved": watched.solved,
        **watched.notes,
        "stop": {reason: float(value) for reason, value in stop.items()},
        "seconds": round(seconds, 6),
        "objective_seconds": round(watched.seconds, 6),
        "trajectory": watched.trajectory,
        "versions": {package: version(package) for package in packages},
    }


def _start(cell: Cell) -> tuple[Array, float]:
    """Return x₀ and σ₀."""
    rng = np.random.default_rng(_seed("start", cell.function, cell.dim, cell.trial))
    if cell.function in pybrain.FUNCTIONS:
        return rng.standard_normal(cell.dim), 1.0
    return rng.uniform(-4, 4, cell.dim), 1.0 if cell.function in TEXTBOOK else 2.0


Solve = Callable[[Watched, Array, float, int], dict[str, float]]


def _solver(cell: Cell, as_published: bool) -> tuple[Solve, list[str]]:
    """Return a function that runs the method, its imports done, and the packages its result depends on."""
    if as_published and isinstance(method := OWN.get(cell.method), PUBLISHED) and not cell.restarts:
        return partial(run_as_published, method, XTOL), ["r1nes", "numpy"]
    if cell.method in OWN:
        return partial(_minimize, OWN[cell.method], cell.restarts), ["r1nes", "numpy"]
    if cell.method in PEERS:
        peer = PEERS[cell.method]
        return partial(peer.run, peer.load()), ["r1nes", "numpy", peer.package]
    raise ValueError(f"method must be one of {', '.join(BENCH_METHODS)}; got {cell.method!r}")


def _minimize(
    method: Method, restarts: int, f: Watched, x0: Array, sigma0: float, seed: int
) -> dict[str, float]:
    """Run one of this package's methods until it reaches the target or the budget, or converges."""
    f.popsize = method.default_popsize(x0.size)
    result = minimize(
        f,
        x0,
        sigma0=sigma0,
        method=method,
        ftarget=TARGET,
        max_evals=f.budget,
        ftol=1e-12 if restarts else 0,  # with restarts, a run need not converge to the last bit
        xtol=XTOL,
        restarts=restarts,
        vectorized=True,
        rng=seed,
    )
    f.notes = {"restarted": result.restarts, "at_limit": _at_limit(result.history)}
    stop: dict[str, float] = result.stop
    return stop


def _at_limit(history: dict[str, Array]) -> float:
    """Return the share of generations in which some direction of RkNES is at its length limit."""
    stretches = [column for name, column in history.items() if name.startswith("c") and name[1:].isdigit()]
    if not stretches:
        return 0.0
    extreme = (np.array(stretches) <= SHORTEST) | (np.array(stretches) >= LONGEST)
    return float(extreme.any(axis=0).mean())


def _seed(*parts: str | int) -> int:
    """Return a 32-bit seed that depends on ``parts`` only, not on machine or process."""
    return int.from_bytes(sha256(repr(parts).encode()).digest()[:4], "little")
