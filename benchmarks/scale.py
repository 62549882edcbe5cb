"""What parallel evaluation costs, measured on this machine, and what that means for thousands of workers.

    python benchmarks/scale.py                 all of it, about ten minutes, with a table for each part
    python benchmarks/scale.py traffic         bytes and driver seconds per generation against d
    python benchmarks/scale.py efficiency      1 and 2 processes at 1, 10 and 100 ms per evaluation
    python benchmarks/scale.py simulation      10 to 10,000 workers, by a discrete-event model

The model knows what was measured: the driver's and a replica's step, bytes per task, the scheduler's time
per task. A generation has one evaluation per worker and ends with its slowest.
"""

from __future__ import annotations

import heapq
import json
import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client

import r1nes
from cluster import Cluster, cluster
from r1nes.arrays import Array
from r1nes.parallel.replicas import Replicas
from r1nes.restarts import Search
from r1nes.storage import checkpoint

RESULTS = Path(__file__).parents[1] / "results" / "scale.json"
DIMENSIONS = (10**3, 10**4, 10**5, 10**6)
POPSIZE, WORKERS = 24, 2
HOPS = 2  # every byte is counted on its way to the scheduler and on its way from there


def sphere(x: Array) -> float:
    """As cheap as an objective can be."""
    return float(x @ x)


class Seeds:
    """The way between: each worker gets the distribution, d numbers or a few times that, and draws itself."""

    def __init__(self, client: Any) -> None:
        """Uses all workers of ``client``."""
        self._client = client

    @contextmanager
    def evaluator(self, search: Search) -> Iterator[Callable[[Array], Array]]:
        """A function from the points that ``search`` has asked last to their values."""

        def evaluate(points: Array) -> Array:
            state = self._client.scatter(
                [checkpoint.dumps(search.optimizer.state())], hash=False, broadcast=True
            )[0]
            parts = np.array_split(np.arange(len(points)), WORKERS)
            futures = [
                self._client.submit(draw_and_evaluate, state, int(rows[0]), int(rows[-1]) + 1, pure=False)
                for rows in parts
            ]
            return np.concatenate(self._client.gather(futures))

        yield evaluate


def draw_and_evaluate(state: bytes, start: int, stop: int) -> list[float]:
    """On a worker."""
    points = r1nes.Optimizer.from_state(checkpoint.loads(state)).ask()
    return [sphere(x) for x in points[start:stop]]


@dataclass(frozen=True)
class Traffic:
    """Of one generation."""

    mode: str
    dim: int
    bytes: float  # through all connections
    driver_seconds: float  # of the driver's processor
    seconds: float


def generations(mode: str, client: Any, dim: int, count: int, watch: Callable[[], None]) -> None:
    """Run ``count`` generations in one of three ways; ``watch`` is called after each."""
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
    search = Search(r1nes.Optimizer(np.ones(dim), popsize=POPSIZE, rng=1))
    with Seeds(client).evaluator(search) as evaluate:
        for _ in range(count):
            X = search.optimizer.ask()
            search.optimizer.tell(X, evaluate(X))
            watch()


def measure_traffic() -> list[Traffic]:
    """Bytes with counters between the processes, then seconds without."""
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
        watch = lambda: seen.append((dask.traffic(), time.process_time(), time.monotonic()))  # noqa: E731
        generations(mode, client, dim, count, watch)
    first, last, n = np.array(seen[1]), np.array(seen[-1]), len(seen) - 2
    bytes_, cpu, wall = (last - first) / n
    return float(bytes_ - idle * wall), float(cpu), float(wall)


def _idle(dask: Cluster) -> float:
    """Bytes per second that the cluster exchanges without any work."""
    before = dask.traffic()
    time.sleep(3)
    return (dask.traffic() - before) / 3


def sleepy(x: Array, seconds: float) -> float:
    """An objective that waits for something else, as for a simulator."""
    time.sleep(seconds)
    return float(x @ x)


def measure_efficiency() -> list[dict[str, float]]:
    """How close ``minimize`` comes to workers that do nothing but evaluate."""
    found = []
    for milliseconds in (1, 10, 100):
        for workers in (1, 2):
            share = efficiency(milliseconds / 1e3, workers)
            found.append({"milliseconds": milliseconds, "workers": workers, "efficiency": share})
            print(f"| {milliseconds} ms | {workers} | {share:.1%} |", flush=True)
    return found


