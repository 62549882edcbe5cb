"""Pools of workers that evaluate points in parallel and may lose some: own processes, or any Executor.

Both take points by ``submit``, in as many pieces as one likes, and hand back by ``collect`` what has become
of them: values, or ``Lost`` where the worker died, hung, or was cut off.
"""

from __future__ import annotations

import itertools
import math
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from r1nes.arrays import Array
from r1nes.parallel.dask import Line
from r1nes.parallel.objective import Objective

PAUSE = 0.1  # seconds that a cluster gets to notice what it has lost, more each time
SILENCE = 5.0  # seconds without a value after which a Dask cluster is asked whether it knows of our tasks


class Lost(Exception):  # noqa: N818 - nobody raises it: it is an outcome
    """No value, and not through a fault of the objective: worth another try."""


Outcome = list[float] | Lost
Ticket = int


class Pool(Protocol):
    """What evaluates points in parallel."""

    @property
    def workers(self) -> int:
        """How many points it evaluates at a time, now."""
        ...

    def submit(self, points: Array) -> Ticket:
        """Have ``points`` evaluated, in the background."""
        ...

    def collect(self) -> list[tuple[Ticket, Outcome]]:
        """What has become of points submitted before; waits for some. An exception of fun is raised."""
        ...

    def recover(self, losses: int) -> None:
        """Wait until it makes sense to submit again what was lost, for the ``losses``-th time."""
        ...

    def end(self) -> None:
        """Let go of all that is under way."""
        ...


class Processes:
    """Processes of our own: one that dies or exceeds ``timeout`` is replaced by another.

    Each leads a process group, which ends with it: no program that the objective started is left behind.
    """

    def __init__(self, workers: int, objective: Objective, timeout: float | None) -> None:
        """Starts them; they have ``objective`` from the start, so only points and values travel."""
        self._objective, self._timeout = objective, timeout
        self._tickets = itertools.count()
        self._queue: deque[tuple[Ticket, Array]] = deque()
        self._crew = [_Worker(objective) for _ in range(workers)]

    @property
    def workers(self) -> int:
        """How many processes there are."""
        return len(self._crew)

    def submit(self, points: Array) -> Ticket:
        """Have ``points`` evaluated by the next process that is free."""
        ticket = next(self._tickets)
        self._queue.append((ticket, points))
        self._assign()
        return ticket

    def _assign(self) -> None:
        for worker in self._crew:
            if self._queue and worker.ticket is None:
                ticket, points = self._queue.popleft()
                worker.start(ticket, points, self._timeout)

    def collect(self) -> list[tuple[Ticket, Outcome]]:
        """Waits until a process has finished its piece, died over it, or had enough time."""
        busy = [(worker.ticket, worker) for worker in self._crew if worker.ticket is not None]
        patience = max(0.0, min(worker.deadline for _, worker in busy) - time.monotonic())
        pipes = [worker.pipe for _, worker in busy]
        ready = multiprocessing.connection.wait(pipes, None if patience == math.inf else patience)
        outcomes: list[tuple[Ticket, Outcome]] = []
        for ticket, worker in busy:
            if worker.pipe in ready:
                outcomes.append((ticket, worker.receive()))
            elif time.monotonic() >= worker.deadline:
                worker.end()
                outcomes.append((ticket, Lost(f"it took longer than {self._timeout} s")))
            if worker.ended:
                self._crew[self._crew.index(worker)] = _Worker(self._objective)
        self._assign()
        return outcomes

    def recover(self, losses: int) -> None:
        """At once: who was lost has been replaced."""

    def end(self) -> None:
        """Ends every process, whatever it is doing."""
        for worker in self._crew:
            worker.end()


class _Worker:
    """One process, the pipe to it, and the piece it works on."""

    def __init__(self, objective: Objective) -> None:
        self.pipe, theirs = multiprocessing.Pipe()
        self._process = multiprocessing.Process(target=_serve, args=(theirs, objective))
        self._process.start()
        theirs.close()  # so that the pipe breaks when the process ends
        self.ticket: Ticket | None = None
        self.deadline = math.inf
        self.ended = False

    def start(self, ticket: Ticket, points: Array, timeout: float | None) -> None:
        self.ticket = ticket
        if timeout is not None:
            self.deadline = time.monotonic() + timeout * len(points)
        with suppress(OSError):  # it has died since, which its pipe will tell
            self.pipe.send(points)

    def receive(self) -> Outcome:
        """The values, or that the process has died; what the function raised is raised."""
        self.ticket, self.deadline = None, math.inf
        try:
            outcome = self.pipe.recv()
        except (EOFError, OSError):
            self.end()
            return Lost(f"process {self._process.pid} ended with exit code {self._process.exitcode}")
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def end(self) -> None:
        self.ended = True
        self.pipe.close()
        if hasattr(os, "killpg") and self._process.pid is not None:
            with suppress(ProcessLookupError):  # it had no time yet to found its group
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.join()


