"""Generations without a barrier: whoever is free gets a point, and a value counts as soon as it comes."""

from __future__ import annotations

import math
from collections import deque

from r1nes.arrays import Array, host
from r1nes.optimizer import Optimizer
from r1nes.parallel.evaluation import ATTEMPTS, MANY, lost_for_good
from r1nes.parallel.interrupts import Interrupts
from r1nes.parallel.pools import Lost, Pool, Ticket


class Stream:
    """Keeps every worker of ``pool`` busy with points of an asynchronous Optimizer."""

    def __init__(self, pool: Pool, interrupts: Interrupts, *, worst: bool) -> None:
        """Nothing is under way yet."""
        self._pool, self._interrupts, self._worst = pool, interrupts, worst
        self._optimizer: Optimizer | None = None
        self._queue: deque[tuple[Array, int]] = deque()  # points to submit, and how often they were lost
        self._under_way: dict[Ticket, tuple[Optimizer, Array, int]] = {}

    def advance(self, optimizer: Optimizer) -> None:
        """Evaluate until ``optimizer`` has taken a step, or has no evaluations left."""
        if optimizer is not self._optimizer:  # a restart, which has no use for points of the run before
            self._optimizer = optimizer
            self._queue.clear()
        step = optimizer.generation + 1
        while optimizer.generation < step:
            self._submit(optimizer)
            if not self._under_way:
                return
            with self._interrupts.allowed():
                outcomes = self._pool.collect()
            most_losses = 0
            for ticket, outcome in outcomes:
                asked_by, x, losses = self._under_way.pop(ticket)
                if asked_by is not optimizer:
                    optimizer.counts.nfev += 1  # evaluated all the same
                elif not isinstance(outcome, Lost):
                    optimizer.tell(x[None], outcome)
                elif losses + 1 < ATTEMPTS:
                    most_losses = max(most_losses, losses + 1)
                    self._queue.append((x, losses + 1))
                else:
                    optimizer.tell(x[None], lost_for_good(1, 1, outcome, worst=self._worst))
            if most_losses:
                with self._interrupts.allowed():
                    self._pool.recover(most_losses)

    def _submit(self, optimizer: Optimizer) -> None:
        budget = optimizer.settings.max_evals
        room = math.inf if budget is None else budget - optimizer.nfev
        workers = self._pool.workers
        if workers == MANY:
            workers = optimizer.popsize
        while len(self._under_way) < min(workers, room):
            if not self._queue:
                self._queue.extend((x, 0) for x in optimizer.ask())
            x, losses = self._queue.popleft()
            self._under_way[self._pool.submit(host(x[None]))] = optimizer, x, losses