def efficiency(seconds: float, workers: int, dim: int = 10**4, repeats: int = 3) -> float:
    """The throughput of ``minimize``, relative to bare processes that were measured in turns with it.

    A machine that is busy with other things wakes sleepers late, and the same for both.
    """
    evaluations = POPSIZE * max(4, min(40, int(4 / POPSIZE / seconds)))
    shares = []
    for _ in range(repeats):
        began = time.monotonic()
        crew = [
            multiprocessing.Process(target=_only_evaluate, args=(dim, seconds, evaluations // workers))
            for _ in range(workers)
        ]
        for process in crew:
            process.start()
        for process in crew:
            process.join()
        between = time.monotonic()
        r1nes.minimize(
            sleepy,
            np.ones(dim),
            args=(seconds,),
            popsize=POPSIZE,
            max_evals=evaluations,
            workers=workers,
            rng=1,
        )
        shares.append((between - began) / (time.monotonic() - between))
    return statistics.median(shares)


def _only_evaluate(dim: int, seconds: float, count: int) -> None:
    x = np.ones(dim)
    for _ in range(count):
        sleepy(x, seconds)


@dataclass(frozen=True)
class Costs:
    """What the model knows of one way of sending points, in seconds and bytes."""

    driver_per_value: float  # the driver's step, divided by n: ask, tell, prepare messages
    worker_per_value: float  # a worker's own share in each value of the generation, if it has a replica
    bytes_per_task: float
    bytes_per_value: float  # to every worker, per value of the generation
    scheduler_per_task: float
    bandwidth: float = 1.25e9  # bytes per second out of the driver


def simulate(workers: int, evaluation: float, spread: float, costs: Costs, seed: int = 1) -> float:
    """The share of the workers' time that goes into evaluations, over three generations.

    Tasks leave the driver one after the other, at the pace of the network or of the scheduler, whichever is
    slower; each worker first brings its replica up to date and then evaluates; replies are taken one by one.
    """
    rng = np.random.default_rng(seed)
    clock = 0.0
    useful = 0.0
    for _ in range(3):
        clock += costs.driver_per_value * workers
        size = costs.bytes_per_task + costs.bytes_per_value * workers
        pace = max(size / costs.bandwidth, costs.scheduler_per_task)
        durations = evaluation * rng.lognormal(-(spread**2) / 2, spread, workers)  # of mean ``evaluation``
        useful += durations.sum()
        replies = [
            clock + (task + 1) * pace + costs.worker_per_value * workers + duration
            for task, duration in enumerate(durations)
        ]
        heapq.heapify(replies)
        while replies:
            clock = max(clock, heapq.heappop(replies)) + costs.scheduler_per_task / 2
    return float(useful / workers / clock)


def simulate_without_waiting(
    workers: int, evaluation: float, spread: float, costs: Costs, seed: int = 1
) -> float:
    """The same for an asynchronous run: a worker that is done waits only for its turn with the driver."""
    rng = np.random.default_rng(seed)
    size = costs.bytes_per_task + costs.bytes_per_value * workers
    service = costs.driver_per_value + max(size / costs.bandwidth, costs.scheduler_per_task)
    durations = evaluation * rng.lognormal(-(spread**2) / 2, spread, 20 * workers)
    free = [0.0] * workers  # when each worker asks for its next point
    driver = 0.0
    for duration in durations:
        driver = max(driver, heapq.heappop(free)) + service
        heapq.heappush(free, driver + duration)
    return float(durations.sum() / workers / max(free))


def measured_costs(traffic: list[Traffic], dim: int) -> dict[str, Costs]:
    """From what was measured with few workers."""
    step = _step_seconds(dim)
    task = _seconds_per_task()
    small = {t.mode: t.bytes for t in traffic if t.dim == min(DIMENSIONS)}
    here = {t.mode: t.bytes for t in traffic if t.dim == dim}
    overhead = small["replicas"] / WORKERS / HOPS  # of a task as such
    return {
        "vectors": Costs(step, 0, overhead + here["vectors"] / POPSIZE / HOPS, 0, task),
        "seeds": Costs(step, step, overhead + here["seeds"] / WORKERS / HOPS, 0, task),
        "replicas": Costs(step, step, overhead, 8, task),
    }


def _step_seconds(dim: int) -> float:
    """Of ask and tell, per value."""
    optimizer = r1nes.Optimizer(np.ones(dim), popsize=POPSIZE, rng=1)
    times = []
    for _ in range(12):
        began = time.perf_counter()
        X = optimizer.ask()
        optimizer.tell(X, np.arange(POPSIZE))
        times.append(time.perf_counter() - began)
    return min(times) / POPSIZE


def _seconds_per_task() -> float:
    """How long Dask's scheduler computes for a task, from many empty ones."""
    with cluster(WORKERS, counted=False) as dask, Client(dask.address) as client:
        client.wait_for_workers(WORKERS)
        before = client.run_on_scheduler(time.process_time)
        client.gather(client.map(abs, range(4000)))
        return float(client.run_on_scheduler(time.process_time) - before) / 4000


def run_simulation(traffic: list[Traffic]) -> list[dict[str, Any]]:
    """Efficiency and evaluations per second, for two dimensions, durations and networks."""
    found = []
    for dim in (10**4, 10**6):
        costs = measured_costs(traffic, dim)
        for mode, cost in costs.items():
            print(f"{mode}, d = {dim:,}: {cost}")
        cases = product((1.0, 60.0), (1.25e8, 1.25e9), (10, 100, 1000, 10_000))
        for evaluation, bandwidth, workers in cases:
            shares = {
                mode: simulate(workers, evaluation, 0.3, replace(cost, bandwidth=bandwidth))
                for mode, cost in costs.items()
            }
            cost = replace(costs["vectors"], bandwidth=bandwidth)
            shares["asynchronous"] = simulate_without_waiting(workers, evaluation, 0.3, cost)
            cells = " | ".join(f"{share:.0%}" for share in shares.values())
            network = f"{8e-9 * bandwidth:.0f} Gbit/s"
            print(f"| {dim:,} | {evaluation:.0f} s | {network} | {workers:,} | {cells} |", flush=True)
            case = {"dim": dim, "evaluation": evaluation, "bandwidth": bandwidth, "workers": workers}
            found.append({**case, **shares})
    return found


def main(parts: list[str]) -> None:
    """Run the named parts, or all, and keep what was found."""
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for part in parts or ["traffic", "efficiency", "simulation"]:
        if part == "traffic":
            known[part] = [asdict(row) for row in measure_traffic()]
        elif part == "efficiency":
            known[part] = measure_efficiency()
        elif part == "simulation":
            known[part] = run_simulation([Traffic(**row) for row in known["traffic"]])
        else:
            raise SystemExit(f"parts are traffic, efficiency and simulation, got {part!r}")
        RESULTS.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
