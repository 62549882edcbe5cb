"""The number of threads of libraries such as BLAS, in steps and in worker processes.

The products of a step are too small to gain from several threads. On a machine whose cores are busy, the
threads of OpenBLAS wait for each other: a step with 256 variables takes 28 times as long
(``benchmarks/busy_cores.py``). With one thread, the digits of a run do not depend on the number of cores
either. The number of threads is restored after each step, for the objective. Worker processes share the
cores, so each uses its share of the threads.

This needs threadpoolctl, which ``r1nes[fast]`` installs; without it, the environment decides.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

LARGE = 2**17  # multiplications of a product from which on OpenBLAS uses several threads, with a margin of 2


@contextmanager
def one_thread(n: int, d: int) -> Iterator[None]:
    """Use one thread within the context if products of n points with a d × d matrix would use several."""
    libraries = _libraries("blas") if n * d * d >= LARGE else []
    before = [library.get_num_threads() for library in libraries]
    try:
        for library in libraries:
            library.set_num_threads(1)
        yield
    finally:
        for library, threads in zip(libraries, before, strict=True):
            library.set_num_threads(threads)


def share_cores(processes: int) -> None:
    """Let this process, one of several, use its share of the cores, and no more threads than before."""
    for library in (*_libraries("blas"), *_libraries("openmp")):
        library.set_num_threads(min(library.get_num_threads(), max(1, cores() // processes)))


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _libraries(kind: str) -> list[Any]:
    """Return the controls of the libraries in use, none without threadpoolctl."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return []
    found: list[Any] = ThreadpoolController().select(user_api=kind).lib_controllers
    return found
