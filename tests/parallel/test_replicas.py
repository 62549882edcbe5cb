"""Replicas on a cluster of real processes: what travels, who dies, who joins, who drifts."""

from __future__ import annotations

import asyncio
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pytest
from distributed import Client

import r1nes
from r1nes.parallel import dask as dask_room
from r1nes.parallel import executors
from r1nes.parallel import replicas as distributed
from r1nes.parallel.dask import close
from r1nes.parallel.replicas import Replicas
from support.cluster import Cluster, Proxy
from support.functions import rosenbrock, sphere
from support.own_method import RoundNES
from support.runs import drift, number_of_replicas, rosenbrock_slowly, same

solve = partial(r1nes.minimize, x0=np.zeros(8), sigma0=0.5, method="rknes", max_evals=200, rng=2)


@pytest.mark.parametrize("engine", ["client", "executor", "replicas"])
def test_workers_killed_in_the_middle_of_a_generation(engine: str, doomed: tuple[Cluster, Any]) -> None:
    dask, client = doomed
    workers = {"client": client, "executor": client.get_executor(), "replicas": Replicas(client)}[engine]

    def callback(intermediate_result: Any) -> None:
        if intermediate_result.nit in (4, 12):
            kill_soon(dask.workers[intermediate_result.nit == 12])
        if intermediate_result.nit == 6:
            dask.add_worker()
            client.wait_for_workers(2)

    disturbed = solve(rosenbrock_slowly, workers=workers, callback=callback)
    assert [worker.poll() for worker in dask.workers[:2]] == [-9, -9]
    same(disturbed, solve(rosenbrock))
    if isinstance(workers, Replicas):
        assert workers.rebuilt >= 1
        assert workers.resynchronised == 0


def test_replicas_rebuild_a_method_of_the_users_own(safe: tuple[Cluster, Any]) -> None:
    method = RoundNES(rate_radius=0.5)
    same(solve(sphere, method=method, workers=Replicas(safe[1])), solve(sphere, method=method))


def kill_soon(worker: subprocess.Popen[bytes]) -> None:
    """While the next generation is under way."""
    threading.Timer(0.02, worker.kill).start()


def test_all_known_workers_die_and_one_takes_over_that_the_driver_has_not_met(
    doomed: tuple[Cluster, Any], monkeypatch: Any
) -> None:
    monkeypatch.setattr(distributed, "REFRESH", 1e9)
    dask, client = doomed
    replicas = Replicas(client)

    def callback(intermediate_result: Any) -> None:
        if intermediate_result.nit == 4:
            dask.add_worker()
            client.wait_for_workers(3)
            for worker in dask.workers[:2]:
                kill_soon(worker)

    same(solve(rosenbrock_slowly, workers=replicas, callback=callback), solve(rosenbrock))
    assert replicas.rebuilt == 1


@contextmanager
def fragile(safe: tuple[Cluster, Any]) -> Iterator[tuple[Proxy, Any]]:
    """A client of a safe cluster, and its line to the scheduler, which may be cut."""
    line = Proxy(int(safe[0].address.rpartition(":")[2]))
    client = Client(f"tcp://127.0.0.1:{line.port}")
    try:
        yield line, client
    finally:
        close(client)
        line.close()


@pytest.mark.parametrize("engine", ["client", "replicas"])
def test_a_lost_connection_to_the_scheduler(engine: str, safe: tuple[Cluster, Any]) -> None:
    """The driver's own, cut while a generation is under way: Dask connects again, and we ask again."""
    cuts: list[int] = []
    with fragile(safe) as (line, client):

        def callback(intermediate_result: Any) -> None:
            if intermediate_result.nit in (5, 12):
                threading.Timer(0.02, lambda: cuts.append(line.cut())).start()

        workers = client if engine == "client" else Replicas(client)
        same(solve(rosenbrock_slowly, workers=workers, callback=callback), solve(rosenbrock))
    assert len(cuts) == 2
    assert min(cuts) > 0


@pytest.mark.parametrize("engine", ["client", "asynchronous", "replicas"])
def test_the_scheduler_is_out_of_reach_for_a_while(engine: str, safe: tuple[Cluster, Any]) -> None:
    """For longer than four attempts would take: nothing is submitted while nobody is there to take it."""
    outages: list[int] = []
    with fragile(safe) as (line, client):

        def end_outage() -> None:
            line.is_down = False

        def begin_outage() -> None:
            line.is_down = True
            outages.append(line.cut())
            threading.Timer(2.0, end_outage).start()

        def callback(intermediate_result: Any) -> None:
            if intermediate_result.nit == 5:
                threading.Timer(0.02, begin_outage).start()

        workers = Replicas(client) if engine == "replicas" else client
        asynchronous = engine == "asynchronous"
        disturbed = solve(rosenbrock_slowly, workers=workers, callback=callback, asynchronous=asynchronous)
    assert len(outages) == 1
    assert outages[0] > 0
    check(disturbed, asynchronous=asynchronous)


def check(disturbed: Any, *, asynchronous: bool) -> None:
    """It is the undisturbed run; of an asynchronous one, which is never the same, it has come to its end."""
    if asynchronous:
        assert list(disturbed.stop) == ["max_evals"]
    else:
        same(disturbed, solve(rosenbrock))


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        *[
            (engine, message)
            for engine in ("client", "asynchronous")
            for message in ("ncores", "scatter", "gather")
        ],
        *[("replicas", message) for message in ("ncores", "gather")],
    ],
)
def test_a_connection_lost_in_the_middle_of_a_request(
    engine: str, message: str, safe: tuple[Cluster, Any], monkeypatch: Any
) -> None:
    """For the number of workers, for points to be taken, or for a value: the request is never answered."""
    monkeypatch.setattr(distributed, "REFRESH", 0.0)
    with fragile(safe) as (line, client):

        def callback(intermediate_result: Any) -> None:
            if intermediate_result.nit in (5, 12):
                assert line.cut_at is None
                line.cut_at = message.encode()

        workers = Replicas(client) if engine == "replicas" else client
        asynchronous = engine == "asynchronous"
        disturbed = solve(rosenbrock, workers=workers, callback=callback, asynchronous=asynchronous)
    assert line.cut_at is None
    check(disturbed, asynchronous=asynchronous)


