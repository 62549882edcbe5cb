"""A backend of futures: from any ``concurrent.futures`` Executor, or from a Dask client."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import contextmanager
from typing import Any, Generic

from r1nes.parallel.backend import (
    LONGEST_WAIT,
    PAUSE,
    SILENCE,
    UNKNOWN,
    Batch,
    Lost,
    Outcome,
    Ticket,
    Work,
)
from r1nes.parallel.dask import DaskConnection
from r1nes.parallel.objective import Objective, values_in


class FuturesBackend(Generic[Work]):
    """Submits to workers that the caller owns and collects their futures.

    Args:
        count: Returns the number of workers.
        start: Submits work and returns its future.
        timeout: Seconds without any value after which all tasks count as lost.
        read: Returns the outcome in a worker's reply.
        connection: The connection that ``start`` submits to, if the workers are those of a Dask cluster.
        refresh: Called before lost work is submitted again.
    """

    def __init__(
        self,
        count: Callable[[], int],
        start: Callable[[Work], Future[Any]],
        timeout: float | None,
        read: Callable[[Any], Outcome] = values_in,
        connection: DaskConnection | None = None,
        refresh: Callable[[], None] = lambda: None,
    ) -> None:
        """Submit nothing yet."""
        self._count, self._start, self._timeout, self._read = count, start, timeout, read
        self._connection, self._refresh = connection, refresh
        self._workers = 1
        self._tickets = itertools.count()
        self._under_way: dict[Future[Any], Ticket] = {}
        self._refused: list[tuple[Ticket, Outcome]] = []

    @property
    def workers(self) -> int:
        """The current number of workers, or the last one known if the connection is interrupted."""
        with losses_ignored():
            self._workers = self._count()
        return self._workers

    def submit(self, work: Work) -> Ticket:
        """Submit ``work`` as one task."""
        ticket = next(self._tickets)
        try:
            self._under_way[self._start(work)] = ticket
        except Exception as error:
            if not _is_loss(error):
                raise
            self._refused.append((ticket, Lost(repr(error))))
        return ticket

    def collect(self) -> list[tuple[Ticket, Outcome]]:
        """Wait until a task ends, or for ``timeout``."""
        if self._refused:
            refused, self._refused = self._refused, []
            return refused
        deadline = math.inf if self._timeout is None else time.monotonic() + self._timeout
        while not (done := self._wait_until(deadline)):
            if time.monotonic() >= deadline:
                return self._give_up(f"no value arrived within {self._timeout} s", self._under_way)
            if self._connection is not None:
                futures, reason = self._connection.unfinishable(self._under_way)
                if futures:
                    return self._give_up(reason, futures)
        return [(self._under_way.pop(future), self._outcome(future)) for future in done]

    def _wait_until(self, deadline: float) -> set[Future[Any]]:
        """Return the completed futures; none at ``deadline`` or, on a cluster, after ``SILENCE`` seconds."""
        patience = min(deadline - time.monotonic(), LONGEST_WAIT if self._connection is None else SILENCE)
        return wait(self._under_way, patience, FIRST_COMPLETED).done

    def _give_up(self, reason: str, futures: Iterable[Future[Any]]) -> list[tuple[Ticket, Outcome]]:
        outcomes: list[tuple[Ticket, Outcome]] = []
        for future in list(futures):
            future.cancel()
            outcomes.append((self._under_way.pop(future), Lost(reason)))
        return outcomes

    def _outcome(self, future: Future[Any]) -> Outcome:
        try:
            reply = future.result()
        except (Exception, CancelledError) as error:
            if _is_loss(error):
                return Lost(repr(error))
            raise
        return self._read(reply)

    def recover(self, losses: int) -> None:
        """Pause, so that a cluster can notice which workers it has lost, then wait for the connection."""
        time.sleep(losses * PAUSE)
        if self._connection is not None:
            self._connection.wait_until_reconnected()
        self._refresh()

    def end(self) -> None:
        """Cancel the tasks; the workers belong to the caller."""
        for future in self._under_way:
            future.cancel()
        self._under_way.clear()


def executor_backend(
    executor: Executor, objective: Objective, timeout: float | None
) -> FuturesBackend[Batch]:
    """Return a backend that submits to ``executor``."""

    def count() -> int:
        reported = getattr(executor, "_max_workers", getattr(executor, "num_workers", None))
        return reported if isinstance(reported, int) else UNKNOWN

    def start(batch: Batch) -> Future[Any]:
        return executor.submit(objective.reply, *batch)

    return FuturesBackend(count, start, timeout)


def dask_backend(
    connection: DaskConnection, objective: Objective, timeout: float | None
) -> FuturesBackend[Batch]:
    """Return a backend that submits to the Dask cluster behind ``connection``."""

    def count() -> int:
        return max(1, sum(connection.client.nthreads().values()))

    def start(batch: Batch) -> Future[Any]:
        scattered = connection.client.scatter(
            batch.points, hash=False
        )  # apart from the task, as Dask advises
        return connection.submit(objective.reply, scattered, batch.key)

    return FuturesBackend(count, start, timeout, connection=connection)


@contextmanager
def losses_ignored() -> Iterator[None]:
    """Suppress exceptions that mean that workers or the connection to them were lost."""
    try:
        yield
    except Exception as error:
        if not _is_loss(error):
            raise


def _is_loss(error: BaseException) -> bool:
    """Return whether ``error`` means a lost worker or connection; replies contain exceptions of ``fun``."""
    losses = BrokenExecutor | CancelledError | OSError | EOFError | TimeoutError
    return isinstance(error, losses) or type(error).__module__.startswith("distributed.")
