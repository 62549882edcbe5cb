"""A backend of worker processes that the run starts, replaces and ends itself."""

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
from contextlib import suppress
from typing import Any

from r1nes.arrays import Array
from r1nes.parallel.backend import Lost, Outcome, Ticket
from r1nes.parallel.objective import Objective, values_in


class ProcessBackend:
    """Worker processes; one that crashes or exceeds ``timeout`` is replaced.

    Each leads a process group that is killed with it, so programs started by the objective end too.
    """

    def __init__(self, workers: int, objective: Objective, timeout: float | None) -> None:
        """Start the processes with ``objective``, so that only points and values travel afterwards."""
        self._objective, self._timeout = objective, timeout
        self._tickets = itertools.count()
        self._queue: deque[tuple[Ticket, Array]] = deque()
        self._processes = [_WorkerProcess(objective) for _ in range(workers)]

    @property
    def workers(self) -> int:
        """The number of processes."""
        return len(self._processes)

    def submit(self, work: Array) -> Ticket:
        """Queue the points ``work`` for the next free process."""
        ticket = next(self._tickets)
        self._queue.append((ticket, work))
        self._assign()
        return ticket

    def _assign(self) -> None:
        for process in self._processes:
            if self._queue and process.ticket is None:
                ticket, points = self._queue.popleft()
                process.start(ticket, points, self._timeout)

    def collect(self) -> list[tuple[Ticket, Outcome]]:
        """Wait until a process finishes its task, crashes or exceeds its timeout."""
        busy = [(process.ticket, process) for process in self._processes if process.ticket is not None]
        patience = max(0.0, min(process.deadline for _, process in busy) - time.monotonic())
        pipes = [process.pipe for _, process in busy]
        ready = multiprocessing.connection.wait(pipes, None if patience == math.inf else patience)
        outcomes: list[tuple[Ticket, Outcome]] = []
        for ticket, process in busy:
            if process.pipe in ready:
                outcomes.append((ticket, process.receive()))
            elif time.monotonic() >= process.deadline:
                process.end()
                outcomes.append((ticket, Lost(f"it took longer than {self._timeout} s")))
            if process.ended:
                self._processes[self._processes.index(process)] = _WorkerProcess(self._objective)
        self._assign()
        return outcomes

    def recover(self, losses: int) -> None:
        """Return at once: ``collect`` has already replaced the processes that were lost."""

    def end(self) -> None:
        """Kill every process."""
        for process in self._processes:
            process.end()


class _WorkerProcess:
    """One process, the pipe to it, and its current task."""

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
        with suppress(OSError):  # the process has crashed since; its pipe will report that
            self.pipe.send(points)

    def receive(self) -> Outcome:
        """Return the values, or Lost if the process has crashed; raise ObjectiveError if ``fun`` raised."""
        self.ticket, self.deadline = None, math.inf
        try:
            reply = self.pipe.recv()
        except (EOFError, OSError):
            self.end()
            return Lost(f"process {self._process.pid} ended with exit code {self._process.exitcode}")
        return values_in(reply)

    def end(self) -> None:
        self.ended = True
        self.pipe.close()
        if hasattr(os, "killpg") and self._process.pid is not None:
            with suppress(ProcessLookupError):  # it has not created its group yet
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.join()


def _serve(pipe: Any, objective: Objective) -> None:
    """Evaluate points from ``pipe`` until the pipe is closed or the parent ends: a worker's main function."""
    if hasattr(os, "setpgrp"):
        os.setpgrp()
    threading.Thread(target=_die_with_parent, daemon=True).start()
    with suppress(EOFError):
        while True:
            pipe.send(objective.reply(pipe.recv()))


def _die_with_parent() -> None:
    """Kill this process group once the parent ends; workers of a killed driver would wait forever."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    multiprocessing.connection.wait([parent.sentinel])
    if hasattr(os, "killpg"):
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)
