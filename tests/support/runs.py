"""Runs that tests start in other processes, and a bitwise comparison of results."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import r1nes
from r1nes.arrays import Array
from r1nes.parallel import replicas as distributed
from support.functions import rastrigin, rosenbrock


def same(first: Any, second: Any) -> None:
    """Assert that two results agree bit for bit: point, value, counts, reasons to stop, history."""
    assert first.keys() == second.keys()
    assert first.x.tobytes() == second.x.tobytes()
    for name in ("fun", "nfev", "nit", "restarts", "nan_count", "stop", "status", "success", "message"):
        assert first[name] == second[name], name
    assert first.history.keys() == second.history.keys()
    for name, column in first.history.items():
        assert column.tobytes() == second.history[name].tobytes(), name


def rastrigin_slowly(X: Array) -> Array:
    time.sleep(2e-3)
    return rastrigin(X)


restarted = partial(
    r1nes.minimize,
    x0=np.full(6, 2.2),
    sigma0=0.4,
    method="snes",
    restarts="bipop:3",
    vectorized=True,
    max_evals=60_000,
    compiled=False,  # loading numba would take longer than a driver lives
    rng=5,
)


def live(path: Path) -> None:
    """Run a driver that writes a checkpoint after each generation, until it is killed."""
    restarted(rastrigin_slowly, checkpoint=path, checkpoint_every=0)


def rosenbrock_slowly(x: Array) -> float:
    time.sleep(5e-3)
    return float(rosenbrock(x))


def number_of_replicas() -> int:
    """Count the replicas on the Dask worker that calls it."""
    return len(distributed._replicas)


def drift(to: float) -> None:
    """Shift the mean of every replica on the Dask worker that calls it."""
    for replica in distributed._replicas.values():
        replica._search.optimizer.strategy.mean[0] += to
