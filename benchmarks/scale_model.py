"""A discrete-event model of parallel evaluation with any number of workers.

Not a script; see ``python benchmarks/scale.py simulation``.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Costs:
    """The measured costs of one mode of distribution, in seconds and bytes."""

    driver_per_value: float  # the driver's step, divided by n: ask, tell, preparing messages
    worker_per_value: float  # a replica's step, divided by n
    bytes_per_task: float
    bytes_per_value: float  # sent to every worker, per value of the generation
    scheduler_per_task: float
    bandwidth: float = 1.25e9  # bytes per second from the driver


def simulate(workers: int, evaluation: float, spread: float, costs: Costs, seed: int = 1) -> float:
    """Return the share of the workers' time spent in evaluations, over three generations.

    Tasks leave the driver one after the other, at the rate of the network or the scheduler, whichever is
    slower. Each worker first updates its replica and then evaluates. Replies are processed one by one.
    """
    rng = np.random.default_rng(seed)
    clock = 0.0
    useful = 0.0
    for _ in range(3):
        clock += costs.driver_per_value * workers
        size = costs.bytes_per_task + costs.bytes_per_value * workers
        pace = max(size / costs.bandwidth, costs.scheduler_per_task)
        durations = evaluation * rng.lognormal(-(spread**2) / 2, spread, workers)  # mean ``evaluation``
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
    """Return the same share for an asynchronous run, where workers only wait for the driver."""
    rng = np.random.default_rng(seed)
    size = costs.bytes_per_task + costs.bytes_per_value * workers
    service = costs.driver_per_value + max(size / costs.bandwidth, costs.scheduler_per_task)
    durations = evaluation * rng.lognormal(-(spread**2) / 2, spread, 20 * workers)
    free = [0.0] * workers  # when each worker is ready for its next point
    driver = 0.0
    for duration in durations:
        driver = max(driver, heapq.heappop(free)) + service
        heapq.heappush(free, driver + duration)
    return float(durations.sum() / workers / max(free))
