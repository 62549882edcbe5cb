"""Whoever evaluates, the run is the same to the last bit: real processes, real clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import Any

import loky
import numpy as np
import pytest
from distributed import Client, LocalCluster

import r1nes
from cluster import Cluster, cluster
from r1nes.parallel.replicas import Replicas
from scale import efficiency
from support.functions import rastrigin
from support.runs import same


@pytest.fixture(scope="module")
def dask() -> Iterator[Cluster]:
    with cluster(workers=2) as started:
        yield started


Engine = Callable[[ExitStack, Cluster], Any]


def local_cluster(stack: ExitStack, _: Cluster) -> Any:
    return Replicas(stack.enter_context(Client(stack.enter_context(local()))))


def local() -> Any:
    return LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0")


ENGINES: dict[str, Engine] = {
    "processes": lambda _, __: 2,
    "processes with a timeout": lambda _, __: 2,
    "threads": lambda _, __: "threads:3",
    "map": lambda _, __: map,
    "a pool's map": lambda stack, _: stack.enter_context(ThreadPoolExecutor(2)).map,
    "thread pool": lambda stack, _: stack.enter_context(ThreadPoolExecutor(2)),
    "process pool": lambda stack, _: stack.enter_context(ProcessPoolExecutor(2)),
    "loky": lambda stack, _: stack.enter_context(loky.ProcessPoolExecutor(2)),
    "dask executor": lambda stack, dask: stack.enter_context(Client(dask.address)).get_executor(),
    "dask client": lambda stack, dask: stack.enter_context(Client(dask.address)),
    "replicas": lambda stack, dask: Replicas(stack.enter_context(Client(dask.address))),
    "replicas by address": lambda _, dask: Replicas(dask.address),
    "replicas on a LocalCluster": local_cluster,
}


@pytest.mark.parametrize("engine", ENGINES)
def test_the_run_is_the_same(engine: str, dask: Cluster) -> None:
    solve = partial(
        r1nes.minimize,
        rastrigin,
        np.full(7, 2.2),
        sigma0=0.5,
        method="rknes",
        bounds=[(-5, 5)] * 7,
        restarts="bipop:2",
        xtol=0.3,
        max_evals=350,
        rng=3,
    )
    serial = solve()
    assert serial.restarts > 1
    options: dict[str, Any] = {"timeout": 60} if "timeout" in engine else {}
    with ExitStack() as stack:
        same(solve(workers=ENGINES[engine](stack, dask), **options), serial)


@pytest.mark.slow
def test_two_processes_are_nearly_twice_as_fast() -> None:
    """Ten milliseconds per evaluation, 10,000 variables, beside processes that do nothing but evaluate."""
    assert efficiency(0.01, workers=2, repeats=5) > 0.85
