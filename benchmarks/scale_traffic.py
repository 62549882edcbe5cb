"""Measure what one generation costs when points, distributions or values travel to Dask workers.

Not a script; see ``python benchmarks/scale.py traffic``. The three modes of distribution are:

- ``vectors``: the driver sends every point, n × d numbers;
- ``seeds``: the driver sends the search distribution, a few times d numbers, and the workers draw the points;
- ``replicas``: every worker runs a replica of the optimizer, and only values travel (``r1nes.Replicas``).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed import Client

import r1nes
from cluster import Cluster, cluster
from r1nes.arrays import Array
from r1nes.parallel.replicas import Replicas
from r1nes.storage import checkpoint

DIMENSIONS = (10**3, 10**4, 10**5, 10**6)
POPSIZE, WORKERS = 24, 2


@dataclass(frozen=True)
class Traffic:
    """The cost of one generation."""

    mode: str
    dim: int
    bytes: float  # through all connections
    driver_seconds: float  # CPU time of the driver
    seconds: float


def sphere(x: Array) -> float:
    """Return Σ x², about the cheapest objective possible."""
    return float(x @ x)


def draw_and_evaluate(state: bytes, start: int, stop: int) -> list[float]:
    """On a worker: restore the optimizer, draw its points, and evaluate those from ``start`` to ``stop``."""
    points = r1nes.Optimizer.from_state(checkpoint.loads(state)).ask()
    return [sphere(x) for x in points[start:stop]]


def evaluate_by_state(client: Any, state: dict[str, Any], n: int) -> Array:
    """Evaluate a generation of ``n`` points by sending the optimizer's ``state`` to the workers."""
    sent = client.scatter([checkpoint.dumps(state)], hash=False, broadcast=True)[0]
    parts = np.array_split(np.arange(n), WORKERS)
    futures = [
        client.submit(draw_and_evaluate, sent, int(rows[0]), int(rows[-1]) + 1, pure=False) for rows in parts
    ]
    return np.concatenate(client.gather(futures))


def generations(mode: str, client: Any, dim: int, count: int, watch: Callable[[], None]) -> None:
    """Run ``count`` generations in one of the three modes; call ``watch`` after each."""
    if mode != "seeds":
        workers = client if mode == "vectors" else Replicas(client)
        r1nes.minimize(
            sphere,
            np.ones(dim),
            popsize=POPSIZE,
            max_evals=count * POPSIZE,
            workers=workers,
            callback=lambda _: watch(),
            rng=1,
        )
        return
    optimizer = r1nes.Optimizer(np.ones(dim), popsize=POPSIZE, rng=1)
    for _ in range(count):
        X = optimizer.ask()
        optimizer.tell(X, evaluate_by_state(client, optimizer.state(), len(X)))
        watch()


def measure_traffic() -> list[Traffic]:
    """Measure bytes with counting proxies between the processes, then seconds without them."""
    found = []
    for dim in DIMENSIONS:
        count = 12 if dim < 10**5 else 5
        for mode in ("vectors", "seeds", "replicas"):
            bytes_, _, _ = _per_generation(mode, dim, count, counted=True)
            _, cpu, wall = _per_generation(mode, dim, count, counted=False)
            found.append(Traffic(mode, dim, bytes_, cpu, wall))
            print(f"| {mode} | {dim:,} | {bytes_:,.0f} | {cpu:.3f} | {wall:.3f} |", flush=True)
    return found


def _per_generation(mode: str, dim: int, count: int, *, counted: bool) -> tuple[float, float, float]:
    seen: list[tuple[float, float, float]] = []
    with cluster(WORKERS, counted=counted) as dask, Client(dask.address) as client:
        client.wait_for_workers(WORKERS)
        idle = _idle(dask) if counted else 0.0

        def watch() -> None:
            seen.append((dask.traffic(), time.process_time(), time.monotonic()))

        generations(mode, client, dim, count, watch)
    first, last, n = np.array(seen[1]), np.array(seen[-1]), len(seen) - 2
    bytes_, cpu, wall = (last - first) / n
    return float(bytes_ - idle * wall), float(cpu), float(wall)


def _idle(dask: Cluster) -> float:
    """Return the bytes per second that an idle cluster exchanges."""
    before = dask.traffic()
    time.sleep(3)
    return (dask.traffic() - before) / 3
