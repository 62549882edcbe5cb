"""Replicas on a Dask cluster: every worker holds the run, and only objective values travel.

Noise is keyed by seed, generation and sample, and an update follows from noise and values alone. So a worker
that knows the values of the last generation takes the same step as the driver and all others, and draws the
next points by itself: a task names rows and carries n numbers, whatever the dimension.

A worker that has missed generations is sent the log of their values; one that is new, or whose state is not
the driver's to the last bit (another BLAS, another CPU), gets a snapshot and the log since.
"""

from __future__ import annotations

import hashlib
import math
import threading
import time
import uuid
import warnings
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from typing import Any

import numpy as np

from r1nes.arguments import count, positive
from r1nes.arrays import Array
from r1nes.extras import needs
from r1nes.parallel.dask import Line
from r1nes.parallel.evaluation import Evaluate, Rows, gather
from r1nes.parallel.objective import Objective
from r1nes.parallel.pools import Futures, Lost, tolerated
from r1nes.restarts import Search
from r1nes.storage import checkpoint

SNAPSHOT_EVERY = 100  # generations: the longest log that a new worker has to go through
REFRESH = 5.0  # seconds after which the driver looks for new workers
KEPT = 4  # runs whose replicas a worker remembers


class Replicas:
    """As ``workers`` of ``minimize``: replicas of the run on all workers of a Dask cluster.

    Args:
        client: A Dask ``Client``, or the address of a scheduler.
        check_every: Generations after which the state of each replica is compared with the driver's. The
            values of one that has drifted are not used from the generation in which that is noticed.

    Attributes:
        resynchronised: How many replicas were found to have drifted, and were replaced.
        rebuilt: How many were built for workers that joined or returned after the first generation.
    """

    def __init__(self, client: Any, *, check_every: int = 10) -> None:
        """Connects to nothing yet."""
        self._client = client
        self.check_every = count("check_every", check_every)
        self.resynchronised = 0
        self.rebuilt = 0

    @contextmanager
    def evaluator(self, objective: Objective, search: Search, timeout: float | None) -> Iterator[Evaluate]:
        """A function from the points that ``search`` has asked last to their values."""
        if timeout is not None:
            timeout = positive("timeout", timeout)
        with needs("distributed", extra="dask"):
            from distributed import Client
        with ExitStack() as stack:
            client = self._client
            if isinstance(client, str):
                client = stack.enter_context(Client(client))
            driver = _Driver(self, client, objective, search, timeout)
            stack.callback(driver.end)
            yield driver.evaluate


