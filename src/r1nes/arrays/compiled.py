"""Decorators for functions that numba compiles.

With few variables a generation is a few thousand multiplications, and most of its cost is the overhead of
some thirty calls from Python into NumPy. A function under ``@compiled`` pays that overhead once. The
functions it calls are decorated with ``@jitable``, ``@kernel`` or ``@inline_kernel``. Each compiled function
has a NumPy counterpart for runs without numba. Results are written into arrays passed as arguments, because
allocating arrays in numba is slow.

Importing numba takes as long as thousands of small generations, so a run starts without it. The machine code
is cached beside the source and is compiled again when the source of the function, or of any function it may
call, changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, cached_property, update_wrapper
from hashlib import sha256
from pathlib import Path
from types import CellType, FunctionType
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

STRIP = 2**9  # columns per strip when the data is in cache: a few rows of sums fit into the L1 cache
LONG_STRIP = 2**12  # columns per strip when rows come from main memory, where longer reads are faster
CACHED = 2**20  # numbers; about the size of an L3 cache
PATIENCE = 1.0  # seconds that numba must be able to save before it is worth loading
SAVING, SAVING_PER_NUMBER = 25e-6, 6e-9  # seconds saved per generation, and per number in it

FASTMATH = {"reassoc", "contract", "nsz"}  # sums may be reordered, as in BLAS

_sources: set[str] = set()  # files that define jitable functions
_unregistered: list[tuple[Callable[..., Any], Any]] = []  # jitable functions and their numba options


class compiled(Generic[P, R]):  # noqa: N801 - reads as the decorator it is
    """Decorator: a function of float64 arrays that numba compiles.

    Single precision is left to NumPy, because in numba a float times a float32 array is a float64 array.
    """

    def __init__(self, function: Callable[P, R]) -> None:
        """Wrap ``function`` without compiling it."""
        self._source = function

    @cached_property
    def fast(self) -> Callable[P, R]:
        """The compiled function; numba is imported on first access and compiles at the first call."""
        return jit(self._source)


def jitable(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator: let compiled functions call ``function``; calls from Python run it uncompiled."""
    return _register(function)


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator: like ``jitable``, for loops whose sums may be reordered."""
    return _register(function, fastmath=FASTMATH)


def inline_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator: a kernel of a single loop, inlined because a call costs more than a short loop."""
    return _register(function, fastmath=FASTMATH, forceinline=True)


def _register(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    _sources.add(function.__code__.co_filename)
    _unregistered.append((function, options))
    return function


@jitable
def strip_width(n: int, d: int) -> int:
    """Return the number of columns that loops process at a time in an (n, d) array."""
    return STRIP if n * d <= CACHED else LONG_STRIP


@cache
def numba_available() -> bool:
    """Return whether numba is installed; the first call imports it."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


def jit(function: Callable[P, R]) -> Callable[P, R]:
    """Compile ``function``, caching the result on disk; without a writable directory, once per process."""
    import numba
    from numba.extending import overload

    while _unregistered:
        source, options = _unregistered.pop()
        overload(source, jit_options=options, strict=False)(lambda *_, source=source: source)
    try:
        return numba.njit(error_model="numpy", cache=True)(_keyed(function))
    except RuntimeError:
        return numba.njit(error_model="numpy")(function)


def _keyed(function: Callable[P, R]) -> Callable[P, R]:
    """Return ``function`` with a digest of all jitable sources in its closure.

    numba keys its cache by a function's file, code and closure, but not by the functions that it calls.
    """
    sources = sha256(b"".join(Path(file).read_bytes() for file in sorted(_sources))).hexdigest()
    code = function.__code__.replace(co_freevars=("sources",))
    return update_wrapper(FunctionType(code, function.__globals__, closure=(CellType(sources),)), function)


def repaying_generation(numbers: int) -> int:
    """Return the generation, counted from 0, from which the compiled path repays the time to load numba.

    ``numbers`` is the size of one generation, n·d. The result depends on the run alone, not on a clock, so
    that the run can be repeated bit for bit.
    """
    saving = SAVING + SAVING_PER_NUMBER * numbers
    generation = math.floor(PATIENCE / saving)
    return generation if (generation + 1) * saving > PATIENCE else generation + 1  # despite rounding
