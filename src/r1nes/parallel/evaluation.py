"""Evaluation of a whole generation: point by point, vectorized, by any map, or by a parallel backend."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from r1nes.arguments import count
from r1nes.arrays import Array, host
from r1nes.parallel.backend import Backend, Batch, Lost, RetryPolicy, Ticket
from r1nes.parallel.dask import DaskConnection
from r1nes.parallel.executors import dask_backend, executor_backend
from r1nes.parallel.objective import Function, Objective, has_state, takes_key
from r1nes.parallel.processes import ProcessBackend
from r1nes.sampling.keys import Key
from r1nes.settings import RunSettings

Map = Callable[[Callable[[Array], float], Iterable[Array]], Iterable[float]]
Evaluate = Callable[[Array, Key | None], Array]  # points and the key of their generation → values
Rows = NDArray[np.intp]


def objective_of(fun: Function, settings: RunSettings) -> Objective:
    """Return ``fun`` in the form that workers call."""
    if not callable(fun):
        raise TypeError(f"fun must be callable, got {fun!r}")
    if settings.keyed and not takes_key(fun):
        raise TypeError(f"keyed=True needs a fun that takes the keyword argument key, got {fun!r}")
    if has_state(fun) and not (settings.vectorized or _is_one(settings.workers)):
        raise ValueError(
            "workers must be 1 for a fun with get_state and set_state, because that of other processes would "
            f"be lost; got {settings.workers!r}"
        )
    array_type = None if settings.array_type.library == "numpy" else settings.array_type
    return Objective(fun, settings.args, nan_on_failure=settings.on_failure == "worst", array_type=array_type)


@contextmanager
def evaluator(
    objective: Objective, *, vectorized: bool, workers: Any, timeout: float | None, policy: RetryPolicy
) -> Iterator[Evaluate]:
    """Yield a function that maps points to values; leaving the context ends the workers it started."""
    if vectorized:
        if workers != 1:
            raise ValueError(f"workers must be 1 with vectorized=True, got {workers!r}")
        if objective.nan_on_failure:
            raise ValueError("on_failure must be 'raise' with vectorized=True; return NaN for a failed row")
    if workers == 1 or (callable(workers) and not isinstance(workers, Executor)):
        if timeout is not None:
            raise ValueError(f"timeout needs workers that can be abandoned, got workers={workers!r}")
        if workers == 1:
            yield objective.evaluate_at_once if vectorized else objective.evaluate
        else:
            yield partial(_evaluate_by_map, workers, objective)
        return
    one_by_one = timeout is not None or policy.retries == 0  # a loss is then that of one point
    with backend_for(workers, objective, timeout) as backend:
        yield partial(_evaluate_in_parallel, backend, policy, one_by_one=one_by_one)


@contextmanager
def backend_for(workers: Any, objective: Objective, timeout: float | None) -> Iterator[Backend[Batch]]:
    """Yield the backend for ``workers``; leaving the context ends the processes or threads it started."""
    with ExitStack() as stack:
        backend = _backend(workers, objective, timeout, stack)
        stack.callback(backend.end)
        yield backend


def _backend(workers: Any, objective: Objective, timeout: float | None, stack: ExitStack) -> Backend[Batch]:
    if isinstance(workers, str):
        if timeout is not None:
            raise ValueError("timeout needs processes or an Executor: a thread cannot be killed")
        workers = ThreadPoolExecutor(_threads(workers))
        stack.callback(workers.shutdown, wait=False, cancel_futures=True)
    if isinstance(workers, Executor):
        return executor_backend(workers, objective, timeout)
    if hasattr(workers, "get_executor"):  # a Dask client
        connection = DaskConnection(workers)
        stack.callback(connection.close)
        return dask_backend(connection, objective, timeout)
    if objective.array_type is not None:
        raise ValueError(
            f"workers must be 1, 'threads:N', an Executor, a Dask client or a map if x0 is an array of "
            f"{objective.array_type.library}, which does not survive the fork of a process; got {workers!r}"
        )
    return ProcessBackend(_cpus() if workers == -1 else count("workers", workers), objective, timeout)


def _evaluate_by_map(map_: Map, objective: Objective, points: Array, key: Key | None) -> Array:
    value = objective.value if key is None else partial(objective.value, key=key)
    return np.array(list(map_(value, host(points))), dtype=np.float64)


def _evaluate_in_parallel(
    backend: Backend[Batch], policy: RetryPolicy, points: Array, key: Key | None, *, one_by_one: bool
) -> Array:
    points = host(points)

    def submit(rows: Rows) -> Ticket:
        return backend.submit(Batch(points[rows[0] : rows[-1] + 1], key))

    n = len(points)
    return evaluate_with_retries(n, n if one_by_one else backend.workers, submit, backend, policy)


def evaluate_with_retries(
    n: int, tasks: int, submit: Callable[[Rows], Ticket], backend: Backend[Any], policy: RetryPolicy
) -> Array:
    """Evaluate a generation, repeating lost evaluations according to ``policy``.

    Args:
        n: The number of points.
        tasks: The number of tasks in the first attempt, each of neighbouring rows.
        submit: Submits the points of some rows to ``backend``.
        backend: Collects the outcomes.
        policy: Decides what happens to lost evaluations.

    Returns:
        The values of the n points.
    """
    values = np.full(n, np.nan)
    missing, losses, reason = np.arange(n), 0, ""
    while missing.size and policy.allows_attempt(losses):
        if losses:
            backend.recover(losses)
        parts = np.array_split(missing, missing.size if losses else min(n, tasks))
        rounds = [[part] for part in parts] if policy.isolates_attempt(losses) else [parts]
        lost: list[Rows] = [missing[:0]]
        for together in rounds:
            under_way = {submit(rows): rows for rows in together}
            while under_way:
                for ticket, outcome in backend.collect():
                    rows = under_way.pop(ticket)
                    if isinstance(outcome, Lost):
                        reason = outcome.reason
                        lost.append(rows)
                    else:
                        values[rows] = outcome
        missing, losses = np.concatenate(lost), losses + 1
    if missing.size:
        values[missing] = policy.final_values(missing.size, n, reason)
    return values


def _is_one(workers: Any) -> bool:
    return isinstance(workers, int) and workers == 1


def _threads(workers: str) -> int:
    kind, _, number = workers.partition(":")
    if kind != "threads" or not number.isdecimal():
        raise ValueError(f"workers must be a number, 'threads:N', a map or an Executor, got {workers!r}")
    return count("workers", int(number))


def _cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
