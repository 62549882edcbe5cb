"""The choice of how a run evaluates: synchronously, here or elsewhere, or asynchronously."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from r1nes.parallel.asynchronous import AsynchronousLoop
from r1nes.parallel.backend import RetryPolicy
from r1nes.parallel.evaluation import Evaluate, backend_for, evaluator
from r1nes.parallel.interrupts import Interrupts
from r1nes.parallel.objective import Objective
from r1nes.parallel.replicas import Replicas
from r1nes.restarts import Search
from r1nes.settings import RunSettings


def synchronous(
    objective: Objective, search: Search, settings: RunSettings
) -> AbstractContextManager[Evaluate]:
    """Return a context whose function maps points to values; leaving it ends the workers it started.

    The function raises TimeIsUp if ``max_seconds`` have passed before it has all values.
    """
    workers, vectorized, timeout = settings.workers, settings.vectorized, settings.timeout
    policy = RetryPolicy(objective.nan_on_failure, settings.retries)
    is_over = None if settings.max_seconds is None else lambda: "max_seconds" in search.optimizer.stop()
    if isinstance(workers, Replicas) and not vectorized:
        return workers.evaluator(objective, search, timeout, policy, is_over)
    return evaluator(
        objective, vectorized=vectorized, workers=workers, timeout=timeout, policy=policy, is_over=is_over
    )


@contextmanager
def asynchronous(
    objective: Objective, interrupts: Interrupts, settings: RunSettings
) -> Iterator[AsynchronousLoop]:
    """Yield a loop that keeps all workers busy; leaving the context ends the workers it started."""
    workers, vectorized = settings.workers, settings.vectorized
    if vectorized or isinstance(workers, Replicas) or callable(workers) or workers == 1:
        raise ValueError(
            f"asynchronous=True needs workers that take one point each: processes, threads, an Executor or a "
            f"Dask client; got workers={workers!r}, vectorized={vectorized}"
        )
    if settings.keyed:
        raise ValueError("keyed must be False with asynchronous=True: points of several generations mix")
    with backend_for(workers, objective, settings.timeout) as backend:
        yield AsynchronousLoop(backend, interrupts, RetryPolicy(objective.nan_on_failure, settings.retries))
