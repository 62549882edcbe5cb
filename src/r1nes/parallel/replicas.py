"""Replicas on a Dask cluster: every worker holds a copy of the run, and only objective values travel.

Noise is keyed by seed, generation and sample, and an update follows from noise and values alone. So a worker
that has the values of the last generation takes the same step as the driver and all other workers, and draws
the next points itself: a task names rows and carries n numbers, whatever the dimension.

A worker that has missed generations receives the log of their values. A worker that is new, or whose state
differs from the driver's in any bit (another BLAS, another CPU), receives a snapshot and the log since then.
"""

from __future__ import annotations

import hashlib
import math
import threading
import time
import uuid
import warnings
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from typing import Any

import numpy as np

from r1nes.arguments import count, positive
from r1nes.arrays import Array
from r1nes.extras import needs
from r1nes.parallel.backend import (
    KEPT_REPLICAS,
    RECONNECTION,
    REFRESH,
    SNAPSHOT_EVERY,
    Lost,
    Outcome,
    RetryPolicy,
)
from r1nes.parallel.dask import DaskConnection
from r1nes.parallel.evaluation import Evaluate, IsOver, Rows, evaluate_with_retries
from r1nes.parallel.executors import FuturesBackend, losses_ignored
from r1nes.parallel.objective import Objective, Reply, values_in
from r1nes.restarts import Search
from r1nes.sampling.keys import Key
from r1nes.storage import checkpoint
from r1nes.strategies import Method


class Replicas:
    """Replicas of the run on all workers of a Dask cluster, passed to ``minimize`` as ``workers``.

    Args:
        client: A Dask ``Client``, or the address of a scheduler.
        check_every: Generations between two comparisons of each replica's state with the driver's. Once a
            comparison finds that a replica has drifted, its values of that generation are discarded.

    Attributes:
        resynchronised: The number of replicas that had drifted and were replaced.
        rebuilt: The number of replicas built for workers that joined or returned after the first generation.
    """

    def __init__(self, client: Any, *, check_every: int = 10) -> None:
        """Store the arguments; the run connects to the cluster."""
        self._client = client
        self.check_every = count("check_every", check_every)
        self.resynchronised = 0
        self.rebuilt = 0

    @contextmanager
    def evaluator(
        self,
        objective: Objective,
        search: Search,
        timeout: float | None,
        policy: RetryPolicy,
        is_over: IsOver | None,
    ) -> Iterator[Evaluate]:
        """Yield a function that maps the points of the last ``ask`` of ``search`` to their values."""
        if timeout is not None:
            timeout = positive("timeout", timeout)
        with needs("distributed", extra="dask"):
            from distributed import Client
        with ExitStack() as stack:
            client = self._client
            if isinstance(client, str):
                client = stack.enter_context(Client(client))
            driver = _Driver(self, client, objective, search, timeout, policy, is_over)
            stack.callback(driver.end)
            yield driver.evaluate