class _Driver:
    """The driver's side of one run: the log of values, and how far each worker has got."""

    def __init__(
        self, report: Replicas, client: Any, objective: Objective, search: Search, timeout: float | None
    ) -> None:
        self._report, self._objective, self._search = report, objective, search
        self._line = Line(client)
        self._pool = Futures(lambda: len(self._places), self._start, timeout, self._read, self._line)
        self._run = uuid.uuid4().hex[:12]
        self._step = 0  # the generation being evaluated, counted from 0
        self._log: dict[int, bytes] = {}  # the values of the ones before; the oldest are dropped
        self._snapshot = b""  # the state of the search in generation …
        self._snapshot_step = 0
        self._sent: Any = None  # the snapshot, as the cluster holds it
        self._reached: dict[str, int] = {}  # the generation that each worker is known to have got to
        self._met: set[str] = set()  # workers that have had a replica
        self._strangers = False  # whether, in this generation, others do the tasks than they are meant for
        self._places: list[str] = []  # the addresses of the workers, once per thread
        self._turn = 0  # the place that the next task is meant for
        self._refreshed = -math.inf
        self._fingerprint: bytes | None = None  # of the driver's state, in generations that check

    def evaluate(self, points: Array) -> Array:
        """The values of the points last asked; of ``points``, only the number is needed here."""
        if self._step % SNAPSHOT_EVERY == 0:
            self._take_snapshot()
        check = self._step % self._report.check_every == 0
        self._fingerprint = fingerprint(self._search) if check else None
        if time.monotonic() - self._refreshed >= REFRESH:
            with tolerated() if self._places else nullcontext():
                self._look_for_workers()
        self._turn = 0
        self._strangers = False
        pool = self._pool
        values = gather(len(points), pool.workers, pool.submit, pool, worst=self._objective.worst)
        self._log[self._step] = values.tobytes()
        self._step += 1
        return values

    def _take_snapshot(self) -> None:
        state = self._search.state()
        state["settings"] |= {"max_seconds": None}  # the driver's clock alone counts
        self._snapshot, self._snapshot_step, self._sent = checkpoint.dumps(state), self._step, None
        oldest = self._step - SNAPSHOT_EVERY
        self._log = {step: values for step, values in self._log.items() if step >= oldest}

    def _look_for_workers(self) -> None:
        client = self._line.client
        threads = client.nthreads()
        if not threads:
            client.wait_for_workers(1)
            threads = client.nthreads()
        self._places = [address for address, n in threads.items() for _ in range(n)]
        self._reached = {address: step for address, step in self._reached.items() if address in threads}
        self._refreshed = time.monotonic()

    def _start(self, rows: Rows) -> Future[Any]:
        """A task for these rows, meant for one worker; Dask may give it to another."""
        address = self._places[self._turn % len(self._places)]
        self._turn += 1
        since, snapshot = self._reached.get(address, -1), None
        if self._strangers or not (since in self._log or since == self._step):
            since, snapshot = self._snapshot_step, self._sent_snapshot()
        log = [self._log[step] for step in range(since, self._step)]
        check = self._fingerprint is not None
        task = self._run, self._step, log, int(rows[0]), int(rows[-1]) + 1, check, snapshot
        return self._line.submit(_evaluate, *task, workers=[address], allow_other_workers=True)

    def _sent_snapshot(self) -> Any:
        sent, client = self._sent, self._line.client
        held = sent is not None and sent.client is client and sent.status == "finished"
        if not held:  # not yet, or who held it has died
            content = self._snapshot, self._snapshot_step, self._objective
            self._sent = client.scatter([content], hash=False)[0]
        return self._sent

    def _read(self, reply: tuple[str, list[float] | Exception | None, bytes | None]) -> Any:
        """The outcome in a worker's ``reply``, unless its replica was not that of the driver."""
        address, outcome, state = reply
        if outcome is None:
            self._reached.pop(address, None)
            self._met.discard(address)
            self._strangers, self._refreshed = True, -math.inf
            return Lost(f"the worker {address} had no replica of this generation")
        if self._fingerprint is not None and state != self._fingerprint:
            if self._reached.pop(address, None) is not None:
                self._report.resynchronised += 1
                warnings.warn(
                    f"the replica on {address} had drifted by generation {self._step} and is replaced",
                    RuntimeWarning,
                    stacklevel=2,
                )
            return Lost(f"the replica on {address} had drifted")
        self._report.rebuilt += self._step > 0 and address not in self._met
        self._met.add(address)
        self._reached[address] = self._step
        return outcome

    def end(self) -> None:
        """Have the workers forget the run."""
        self._pool.end()
        with suppress(Exception):  # they forget it by themselves when others come
            self._line.client.run(_forget, self._run, on_error="ignore")
        self._line.close()


class _Replica:
    """A worker's copy of the search, at one generation."""

    def __init__(self, state: bytes, step: int, objective: Objective) -> None:
        self._search = Search.from_state(checkpoint.loads(state))
        self.step, self.objective = step, objective
        self.points = self._search.optimizer.ask()

    def advance(self, values: bytes) -> None:
        """One generation on, given the values of the present one."""
        self._search.optimizer.tell(self.points, np.frombuffer(values))
        self._search.continues()
        self.points = self._search.optimizer.ask()
        self.step += 1

    def fingerprint(self) -> bytes:
        return fingerprint(self._search)


_replicas: dict[str, _Replica] = {}  # of this worker, by run
_lock = threading.Lock()  # a worker may have several threads


def _evaluate(
    run: str, step: int, log: list[bytes], start: int, stop: int, check: bool, snapshot: Any
) -> tuple[str, list[float] | Exception | None, bytes | None]:
    """On a worker: the outcome of rows ``start`` to ``stop`` of generation ``step``, by its replica."""
    from distributed import get_worker

    address: str = get_worker().address
    with _lock:
        replica = _brought_to(run, step, log, snapshot)
        if replica is None:
            return address, None, None
        points, state = replica.points[start:stop], replica.fingerprint() if check else None
    return address, replica.objective.outcome(points), state


def _brought_to(run: str, step: int, log: list[bytes], snapshot: Any) -> _Replica | None:
    """The replica of ``run``, in generation ``step``; None if ``log`` and ``snapshot`` do not reach there."""
    if snapshot is not None:
        state, its_step, objective = snapshot
        _replicas[run] = _Replica(state, its_step, objective)
        for old in list(_replicas)[:-KEPT]:
            del _replicas[old]
    replica = _replicas.get(run)
    if replica is None or not step - len(log) <= replica.step <= step:
        return None
    for values in log[len(log) - (step - replica.step) :]:
        replica.advance(values)
    return replica


def _forget(run: str) -> None:
    with _lock:
        _replicas.pop(run, None)


def fingerprint(search: Search) -> bytes:
    """A hash of the search distribution, to the last bit."""
    return hashlib.sha256(checkpoint.dumps(search.optimizer.state()["strategy"])).digest()[:16]
