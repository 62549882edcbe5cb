"""Asynchronous runs: a free worker gets the next point at once, and values count in order of arrival."""

from __future__ import annotations

import math
from collections import deque

from r1nes.arrays import Array, host
from r1nes.optimizer import Optimizer
from r1nes.parallel.backend import UNKNOWN, Backend, Batch, Lost, RetryPolicy, Ticket
from r1nes.parallel.interrupts import Interrupts


class AsynchronousLoop:
    """Keeps every worker of ``backend`` busy with points of an asynchronous Optimizer."""

    def __init__(self, backend: Backend[Batch], interrupts: Interrupts, policy: RetryPolicy) -> None:
        """Start without any evaluation under way."""
        self._backend, self._interrupts, self._policy = backend, interrupts, policy
        self._optimizer: Optimizer | None = None
        self._queue: deque[tuple[Array, int]] = deque()  # points to submit, and how often they were lost
        self._under_way: dict[Ticket, tuple[Optimizer, Array, int]] = {}

    def advance(self, optimizer: Optimizer) -> None:
        """Evaluate until ``optimizer`` completes a generation or has no evaluations or no time left."""
        if optimizer is not self._optimizer:  # a restart: queued points of the previous run are obsolete
            self._optimizer = optimizer
            self._queue.clear()
        generation = optimizer.generation
        is_timed = optimizer.settings.max_seconds is not None
        while optimizer.generation == generation:
            if is_timed and "max_seconds" in optimizer.stop():
                return
            self._submit(optimizer)
            if not self._under_way:
                return
            with self._interrupts.allowed:
                outcomes = self._backend.collect()
            most_losses = 0
            for ticket, outcome in outcomes:
                asked_by, x, losses = self._under_way.pop(ticket)
                if asked_by is not optimizer:
                    optimizer.counts.nfev += 1  # of the previous run, but it counts
                elif not isinstance(outcome, Lost):
                    optimizer.tell(x[None], outcome)
                elif self._policy.allows_attempt(losses + 1):
                    most_losses = max(most_losses, losses + 1)
                    self._queue.append((x, losses + 1))
                else:
                    optimizer.tell(x[None], self._policy.final_values(1, 1, outcome.reason))
            if most_losses:
                with self._interrupts.allowed:
                    self._backend.recover(most_losses)

    def _submit(self, optimizer: Optimizer) -> None:
        budget = optimizer.settings.max_evals
        left = math.inf if budget is None else budget - optimizer.nfev
        workers = self._backend.workers
        if workers == UNKNOWN:
            workers = optimizer.popsize
        while len(self._under_way) < min(workers, left):
            if not self._queue:
                self._queue.extend((x, 0) for x in optimizer.ask())
            x, losses = self._queue.popleft()
            self._under_way[self._backend.submit(Batch(host(x[None])))] = optimizer, x, losses
