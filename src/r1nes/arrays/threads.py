"""One thread for matrix products, which are too small to gain from more.

On a machine whose cores are busy, the threads of OpenBLAS wait for each other: a step with 256 variables
takes 28 times as long (``benchmarks/busy_cores.py``). With one thread, the digits of a run do not depend on
the number of cores either. The number of threads is restored after each step, for the objective. This needs
threadpoolctl, which ``r1nes[fast]`` installs; without it, the environment decides on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

LARGE = 2**17  # multiplications of a product from which on OpenBLAS uses several threads, with a margin of 2


@contextmanager
def one_thread(n: int, d: int) -> Iterator[None]:
    """Use one thread within the context if products of n points with a d × d matrix would use several."""
    libraries = _libraries() if n * d * d >= LARGE else []
    before = [library.get_num_threads() for library in libraries]
    try:
        for library in libraries:
            library.set_num_threads(1)
        yield
    finally:
        for library, threads in zip(libraries, before, strict=True):
            library.set_num_threads(threads)


@cache
def _libraries() -> list[Any]:
    """Return the controls of the BLAS libraries in use, none without threadpoolctl."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return []
    found: list[Any] = ThreadpoolController().select(user_api="blas").lib_controllers
    return found
