"""One run, measured: a cell of the grid goes in, its record comes out.

Everything but the seconds follows from the cell: the instance is the trial, the start is uniform in
[−4, 4]^d and the same for all methods, and each method has a seed of its own.
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
from r1nes.bench.functions.problems import TEXTBOOK, problem
from r1nes.bench.runner.peers import PEERS
from r1nes.bench.runner.records import Record
from r1nes.bench.runner.watch import TARGET, Ended, Watched
from r1nes.minimize import minimize
from r1nes.strategies import STRATEGIES
from r1nes.strategies.rank_k.matrices import LONGEST, SHORTEST

BENCH_METHODS = [*STRATEGIES, *PEERS]

# Steps a few digits above the spacing of floating-point numbers in [−5, 5] can no longer help, while the
# sharp ridge in 10⁴ variables is still worth searching with steps of 3e-13.
XTOL = 1e-14


@dataclass(frozen=True)
class Cell:
    """What to run: a method on a function in d dimensions, for the n-th time, within a budget."""

    method: str
    function: str
    dim: int
    trial: int  # from 1
    budget: int  # evaluations
    restarts: int = 0  # the most there may be, their evaluations counted; for our own methods only

    def __str__(self) -> str:
        """As it is named to the user."""
        return f"{self.method} on {self.function}, d = {self.dim}, trial {self.trial}"


def measure_cell(cell: Cell) -> Record:
    """Run the cell. ``evaluations`` count up to the one that reached the target, else all."""
    textbook = cell.function in TEXTBOOK
    instance = 1 if textbook else cell.trial
    watched = Watched(problem(cell.function, dim=cell.dim, instance=instance), cell.budget)
    start = np.random.default_rng(_seed("start", cell.function, cell.dim, cell.trial))
    x0 = start.uniform(-4, 4, cell.dim)
    sigma0 = 1.0 if textbook else 2.0
    seed = _seed(cell.method, cell.function, cell.dim, cell.trial)
    solve, packages = _solver(cell)

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


Solve = Callable[[Watched, Array, float, int], dict[str, float]]


def _solver(cell: Cell) -> tuple[Solve, list[str]]:
    """How to run a method, with all that it needs imported, and the packages its result depends on."""
    if cell.method in STRATEGIES:
        return partial(_minimize, cell.method, cell.restarts), ["r1nes", "numpy"]
    if cell.method in PEERS:
        peer = PEERS[cell.method]
        return partial(peer.run, peer.load()), ["r1nes", "numpy", peer.package]
    raise ValueError(f"method must be one of {', '.join(BENCH_METHODS)}; got {cell.method!r}")


def _minimize(
    method: str, restarts: int, f: Watched, x0: Array, sigma0: float, seed: int
) -> dict[str, float]:
    """One of our own: it stops at the target, at the budget, or where it truly has converged."""
    f.popsize = STRATEGIES[method].default_popsize(x0.size)
    result = minimize(
        f,
        x0,
        sigma0=sigma0,
        method=method,
        ftarget=TARGET,
        max_evals=f.budget,
        ftol=1e-12 if restarts else 0,  # what will be started again need not converge to the last bit
        xtol=XTOL,
        restarts=restarts,
        vectorized=True,
        rng=seed,
    )
    f.notes = {"restarted": result.restarts, "at_limit": _at_limit(result.history)}
    stop: dict[str, float] = result.stop
    return stop


def _at_limit(history: dict[str, Array]) -> float:
    """The share of generations in which a direction of RkNES is as long or as short as it may be."""
    stretches = [column for name, column in history.items() if name.startswith("c") and name[1:].isdigit()]
    if not stretches:
        return 0.0
    extreme = (np.array(stretches) <= SHORTEST) | (np.array(stretches) >= LONGEST)
    return float(extreme.any(axis=0).mean())


def _seed(*parts: str | int) -> int:
    """The same 32 bits for the same parts, on every machine and in every process."""
    return int.from_bytes(sha256(repr(parts).encode()).digest()[:4], "little")
