"""Evaluation of a whole generation: point by point, vectorized, by any map, or by a parallel backend."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from r1nes.arguments import count
from r1nes.arrays import Array, host
from r1nes.arrays.threads import cores
from r1nes.parallel.backend import Backend, Batch, Lost, Outcome, RetryPolicy, Ticket
from r1nes.parallel.dask import DaskConnection
from r1nes.parallel.errors import TimeIsUp
from r1nes.parallel.executors import dask_backend, executor_backend
from r1nes.parallel.objective import Function, Objective, has_state, takes_key
from r1nes.parallel.processes import ProcessBackend
from r1nes.sampling.keys import Key
from r1nes.settings import RunSettings

Map = Callable[[Callable[[Array], float], Iterable[Array]], Iterable[float]]
Evaluate = Callable[[Array, Key | None], Array]  # points and the key of their generation → values
Rows = NDArray[np.intp]
IsOver = Callable[[], bool]  # whether the time is up

PART = 0.01  # seconds: tasks grow until they take as long, so that the clock is looked at between them


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
    objective: Objective,
    *,
    vectorized: bool,
    workers: Any,
    timeout: float | None,
    policy: RetryPolicy,
    is_over: IsOver | None,
) -> Iterator[Evaluate]:
    """Yield a function that maps points to values; leaving the context ends the workers it started.

    With ``is_over`` the function raises TimeIsUp in the middle of a generation, unless ``fun`` is vectorized
    or ``workers`` is a map.
    """
    if vectorized:
        if workers != 1:
            raise ValueError(f"workers must be 1 with vectorized=True, got {workers!r}")
        if objective.nan_on_failure:
            raise ValueError("on_failure must be 'raise' with vectorized=True; return NaN for a failed row")
    if workers == 1 or (callable(workers) and not isinstance(workers, Executor)):
        if timeout is not None:
            raise ValueError(f"timeout needs workers that can be abandoned, got workers={workers!r}")
        if workers == 1 and is_over is not None and not vectorized:
            yield partial(_evaluate_in_time, objective, is_over)
        elif workers == 1:
            yield objective.evaluate_at_once if vectorized else objective.evaluate
        else:
            yield partial(_evaluate_by_map, workers, objective)
        return
    one_by_one = timeout is not None or policy.retries == 0  # a loss is then that of one point
    with backend_for(workers, objective, timeout) as backend:
        yield partial(_evaluate_in_parallel, backend, policy, one_by_one=one_by_one, is_over=is_over)


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
    return ProcessBackend(cores() if workers == -1 else count("workers", workers), objective, timeout)


def _evaluate_by_map(map_: Map, objective: Objective, points: Array, key: Key | None) -> Array:
    value = objective.value if key is None else partial(objective.value, key=key)
    return np.array(list(map_(value, host(points))), dtype=np.float64)


def _evaluate_in_time(objective: Objective, is_over: IsOver, points: Array, key: Key | None) -> Array:
    """Evaluate points in this process, and look at the clock in between."""
    values, parts = np.empty(0), _GrowingParts(len(points), 1)
    while not is_over() and (rows := parts.take()).size:
        began = time.monotonic()
        values = np.concatenate([values, objective.evaluate(points[rows[0] : rows[-1] + 1], key)])
        parts.observe(rows, time.monotonic() - began)
    if len(values) < len(points):
        raise TimeIsUp(np.arange(len(values)), values)
    return values


def _evaluate_in_parallel(
    backend: Backend[Batch],
    policy: RetryPolicy,
    points: Array,
    key: Key | None,
    *,
    one_by_one: bool,
    is_over: IsOver | None,
) -> Array:
    points = host(points)

    def submit(rows: Rows) -> Ticket:
        return backend.submit(Batch(points[rows[0] : rows[-1] + 1], key))

    n = len(points)
    tasks = n if one_by_one else backend.workers
    return evaluate_with_retries(n, tasks, submit, backend, policy, is_over)


def evaluate_with_retries(
    n: int,
    tasks: int,
    submit: Callable[[Rows], Ticket],
    backend: Backend[Any],
    policy: RetryPolicy,
    is_over: IsOver | None = None,
) -> Array:
    """Evaluate a generation, repeating lost evaluations according to ``policy``.

    Args:
        n: The number of points.
        tasks: The number of tasks in the first attempt, each of neighbouring rows.
        submit: Submits the points of some rows to ``backend``.
        backend: Collects the outcomes.
        policy: Decides what happens to lost evaluations.
        is_over: Returns whether the time is up. If given, no worker has more than one task, there may be
            more and smaller tasks, and none begins later.

    Returns:
        The values of the n points.

    Raises:
        TimeIsUp: Some points have no value yet and may not be submitted any more.
    """
    values, is_known = np.full(n, np.nan), np.zeros(n, bool)
    missing, losses, reason = np.arange(n), 0, ""
    while missing.size and policy.allows_attempt(losses):
        if losses:
            backend.recover(losses)
        if losses == 0 and tasks < n and is_over is not None:
            parts: _Parts | _GrowingParts = _GrowingParts(n, tasks)
        else:
            parts = _Parts(missing, missing.size if losses else min(n, tasks))
        most = 1 if policy.isolates_attempt(losses) else n if is_over is None else backend.workers
        for rows, outcome in _outcomes(parts, most, submit, backend, is_over):
            if isinstance(outcome, Lost):
                reason = outcome.reason
            else:
                values[rows], is_known[rows] = outcome, True
        missing, losses = np.flatnonzero(~is_known), losses + 1
        if missing.size and is_over and is_over():
            raise TimeIsUp(np.flatnonzero(is_known), values[is_known])
    if missing.size:
        values[missing] = policy.final_values(missing.size, n, reason)
    return values


def _outcomes(
    parts: _Parts | _GrowingParts,
    most: int,
    submit: Callable[[Rows], Ticket],
    backend: Backend[Any],
    is_over: IsOver | None,
) -> Iterator[tuple[Rows, Outcome]]:
    """Submit ``parts``, ``most`` at a time, until the time is up; yield the rows and outcome of each."""
    under_way: dict[Ticket, tuple[Rows, float]] = {}
    while True:
        while len(under_way) < most and not (is_over and is_over()) and (rows := parts.take()).size:
            under_way[submit(rows)] = rows, time.monotonic()
        if not under_way:
            return
        for ticket, outcome in backend.collect():
            rows, began = under_way.pop(ticket)
            parts.observe(rows, time.monotonic() - began)
            yield rows, outcome


class _Parts:
    """Rows in a given number of parts of nearly the same size."""

    def __init__(self, rows: Rows, n: int) -> None:
        self._parts = iter(np.array_split(rows, n))

    def take(self) -> Rows:
        """Return the next part; an empty one at the end."""
        return next(self._parts, np.arange(0))

    def observe(self, rows: Rows, seconds: float) -> None:
        """Ignore how long a part took."""


class _GrowingParts:
    """All rows of a generation in parts that grow until one takes ``PART`` seconds.

    The last ones shrink again, so that all ``workers`` end at about the same time.
    """

    def __init__(self, n: int, workers: int) -> None:
        self._n, self._workers = n, workers
        self._first, self._size = 0, 1

    def take(self) -> Rows:
        """Return the next part; an empty one at the end."""
        left = self._n - self._first
        rows = np.arange(self._first, self._first + min(self._size, math.ceil(left / self._workers)))
        self._first += len(rows)
        return rows

    def observe(self, rows: Rows, seconds: float) -> None:
        """Let parts grow if one took little time."""
        if seconds < PART:
            self._size = max(self._size, 2 * len(rows))


def _is_one(workers: Any) -> bool:
    return isinstance(workers, int) and workers == 1


def _threads(workers: str) -> int:
    kind, _, number = workers.partition(":")
    if kind != "threads" or not number.isdecimal():
        raise ValueError(f"workers must be a number, 'threads:N', a map or an Executor, got {workers!r}")
    return count("workers", int(number))
