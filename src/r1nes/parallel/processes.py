"""A backend of worker processes that the run starts, replaces and ends itself.

A process says when it is ready. Only then does the timeout of its first evaluation begin, because starting a
Python process and importing the caller's modules may take longer than an evaluation.
"""

from __future__ import annotations

import itertools
import math
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from typing import Any

from r1nes.arrays.threads import share_cores
from r1nes.parallel.backend import LONGEST_WAIT, START, Batch, Lost, Outcome, Ticket
from r1nes.parallel.objective import Objective, Reply, values_in


class ProcessBackend:
    """Worker processes; one that crashes or exceeds ``timeout`` is replaced.

    Each leads a process group that is killed with it, so programs started by the objective end too.
    """

    def __init__(self, workers: int, objective: Objective, timeout: float | None) -> None:
        """Start the processes with ``objective``, so that only points and values travel afterwards."""
        self._objective, self._timeout, self._count = objective, timeout, workers
        self._tickets = itertools.count()
        self._queue: deque[tuple[Ticket, Batch]] = deque()
        self._processes: list[_WorkerProcess] = []
        try:
            for _ in range(workers):
                self._processes.append(_WorkerProcess(objective, workers))
        except BaseException:
            self.end()
            raise

    @property
    def workers(self) -> int:
        """The number of processes."""
        return len(self._processes)

    def submit(self, work: Batch) -> Ticket:
        """Queue ``work`` for the next free process."""
        ticket = next(self._tickets)
        self._queue.append((ticket, work))
        self._assign()
        return ticket

    def _assign(self) -> None:
        for process in self._processes:
            if self._queue and process.ticket is None:
                ticket, batch = self._queue.popleft()
                process.start(ticket, batch, self._timeout)

    def collect(self) -> list[tuple[Ticket, Outcome]]:
        """Wait until a process finishes its task, crashes or exceeds its timeout, or becomes ready."""
        busy = [(process.ticket, process) for process in self._processes if process.ticket is not None]
        patience = max(0.0, min(process.deadline for _, process in busy) - time.monotonic())
        pipes = [process.pipe for _, process in busy]
        ready = multiprocessing.connection.wait(pipes, min(patience, LONGEST_WAIT))
        outcomes: list[tuple[Ticket, Outcome]] = []
        for ticket, process in busy:
            if process.pipe in ready:
                if (outcome := process.receive()) is not None:
                    outcomes.append((ticket, outcome))
            elif time.monotonic() >= process.deadline:
                process.end()
                outcomes.append((ticket, Lost(process.overdue)))
            if process.ended:
                self._processes[self._processes.index(process)] = _WorkerProcess(self._objective, self._count)
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

    def __init__(self, objective: Objective, workers: int) -> None:
        context = start_context()
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, objective, workers))
        try:
            self._process.start()
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise TypeError(
                f"fun and args must be importable or picklable to reach processes that are started by "
                f"{context.get_start_method()}, got {objective.fun!r} ({error}); define fun at the top of a "
                "module, or use workers='threads:N'"
            ) from None
        theirs.close()  # so that the pipe breaks when the process ends
        self.ticket: Ticket | None = None
        self.deadline = math.inf
        self.ended = False
        self._ready = False
        self._seconds = math.inf  # for the current task

    def start(self, ticket: Ticket, batch: Batch, timeout: float | None) -> None:
        self.ticket = ticket
        self._seconds = math.inf if timeout is None else timeout * len(batch.points)
        seconds = self._seconds if self._ready or timeout is None else max(START, self._seconds)
        self.deadline = time.monotonic() + seconds
        with suppress(OSError):  # the process has crashed since; its pipe will report that
            self.pipe.send((ticket, batch))

    @property
    def overdue(self) -> str:
        """Why the process is lost once its deadline has passed."""
        return f"it took longer than {self._seconds:g} s" if self._ready else f"no process in {START:g} s"

    def receive(self) -> Outcome | None:
        """Return the values, Lost if the process has crashed, or None if the message is no answer.

        Raises:
            ObjectiveError: ``fun`` raised an exception.
        """
        try:
            ticket, reply = self.pipe.recv()
        except (EOFError, OSError):
            self.end()
            when = "" if self._ready else " before it was ready, as its own messages may explain"
            return Lost(f"process {self._process.pid} ended with exit code {self._process.exitcode}{when}")
        if ticket is None:  # the process is ready
            self._ready, self.deadline = True, time.monotonic() + self._seconds
        if ticket != self.ticket:
            return None
        self.ticket, self.deadline = None, math.inf
        return values_in(reply)

    def end(self) -> None:
        self.ended = True
        self.pipe.close()
        if hasattr(os, "killpg") and self._process.pid is not None:
            with suppress(ProcessLookupError):  # it has not created its group yet
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.join()


def start_context() -> Any:
    """Return the context of the start method that the program has set; by default fork on Linux, else spawn.

    Python's own default differs between its versions. A forked process inherits the objective, which may
    therefore be a lambda; a spawned one imports it.
    """
    chosen = multiprocessing.get_start_method(allow_none=True)
    return multiprocessing.get_context(chosen or ("fork" if sys.platform == "linux" else "spawn"))


def _serve(pipe: Any, objective: Objective, workers: int) -> None:
    """Evaluate points from ``pipe`` until the pipe is closed or the parent ends: a worker's main function."""
    share_cores(workers)
    if hasattr(os, "setpgrp"):
        os.setpgrp()
    process = os.getpid()
    threading.Thread(target=_die_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):  # from the pipe; exceptions of fun are replies
        pipe.send((None, []))  # it is ready
        while True:
            ticket, batch = pipe.recv()
            reply: Reply = objective.reply(*batch)
            if os.getpid() != process:
                os._exit(1)  # a process that fun has forked must not answer as well
            pipe.send((ticket, reply))


def _die_with_parent() -> None:
    """Kill this process group once the parent ends; workers of a killed driver would wait forever."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    multiprocessing.connection.wait([parent.sentinel])
    if hasattr(os, "killpg"):
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)