@pytest.mark.parametrize("engine", ["client", "replicas"])
def test_a_client_that_fails_to_connect_again(
    engine: str, safe: tuple[Cluster, Any], monkeypatch: Any
) -> None:
    """Dask's may, for good and in silence: it takes what is submitted, and nobody ever hears of it."""
    monkeypatch.setattr(executors, "SILENCE", 0.5)
    monkeypatch.setattr(dask_room, "RECONNECTION", 0.5)

    async def fail(**_: Any) -> None:
        raise AssertionError

    with fragile(safe) as (line, client):
        client._ensure_connected = fail

        def callback(intermediate_result: Any) -> None:
            if intermediate_result.nit == 5:
                line.cut_at = b"gather"

        workers = client if engine == "client" else Replicas(client)
        same(solve(rosenbrock, workers=workers, callback=callback), solve(rosenbrock))
        assert client.status == "connecting"


def test_a_worker_that_joins_late_takes_part(doomed: tuple[Cluster, Any], monkeypatch: Any) -> None:
    dask, client = doomed
    monkeypatch.setattr(distributed, "REFRESH", 0.0)
    replicas = Replicas(client)
    busy: list[int] = []

    def callback(intermediate_result: Any) -> None:
        if intermediate_result.nit == 5:
            dask.add_worker()
            client.wait_for_workers(3)
        busy.append(sum(client.run(number_of_replicas).values()))

    same(solve(rosenbrock_slowly, workers=replicas, callback=callback), solve(rosenbrock))
    assert busy[3] == 2
    assert busy[-1] == 3
    assert replicas.rebuilt == 1
    assert sum(client.run(number_of_replicas).values()) == 0  # forgotten once the run is over


@pytest.mark.filterwarnings("default:the replica on:RuntimeWarning")
def test_a_replica_that_drifts_is_found_and_replaced(safe: tuple[Cluster, Any]) -> None:
    """Its values of the generation in which it is found are not used: with every one checked, none are."""
    _, client = safe
    replicas = Replicas(client, check_every=1)

    def callback(intermediate_result: Any) -> None:
        if intermediate_result.nit in (7, 12):
            first = next(iter(client.scheduler_info()["workers"]))
            client.run(drift, 1e-9, workers=[first])

    with pytest.warns(RuntimeWarning, match="the replica on tcp.* has drifted by generation"):
        disturbed = solve(rosenbrock, workers=replicas, callback=callback)
    assert replicas.resynchronised == 2
    same(disturbed, solve(rosenbrock))


@pytest.mark.parametrize(
    "d", [1_000, 100_000, pytest.param(1_000_000, marks=pytest.mark.slow)], ids=lambda d: f"d={d}"
)
def test_the_traffic_does_not_depend_on_the_dimension(d: int, safe: tuple[Cluster, Any]) -> None:
    """Less than 200 bytes per evaluation and worker, beyond what an idle cluster exchanges in that time."""
    dask, client = safe
    n, seen = 40, []
    before = dask.traffic()
    time.sleep(2)
    idle = (dask.traffic() - before) / 2  # bytes per second: heartbeats

    def callback(_: Any) -> None:
        seen.append((time.monotonic(), dask.traffic()))

    r1nes.minimize(
        sphere,
        np.ones(d, np.float32),
        method="snes",
        popsize=n,
        max_evals=(20 if d < 10_000 else 6) * n,
        workers=Replicas(client),
        callback=callback,
        rng=1,
    )
    (began, first), (ended, last) = seen[1], seen[-1]
    evaluations = n * (len(seen) - 2)
    assert (last - first - idle * (ended - began)) / evaluations / 2 < 200


def test_values_that_fail_fail_in_replicas_too(safe: tuple[Cluster, Any]) -> None:
    _, client = safe
    with pytest.raises(ZeroDivisionError) as raised:
        solve(lambda _: 1 / 0, workers=Replicas(client))
    assert "where it was evaluated" in raised.value.__notes__[0]
    worst = solve(lambda x: float("nan") if x[0] > 0.3 else sphere(x), workers=Replicas(client))
    same(worst, solve(lambda x: float("nan") if x[0] > 0.3 else sphere(x)))


@pytest.mark.parametrize("wrapped", [lambda client: client, Replicas], ids=["client", "replicas"])
def test_clients_of_no_use_are_refused(wrapped: Any, safe: tuple[Cluster, Any]) -> None:
    connect = partial(Client, safe[0].address, set_as_default=False)

    def refused(client: Any) -> None:
        with pytest.raises(ValueError, match="workers must be a Dask client that is open and not asynch"):
            solve(rosenbrock, workers=wrapped(client))

    async def asynchronous() -> None:
        async with connect(asynchronous=True) as client:
            refused(client)

    with connect() as closed:
        pass
    refused(closed)
    asyncio.run(asynchronous())


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="check_every must be a whole number of at least 1, got 0"):
        Replicas("tcp://127.0.0.1:1", check_every=0)
    with pytest.raises(ValueError, match="workers must be 1 with vectorized=True"):
        solve(rosenbrock, workers=Replicas("tcp://127.0.0.1:1"), vectorized=True)
