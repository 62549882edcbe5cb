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
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from threading import Lock
from typing import Any

LARGE = 2**17  # multiplications of a product from which on OpenBLAS uses several threads, with a margin of 2


class OneThread:
    """A context in which BLAS has one thread; it may be entered by several threads at a time."""

    def __init__(self) -> None:
        """Change nothing yet."""
        self._lock, self._inside, self._before = Lock(), 0, list[int]()

    def __enter__(self) -> None:
        """Set one thread, unless another thread has."""
        with self._lock:
            if self._inside == 0:
                self._before = [library.get_num_threads() for library in _libraries("blas")]
                for library in _libraries("blas"):
                    library.set_num_threads(1)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        """Restore the number of threads when the last thread leaves."""
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                for library, threads in zip(_libraries("blas"), self._before, strict=True):
                    library.set_num_threads(threads)


_one_thread, _unchanged = OneThread(), nullcontext()


def one_thread(n: int, d: int) -> AbstractContextManager[None]:
    """Return a context with one thread if products of n points with a d × d matrix would use several."""
    return _one_thread if n * d * d >= LARGE else _unchanged


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
