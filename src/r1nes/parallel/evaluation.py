"""How a generation gets its values: one by one, all at once, by any map, or in parallel whatever fails.

A value depends on its point alone, so an evaluation whose worker died, hung or was cut off is simply asked
for again: with others at first, and at last alone, so that only an evaluation that is itself the cause of
the loss can fail for good.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from r1nes.arguments import count, positive
from r1nes.arrays import Array, ArrayType, host
from r1nes.parallel.dask import Line
from r1nes.parallel.objective import Function, Objective
from r1nes.parallel.pools import Futures, Lost, Pool, Processes, Ticket

Map = Callable[[Callable[[Array], float], Iterable[Array]], Iterable[float]]
Evaluate = Callable[[Array], Array]
Rows = NDArray[np.intp]

ATTEMPTS = 4  # at each evaluation, the last one alone
MANY = 2**31  # workers, where nobody knows how many
ON_FAILURE = ("raise", "worst")


def objective_of(fun: Function, args: tuple[Any, ...], on_failure: str, array_type: ArrayType) -> Objective:
    """``fun`` as workers get it, and as ``on_failure`` says; its points live in ``array_type``."""
    if not callable(fun):
        raise TypeError(f"fun must be callable, got {fun!r}")
    if on_failure not in ON_FAILURE:
        raise ValueError(f"on_failure must be one of {', '.join(ON_FAILURE)}, got {on_failure!r}")
    elsewhere = None if array_type.library == "numpy" else array_type
    return Objective(fun, args, worst=on_failure == "worst", array_type=elsewhere)


@contextmanager
def evaluator(
    objective: Objective, *, vectorized: bool, workers: Any, timeout: float | None
) -> Iterator[Evaluate]:
    """A function from points to their values; what it starts ends with the context."""
    if vectorized:
        if workers != 1:
            raise ValueError(f"workers must be 1 with vectorized=True, got {workers!r}")
        if objective.worst:
            raise ValueError("on_failure must be 'raise' with vectorized=True: mark a failed row by NaN")
    if workers == 1 or (callable(workers) and not isinstance(workers, Executor)):
        if timeout is not None:
            raise ValueError(f"timeout needs workers that can be ended or given up, got workers={workers!r}")
        if vectorized:
            yield objective.at_once
        elif workers == 1:
            yield lambda points: np.array(objective.values(points))
        else:
            yield partial(_evaluate_by_map, workers, objective)
        return
    with pool_of(workers, objective, timeout) as pool:
        yield partial(_evaluate_in_pool, pool, worst=objective.worst, single=timeout is not None)


@contextmanager
def pool_of(workers: Any, objective: Objective, timeout: float | None) -> Iterator[Pool]:
    """The pool that ``workers`` asks for; its processes or threads, if its own, end with the context."""
    if timeout is not None:
        timeout = positive("timeout", timeout)
    with ExitStack() as stack:
        pool = _pool(workers, objective, timeout, stack)
        stack.callback(pool.end)
        yield pool


def _pool(workers: Any, objective: Objective, timeout: float | None, stack: ExitStack) -> Pool:
    if isinstance(workers, str):
        if timeout is not None:
            raise ValueError("timeout needs processes or an Executor: a thread cannot be ended")
        workers = ThreadPoolExecutor(_threads(workers))
        stack.callback(workers.shutdown, wait=False, cancel_futures=True)
    if isinstance(workers, Executor):
        return Futures(partial(_workers_of, workers), partial(_submit, workers, objective), timeout)
    if hasattr(workers, "get_executor"):  # a Dask client
        line = Line(workers)
        stack.callback(line.close)
        return Futures(partial(_threads_of, line), partial(_scatter, line, objective), timeout, line=line)
    if objective.array_type is not None:
        raise ValueError(
            f"workers must be 1, 'threads:N', an Executor, a Dask client or a map where x0 is an array of "
            f"{objective.array_type.library}, which does not survive the fork of a process; got {workers!r}"
        )
    return Processes(_cpus() if workers == -1 else count("workers", workers), objective, timeout)


def _submit(executor: Executor, objective: Objective, points: Array) -> Future[Any]:
    return executor.submit(objective.outcome, points)


def _scatter(line: Line, objective: Objective, points: Array) -> Future[Any]:
    """A task whose points travel apart from it, as Dask prefers large data to do."""
    return line.submit(objective.outcome, line.client.scatter(points, hash=False))


def _evaluate_by_map(map_: Map, objective: Objective, points: Array) -> Array:
    return np.array(list(map_(objective.value, host(points))), dtype=np.float64)


def _evaluate_in_pool(pool: Pool, points: Array, *, worst: bool, single: bool) -> Array:
    pieces = len(points) if single else pool.workers
    sent = host(points)

    def submit(rows: Rows) -> Ticket:
        return pool.submit(sent[rows[0] : rows[-1] + 1])

    return gather(len(points), pieces, submit, pool, worst=worst)


def gather(n: int, pieces: int, submit: Callable[[Rows], Ticket], pool: Pool, *, worst: bool) -> Array:
    """The values of ``n`` points, submitted in ``pieces`` of neighbours, and again where they are lost."""
    values = np.full(n, np.nan)
    missing = np.arange(n)
    why = Lost()
    for attempt in range(ATTEMPTS):
        if not missing.size:
            return values
        if attempt:
            pool.recover(attempt)
        parts = np.array_split(missing, min(missing.size, pieces if attempt == 0 else n))
        rounds = [[part] for part in parts] if attempt == ATTEMPTS - 1 else [parts]
        lost: list[Rows] = []
        for together in rounds:
            under_way = {submit(rows): rows for rows in together}
            while under_way:
                for ticket, outcome in pool.collect():
                    rows = under_way.pop(ticket)
                    if isinstance(outcome, Lost):
                        why = outcome
                        lost.append(rows)
                    else:
                        values[rows] = outcome
        missing = np.concatenate(lost) if lost else missing[:0]
    if missing.size:
        values[missing] = lost_for_good(missing.size, n, why, worst=worst)
    return values


def lost_for_good(lost: int, n: int, why: Lost, *, worst: bool) -> Array:
    """The values of ``lost`` out of ``n`` evaluations that nobody could do: NaN, or an error."""
    if not worst:
        raise RuntimeError(
            f"{lost} of {n} evaluations were lost {ATTEMPTS} times in a row, lastly because {why}; "
            "on_failure='worst' would rank them last"
        )
    return np.full(lost, np.nan)


def _threads(workers: str) -> int:
    kind, _, number = workers.partition(":")
    if kind != "threads" or not number.isdecimal():
        raise ValueError(f"workers must be a number, 'threads:N', a map or an Executor, got {workers!r}")
    return count("workers", int(number))


def _workers_of(executor: Executor) -> int:
    """How many it has, where it tells; else as many as there may be points."""
    known = getattr(executor, "_max_workers", getattr(executor, "num_workers", None))
    return known if isinstance(known, int) else MANY


def _threads_of(line: Line) -> int:
    """As many as its cluster has now: it may grow and shrink."""
    return max(1, sum(line.client.nthreads().values()))


def _cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
