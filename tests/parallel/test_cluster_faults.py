"""Whole clusters in trouble: all workers die, stop or lose their scheduler."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dask import config as dask_config
from distributed import Client

import r1nes
from r1nes.parallel import dask as dask_room
from r1nes.parallel import executors
from r1nes.parallel import replicas as distributed
from r1nes.parallel.dask import close
from r1nes.parallel.errors import EvaluationsLost
from r1nes.parallel.replicas import Replicas
from support.cluster import Cluster
from support.functions import rosenbrock
from support.runs import rosenbrock_slowly, same

solve = partial(r1nes.minimize, x0=np.zeros(8), sigma0=0.5, method="rknes", max_evals=200, rng=2)


@pytest.mark.parametrize("engine", ["client", "replicas"])
def test_every_worker_dies_and_its_nanny_starts_another(engine: str, monkeypatch: Any) -> None:
    """At other addresses: Dask keeps tasks that were meant for the old ones."""
    monkeypatch.setattr(executors, "SILENCE", 0.5)
    with ExitStack() as stack:
        dask = Cluster(stack)
        dask.start_scheduler()
        for _ in range(2):
            dask.add_nanny()
        client = stack.enter_context(Client(dask.address, set_as_default=False))
        client.wait_for_workers(2)

        def kill(processes: dict[str, int]) -> None:
            for process in processes.values():
                os.kill(process, signal.SIGKILL)

        def callback(intermediate_result: Any) -> None:
            if intermediate_result.nit in (4, 9):
                threading.Timer(0.02, kill, [client.run(os.getpid)]).start()

        workers = Replicas(client) if engine == "replicas" else client
        disturbed = solve(rosenbrock_slowly, workers=workers, callback=callback)
        if isinstance(workers, Replicas):
            assert workers.rebuilt >= 2
    same(disturbed, solve(rosenbrock))


@pytest.mark.parametrize("engine", ["client", "replicas"])
def test_a_worker_that_stops_for_a_while_is_waited_for(engine: str, doomed: tuple[Cluster, Any]) -> None:
    dask, client = doomed

    def resume_later(process: subprocess.Popen[bytes]) -> None:
        process.send_signal(signal.SIGSTOP)
        threading.Timer(2, process.send_signal, [signal.SIGCONT]).start()

    def callback(intermediate_result: Any) -> None:
        if intermediate_result.nit in (4, 9):
            threading.Timer(0.02, resume_later, [dask.workers[intermediate_result.nit == 9]]).start()

    workers = Replicas(client) if engine == "replicas" else client
    same(solve(rosenbrock_slowly, workers=workers, callback=callback), solve(rosenbrock))


@pytest.mark.parametrize("engine", ["client", "replicas"])
def test_the_scheduler_vanishes(
    engine: str, doomed: tuple[Cluster, Any], monkeypatch: Any, tmp_path: Path
) -> None:
    """The run ends with an error, and continues elsewhere from its checkpoint, bit for bit."""
    monkeypatch.setattr(executors, "SILENCE", 0.5)
    monkeypatch.setattr(dask_room, "RECONNECTION", 0.5)
    monkeypatch.setattr(distributed, "RECONNECTION", 0.5)
    dask, client = doomed
    client._timeout = 2  # seconds to reconnect, of Dask's 30
    workers = Replicas(client) if engine == "replicas" else client

    def callback(intermediate_result: Any) -> None:
        if intermediate_result.nit == 4:
            assert dask.scheduler is not None
            threading.Timer(0.02, dask.scheduler.kill).start()

    with (
        dask_config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(EvaluationsLost, match="lost 4 times in a row"),
    ):
        solve(rosenbrock_slowly, workers=workers, callback=callback, checkpoint=tmp_path / "f")
    same(solve(rosenbrock, checkpoint=tmp_path / "f"), solve(rosenbrock))
    close(client)
