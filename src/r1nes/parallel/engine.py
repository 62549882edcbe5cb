"""The way a run evaluates: synchronous, by replicas, or asynchronous."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from r1nes.optimizer import Optimizer
from r1nes.parallel.asynchronous import AsynchronousLoop
from r1nes.parallel.backend import RetryPolicy
from r1nes.parallel.evaluation import Evaluate, backend_for, evaluator
from r1nes.parallel.interrupts import Interrupts
from r1nes.parallel.objective import Objective
from r1nes.parallel.replicas import Replicas
from r1nes.restarts import Search
from r1nes.settings import RunSettings

Advance = Callable[[Optimizer], None]


@contextmanager
def engine(
    objective: Objective,
    search: Search,
    interrupts: Interrupts,
    settings: RunSettings,
) -> Iterator[Advance]:
    """A function that takes an Optimizer through one generation; the context ends the workers it started.

    If the budget of an asynchronous run is spent, the function returns before the generation is complete.
    """
    workers, vectorized, timeout = settings.workers, settings.vectorized, settings.timeout
    if settings.asynchronous:
        _check_asynchronous(workers, vectorized)
        policy = RetryPolicy(objective.nan_on_failure)
        with backend_for(workers, objective, timeout) as backend:
            yield AsynchronousLoop(backend, interrupts, policy).advance
    elif isinstance(workers, Replicas) and not vectorized:
        with workers.evaluator(objective, search, timeout) as evaluate:
            yield partial(_advance, evaluate, interrupts)
    else:
        with evaluator(objective, vectorized=vectorized, workers=workers, timeout=timeout) as evaluate:
            yield partial(_advance, evaluate, interrupts)


def _advance(evaluate: Evaluate, interrupts: Interrupts, optimizer: Optimizer) -> None:
    X = optimizer.ask()
    with interrupts.allowed():
        values = evaluate(X)
    optimizer.tell(X, values)


def _check_asynchronous(workers: Any, vectorized: bool) -> None:
    if vectorized or isinstance(workers, Replicas) or callable(workers) or workers == 1:
        raise ValueError(
            f"asynchronous=True needs workers that take one point each: processes, threads, an Executor or a "
            f"Dask client; got workers={workers!r}, vectorized={vectorized}"
        )
