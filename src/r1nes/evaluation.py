"""How a generation gets its values: one by one, all at once, in processes, or by any map."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from r1nes.arguments import count
from r1nes.arrays import Array

Objective = Callable[..., Any]
Map = Callable[[Callable[[Array], float], Iterable[Array]], Iterable[float]]
Evaluate = Callable[[Array], Array]


@contextmanager
def evaluator(
    fun: Objective, args: tuple[Any, ...], *, vectorized: bool, workers: int | Map
) -> Iterator[Evaluate]:
    """A function from points to their values; its processes, if any, end with the context.

    ``fun`` always gets copies, so it may change its argument.
    """
    if not callable(fun):
        raise TypeError(f"fun must be callable, got {fun!r}")
    if vectorized:
        if workers != 1:
            raise ValueError(f"workers must be 1 with vectorized=True, got {workers!r}")
        yield partial(_evaluate_at_once, fun, args)
        return
    value_of = partial(_value_of, fun, args)
    if callable(workers):
        yield partial(_evaluate_by_map, workers, value_of)
        return
    processes = _cpus() if workers == -1 else count("workers", workers)
    if processes == 1:
        yield partial(_evaluate_by_map, map, value_of)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield partial(_evaluate_in_pool, pool, processes, value_of)


def _value_of(fun: Objective, args: tuple[Any, ...], x: Array) -> float:
    value = fun(x, *args)
    if isinstance(value, float):  # np.float64 too: the common case, kept cheap
        return value
    number = np.asarray(value)
    if number.size != 1 or number.dtype.kind not in "fiub":
        raise TypeError(f"fun must return one real number, got {value!r}")
    return float(number.item())


def _evaluate_by_map(map_: Map, value_of: Callable[[Array], float], points: Array) -> Array:
    return np.array(list(map_(value_of, (x.copy() for x in points))), dtype=np.float64)


def _evaluate_in_pool(
    pool: ProcessPoolExecutor, processes: int, value_of: Callable[[Array], float], points: Array
) -> Array:
    chunk = math.ceil(len(points) / processes)  # one message per process and generation
    return np.array(list(pool.map(value_of, points, chunksize=chunk)), dtype=np.float64)


def _evaluate_at_once(fun: Objective, args: tuple[Any, ...], points: Array) -> Array:
    values = np.asarray(fun(points.copy(), *args))
    n = len(points)
    if values.shape not in ((n,), (n, 1)) or values.dtype.kind not in "fiub":
        raise TypeError(
            f"fun must return one real number per row, shape ({n},), with vectorized=True; "
            f"got shape {values.shape} of dtype {values.dtype}"
        )
    return values.reshape(n)


def _cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