def _serve(pipe: Any, objective: Objective) -> None:
    """What a process does: take points, return their outcome, until its pipe or its parent is gone."""
    if hasattr(os, "setpgrp"):
        os.setpgrp()
    threading.Thread(target=_die_with_parent, daemon=True).start()
    with suppress(EOFError):
        while True:
            pipe.send(objective.outcome(pipe.recv()))


def _die_with_parent() -> None:
    """Without it, a driver that is killed leaves its processes waiting for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    multiprocessing.connection.wait([parent.sentinel])
    if hasattr(os, "killpg"):
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)


class Futures:
    """Futures of any Executor; with ``timeout``, no value for so long means that all are lost."""

    def __init__(
        self,
        count: Callable[[], int],
        start: Callable[[Any], Future[Any]],
        timeout: float | None,
        read: Callable[[Any], list[float] | Exception] | None = None,
        line: Line | None = None,
    ) -> None:
        """``count`` tells the workers, ``start`` has points evaluated, ``read`` makes outcomes of replies.

        The ``line`` is what ``start`` submits to, if that is a Dask cluster.
        """
        self._count, self._start, self._timeout, self._read = count, start, timeout, read
        self._line = line
        self._workers = 1
        self._tickets = itertools.count()
        self._under_way: dict[Future[Any], Ticket] = {}
        self._refused: list[tuple[Ticket, Outcome]] = []

    @property
    def workers(self) -> int:
        """How many there are at the moment, or were when it was last known."""
        with tolerated():
            self._workers = self._count()
        return self._workers

    def submit(self, points: Any) -> Ticket:
        """Have ``points`` evaluated as one task."""
        ticket = next(self._tickets)
        try:
            self._under_way[self._start(points)] = ticket
        except Exception as error:
            if not is_lost(error):
                raise
            self._refused.append((ticket, Lost(repr(error))))
        return ticket

    def collect(self) -> list[tuple[Ticket, Outcome]]:
        """Waits until a task has ended, or for ``timeout``."""
        if self._refused:
            refused, self._refused = self._refused, []
            return refused
        deadline = math.inf if self._timeout is None else time.monotonic() + self._timeout
        while not (done := self._ended_by(deadline)):
            if time.monotonic() >= deadline:
                return self._give_up(f"no value came within {self._timeout} s")
            if self._line is not None and self._line.replace_if_deaf(self._under_way):
                return self._give_up("the cluster had not heard of it")
        return [(self._under_way.pop(future), self._outcome(future)) for future in done]

    def _ended_by(self, deadline: float) -> set[Future[Any]]:
        """Those that have ended by then; of a cluster, after a while of silence none."""
        patience = min(deadline - time.monotonic(), math.inf if self._line is None else SILENCE)
        return wait(self._under_way, None if patience == math.inf else patience, FIRST_COMPLETED).done

    def _give_up(self, why: str) -> list[tuple[Ticket, Outcome]]:
        outcomes: list[tuple[Ticket, Outcome]] = [(ticket, Lost(why)) for ticket in self._under_way.values()]
        self.end()
        return outcomes

    def _outcome(self, future: Future[Any]) -> Outcome:
        try:
            outcome = future.result()
        except (Exception, CancelledError) as error:
            if is_lost(error):
                return Lost(repr(error))
            raise
        if self._read is not None:
            outcome = self._read(outcome)
        if isinstance(outcome, Exception) and not isinstance(outcome, Lost):
            raise outcome
        return outcome

    def recover(self, losses: int) -> None:
        """After a pause, and once the line is there again."""
        time.sleep(losses * PAUSE)
        if self._line is not None:
            self._line.wait()

    def end(self) -> None:
        """Cancels what is under way; workers are left to their owner."""
        for future in self._under_way:
            future.cancel()
        self._under_way.clear()


@contextmanager
def tolerated() -> Iterator[None]:
    """What is lost inside is passed over."""
    try:
        yield
    except Exception as error:
        if not is_lost(error):
            raise


def is_lost(error: BaseException) -> bool:
    """Whether the way to the worker failed; what fun itself raises is returned, not raised."""
    lost = BrokenExecutor | CancelledError | OSError | EOFError | TimeoutError
    return isinstance(error, lost) or type(error).__module__.startswith("distributed.")
