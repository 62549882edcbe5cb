"""Measure the cost of parallel evaluation on this machine, and predict it for thousands of workers.

    python benchmarks/scale.py                 all parts, about ten minutes, with a table for each
    python benchmarks/scale.py traffic         bytes and driver seconds per generation over d
    python benchmarks/scale.py efficiency      1 and 2 processes at 1, 10 and 100 ms per evaluation
    python benchmarks/scale.py simulation      10 to 10,000 workers, in a discrete-event model

The model uses measured values: the step of the driver and of a replica, bytes per task, and the scheduler's
time per task. A generation has one evaluation per worker and ends with its slowest. Results are stored in
``results/scale.json``; ``simulation`` uses the traffic stored there.
"""

from __future__ import annotations

import json
import multiprocessing
import statistics
import sys
import time
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client

import r1nes
from cluster import cluster
from r1nes.arrays import Array
from scale_model import Costs, simulate, simulate_without_waiting
from scale_traffic import DIMENSIONS, POPSIZE, WORKERS, Traffic, measure_traffic

RESULTS = Path(__file__).parents[1] / "results" / "scale.json"
HOPS = 2  # each byte is counted on its way to the scheduler and on its way from it


def sleepy(x: Array, seconds: float) -> float:
    """Wait, as an objective that calls a simulator does."""
    time.sleep(seconds)
    return float(x @ x)


def measure_efficiency() -> list[dict[str, float]]:
    """Measure how close ``minimize`` comes to processes that only evaluate."""
    found = []
    for milliseconds in (1, 10, 100):
        for workers in (1, 2):
            share = efficiency(milliseconds / 1e3, workers)
            found.append({"milliseconds": milliseconds, "workers": workers, "efficiency": share})
            print(f"| {milliseconds} ms | {workers} | {share:.1%} |", flush=True)
    return found


def efficiency(seconds: float, workers: int, dim: int = 10**4, repeats: int = 3) -> float:
    """Return the throughput of ``minimize`` relative to processes that only evaluate.

    Both are measured alternately, since a busy machine delays the end of a sleep, for both alike.
    """
    evaluations = POPSIZE * max(4, min(40, int(4 / POPSIZE / seconds)))
    shares = []
    for _ in range(repeats):
        began = time.monotonic()
        processes = [
            multiprocessing.Process(target=_only_evaluate, args=(dim, seconds, evaluations // workers))
            for _ in range(workers)
        ]
        for process in processes:
            process.start()
        for process in processes:
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


def measured_costs(traffic: list[Traffic], dim: int) -> dict[str, Costs]:
    """Return the costs of each mode, from measurements with few workers."""
    step = _step_seconds(dim)
    task = _seconds_per_task()
    small = {t.mode: t.bytes for t in traffic if t.dim == min(DIMENSIONS)}
    here = {t.mode: t.bytes for t in traffic if t.dim == dim}
    overhead = small["replicas"] / WORKERS / HOPS  # of an empty task
    return {
        "vectors": Costs(step, 0, overhead + here["vectors"] / POPSIZE / HOPS, 0, task),
        "seeds": Costs(step, step, overhead + here["seeds"] / WORKERS / HOPS, 0, task),
        "replicas": Costs(step, step, overhead, 8, task),
    }


def _step_seconds(dim: int) -> float:
    """Return the seconds of ask and tell per value."""
    optimizer = r1nes.Optimizer(np.ones(dim), popsize=POPSIZE, rng=1)
    times = []
    for _ in range(12):
        began = time.perf_counter()
        X = optimizer.ask()
        optimizer.tell(X, np.arange(POPSIZE))
        times.append(time.perf_counter() - began)
    return min(times) / POPSIZE


def _seconds_per_task() -> float:
    """Return the CPU seconds of Dask's scheduler per task, measured with many empty tasks."""
    with cluster(WORKERS, counted=False) as dask, Client(dask.address) as client:
        client.wait_for_workers(WORKERS)
        before = client.run_on_scheduler(time.process_time)
        client.gather(client.map(abs, range(4000)))
        return float(client.run_on_scheduler(time.process_time) - before) / 4000


def run_simulation(traffic: list[Traffic]) -> list[dict[str, Any]]:
    """Simulate the efficiency for two dimensions, durations and networks and four numbers of workers."""
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
    """Run the named parts, or all, and store the results."""
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for part in parts or ["traffic", "efficiency", "simulation"]:
        if part == "traffic":
            known[part] = [asdict(row) for row in measure_traffic()]
        elif part == "efficiency":
            known[part] = measure_efficiency()
        elif part == "simulation":
            known[part] = run_simulation([Traffic(**row) for row in known["traffic"]])
        else:
            raise SystemExit(f"part must be one of traffic, efficiency, simulation; got {part!r}")
        RESULTS.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
