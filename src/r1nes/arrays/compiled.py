"""Arithmetic in loops, as numba compiles it; what is to run without numba is there a second time, for NumPy.

With few variables a generation is a few thousand multiplications, and what it costs is the way from Python
into NumPy and back, some thirty times. A function under ``@compiled`` goes that way once; what it calls is
under ``@part``, ``@kernel`` or ``@loop``. Results go into arrays that are given: numba is slow to make them.

Loading numba takes as long as thousands of such generations, so a run begins without it. Machine code is kept
beside the source, until it or a source of its parts changes.

Tiles keep what a formula needs in between within the cache of the processor, and out of the memory that grows
with n·d.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property, update_wrapper
from hashlib import sha256
from pathlib import Path
from types import CellType, FunctionType
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

TILE = 2**18  # numbers, of about the size of a second-level cache
NARROWEST = 2**9  # columns of a tile, however many rows there are
STRIP = 2**9  # columns that loops work on, row after row: a few rows of sums fit into a first-level cache
LONG_STRIP = 2**12  # columns, where rows come from memory, which gives them faster in long pieces
CACHED = 2**20  # numbers, of about the size of a third-level cache
PATIENCE = 1.0  # seconds that numba must be able to save before it is worth loading
SAVING, SAVING_PER_NUMBER = 25e-6, 6e-9  # seconds saved per generation, and per number in it

SUMS = {"reassoc", "contract", "nsz"}  # sums may be taken in any order, as BLAS does

_sources: set[str] = set()  # files of parts
_parts: list[tuple[Callable[..., Any], Any]] = []  # that numba does not know yet, and its options


class compiled(Generic[P, R]):  # noqa: N801 - reads as the decorator it is
    """A function of float64 arrays for numba.

    Single precision is left to NumPy: to numba a float times a float32 array is a float64 array.
    """

    def __init__(self, function: Callable[P, R]) -> None:
        """Nothing is compiled yet."""
        self._source = function

    @cached_property
    def fast(self) -> Callable[P, R]:
        """The machine code; it is made at the first call."""
        return jit(self._source)


def part(function: Callable[P, R]) -> Callable[P, R]:
    """A function that compiled ones may call; from Python it runs as it is."""
    return _add(function)


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """A part that is made of loops, and takes sums in any order."""
    return _add(function, fastmath=SUMS)


def loop(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel of one loop, which becomes a part of its callers: a call costs more than a few numbers do."""
    return _add(function, fastmath=SUMS, forceinline=True)


def _add(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    _sources.add(function.__code__.co_filename)
    _parts.append((function, options))
    return function


@part
def strip(n: int, d: int) -> int:
    """The columns that loops work on, row after row, where ``n`` rows have ``d`` of them."""
    return STRIP if n * d <= CACHED else LONG_STRIP


@cache
def available() -> bool:
    """Whether numba is installed; a first answer imports it."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


def jit(function: Callable[P, R]) -> Callable[P, R]:
    """The machine code of ``function``; where no directory can keep it, it is compiled in every process."""
    import numba
    from numba.extending import overload

    while _parts:
        source, options = _parts.pop()
        overload(source, jit_options=options, strict=False)(lambda *_, source=source: source)
    try:
        return numba.njit(error_model="numpy", cache=True)(_keyed(function))
    except RuntimeError:
        return numba.njit(error_model="numpy")(function)


def _keyed(function: Callable[P, R]) -> Callable[P, R]:
    """The same, with a closure that holds a digest of all sources of parts.

    Machine code that is kept belongs to a function, its file and its closure, and not to what it calls.
    """
    sources = sha256(b"".join(Path(file).read_bytes() for file in sorted(_sources))).hexdigest()
    code = function.__code__.replace(co_freevars=("sources",))
    return update_wrapper(FunctionType(code, function.__globals__, closure=(CellType(sources),)), function)


def pays_off(generations: int, numbers: int) -> bool:
    """Return whether ``generations`` of so many ``numbers`` each repay the time that loading numba takes.

    The answer depends on the run alone, not on a clock, so that a run can be repeated bit for bit.
    """
    return generations * (SAVING + SAVING_PER_NUMBER * numbers) > PATIENCE