class _Driver:
    """The driver's side of one run: the log of values, and the generation that each worker has reached."""

    def __init__(
        self,
        owner: Replicas,
        client: Any,
        objective: Objective,
        search: Search,
        timeout: float | None,
        policy: RetryPolicy,
        is_over: IsOver | None,
    ) -> None:
        self._owner, self._objective, self._search, self._policy = owner, objective, search, policy
        self._is_over = is_over
        self._connection = DaskConnection(client)
        self._backend = FuturesBackend(
            lambda: len(self._places),
            self._start,
            timeout,
            self._read,
            self._connection,
            self._look_for_others,
        )
        self._run = uuid.uuid4().hex[:12]
        self._step = 0  # the generation being evaluated, counted from 0
        self._log: dict[int, bytes] = {}  # the values of recent generations before it
        self._snapshot = b""  # the state of the search in generation …
        self._snapshot_step = 0
        self._scattered: Any = None  # the snapshot, as a future of the cluster
        self._reached: dict[str, int] = {}  # the generation that each worker has reached, if known
        self._met: set[str] = set()  # workers that have had a replica
        self._reassigned = False  # whether Dask has moved tasks of this generation to other workers
        self._places: list[str] = []  # the addresses of the workers, once per thread
        self._free: deque[str] = deque()  # places without a task, as far as is known
        self._turn = 0  # the place of the next task if none is known to be free
        self._key: Key | None = None  # of the generation, if fun takes it
        self._refreshed = -math.inf
        self._fingerprint: bytes | None = None  # of the driver's state, in generations that compare

    def evaluate(self, points: Array, key: Key | None) -> Array:
        """Return the values of ``points``, which must be those of the last ``ask``: workers draw them too."""
        if self._step % SNAPSHOT_EVERY == 0:
            self._take_snapshot()
        check = self._step % self._owner.check_every == 0
        self._fingerprint = fingerprint(self._search) if check else None
        if time.monotonic() - self._refreshed >= REFRESH:
            with losses_ignored() if self._places else nullcontext():
                self._look_for_workers()
        self._free, self._turn, self._key = deque(self._places), 0, key
        self._reassigned = False
        backend, n = self._backend, len(points)
        values = evaluate_with_retries(
            n, backend.workers, backend.submit, backend, self._policy, self._is_over
        )
        self._log[self._step] = values.tobytes()
        self._step += 1
        return values

    def _take_snapshot(self) -> None:
        state = self._search.state()
        state["settings"] |= {"max_seconds": None}  # only the driver's clock counts
        self._snapshot, self._snapshot_step, self._scattered = checkpoint.dumps(state), self._step, None
        oldest = self._step - SNAPSHOT_EVERY
        self._log = {step: values for step, values in self._log.items() if step >= oldest}

    def _look_for_others(self) -> None:
        """Find the workers that have taken the places of lost ones; wait for a while if there are none."""
        with losses_ignored():
            self._look_for_workers(RECONNECTION)

    def _look_for_workers(self, patience: float | None = None) -> None:
        client = self._connection.client
        threads = client.nthreads()
        if not threads:
            client.wait_for_workers(1, timeout=patience)
            threads = client.nthreads()
        self._places = [address for address, n in threads.items() for _ in range(n)]
        self._reached = {address: step for address, step in self._reached.items() if address in threads}
        self._refreshed = time.monotonic()

    def _start(self, rows: Rows) -> Future[Any]:
        """Submit a task for ``rows``, meant for one worker; Dask may give it to another."""
        if self._free:
            address = self._free.popleft()
        else:
            address = self._places[self._turn % len(self._places)]
            self._turn += 1
        since, snapshot = self._reached.get(address, -1), None
        if self._reassigned or not (since in self._log or since == self._step):
            since, snapshot = self._snapshot_step, self._scattered_snapshot()
        log = [self._log[step] for step in range(since, self._step)]
        check = self._fingerprint is not None
        task = self._run, self._step, log, int(rows[0]), int(rows[-1]) + 1, self._key, check, snapshot
        return self._connection.submit(_evaluate, *task, workers=[address], allow_other_workers=True)

    def _scattered_snapshot(self) -> Any:
        scattered, client = self._scattered, self._connection.client
        held = scattered is not None and scattered.client is client and scattered.status == "finished"
        if not held:  # not scattered yet, or the worker that held it has crashed
            method = self._search.settings.algorithm  # the state cannot hold a class of the user's own
            content = self._snapshot, self._snapshot_step, self._objective, method
            # to one worker: the others fetch it from each other when they need it
            self._scattered = client.scatter([content], hash=False)[0]
        return self._scattered

    def _read(self, answer: _Answer) -> Outcome:
        """Return the outcome in a worker's ``answer``: Lost if its replica is not in the driver's state."""
        address, reply, state = answer
        if reply is None:
            self._reached.pop(address, None)
            self._met.discard(address)
            self._reassigned, self._refreshed = True, -math.inf
            return Lost(f"the worker {address} had no replica of this generation")
        if self._fingerprint is not None and state != self._fingerprint:
            if self._reached.pop(address, None) is not None:
                self._owner.resynchronised += 1
                warnings.warn(
                    f"the replica on {address} has drifted by generation {self._step} and is replaced",
                    RuntimeWarning,
                    stacklevel=2,
                )
            return Lost(f"the replica on {address} has drifted")
        self._owner.rebuilt += self._step > 0 and address not in self._met
        self._met.add(address)
        self._reached[address] = self._step
        self._free.append(address)
        return values_in(reply)

    def end(self) -> None:
        """Remove the replicas of this run from the workers."""
        self._backend.end()
        with suppress(Exception):  # replicas of later runs displace them
            self._connection.client.run(_forget, self._run, on_error="ignore")
        self._connection.close()


class _Replica:
    """A worker's copy of the search, at one generation."""

    def __init__(self, state: bytes, step: int, objective: Objective, method: Method) -> None:
        self._search = Search.from_state(checkpoint.loads(state), method)
        self.step, self.objective = step, objective
        self.points = self._search.optimizer.ask()

    def advance(self, values: bytes) -> None:
        """Take the next step, given the values of the current generation."""
        self._search.optimizer.tell(self.points, np.frombuffer(values))
        self._search.continues()
        self.points = self._search.optimizer.ask()
        self.step += 1

    def fingerprint(self) -> bytes:
        return fingerprint(self._search)


_Answer = tuple[str, Reply | None, bytes | None]  # a worker's address, reply and fingerprint
_replicas: dict[str, _Replica] = {}  # of this worker, by run
_lock = threading.Lock()  # a worker may have several threads


def _evaluate(
    run: str, step: int, log: list[bytes], start: int, stop: int, key: Key | None, check: bool, snapshot: Any
) -> _Answer:
    """Evaluate rows ``start`` to ``stop`` − 1 of generation ``step`` with this worker's replica."""
    from distributed import get_worker

    address: str = get_worker().address
    with _lock:
        replica = _replica_at(run, step, log, snapshot)
        if replica is None:
            return address, None, None
        points, state = replica.points[start:stop], replica.fingerprint() if check else None
    return address, replica.objective.reply(points, key), state


def _replica_at(run: str, step: int, log: list[bytes], snapshot: Any) -> _Replica | None:
    """Return the replica of ``run`` at ``step``, or None if ``log`` and ``snapshot`` do not lead there."""
    if snapshot is not None:
        _replicas[run] = _Replica(*snapshot)
        for old in list(_replicas)[:-KEPT_REPLICAS]:
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
    """Return a hash of the exact state of the search distribution."""
    return hashlib.sha256(checkpoint.dumps(search.optimizer.state()["strategy"])).digest()[:16]
