"""Decorators for functions that numba compiles.

With few variables a generation is a few thousand multiplications, and most of its cost is the overhead of
some thirty calls from Python into NumPy. A compiled function pays that overhead once. Functions that are
written for all libraries are compiled by ``arrays.one_text``. Those that only numba runs are decorated with
``@compiled``, and the functions they call with ``@jitable`` or ``@kernel``.

Whether a run uses numba is decided before it starts (``choose``). The machine code is
cached beside the source and is compiled again when the source of the function, or of any function it may
call, changes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property, update_wrapper
from hashlib import sha256
from pathlib import Path
from types import CellType, FunctionType
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from r1nes.arrays.libraries import ArrayType
from r1nes.extras import needs

P = ParamSpec("P")
R = TypeVar("R")

MANY_EVALUATIONS, MANY_VARIABLES = 50_000, 10_000  # from which on loading numba pays off

FASTMATH = {"reassoc", "contract", "nsz"}  # sums may be reordered, as in BLAS

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


def _register(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    _unregistered.append((function, options))
    return function


@cache
def numba_available() -> bool:
    """Return whether numba is installed; the first call imports it."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


def choose(compiled: bool | None, array_type: ArrayType, d: int, max_evals: float | None) -> tuple[bool, str]:
    """Return whether numba compiles a run, and the reason; ``compiled`` is the user's setting or None."""
    if array_type.library != "numpy" or array_type.dtype != np.float64:
        if compiled:
            raise ValueError(
                "compiled must not be True for x0 of float32, PyTorch or JAX: "
                "numba compiles only NumPy's float64"
            )
        return False, "numba compiles only NumPy arrays of float64"
    if compiled is not None:
        if compiled:
            with needs("numba", extra="fast"):
                import numba  # noqa: F401
        return compiled, "it was set"
    if d < MANY_VARIABLES and (max_evals is None or max_evals < MANY_EVALUATIONS):
        short = f"max_evals is not set or below {MANY_EVALUATIONS:,}"
        return False, f"{short} and d is below {MANY_VARIABLES:,}"
    if not numba_available():
        return False, "numba is not installed"
    return True, f"max_evals is at least {MANY_EVALUATIONS:,} or d at least {MANY_VARIABLES:,}"


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
    """Return ``function`` with a digest, in its closure, of the files that define it and what it calls.

    numba keys its cache by a function's file, code and closure, but not by the functions that it calls.
    """
    files = sorted(_files_of(function, set()))
    sources = sha256(b"".join(Path(file).read_bytes() for file in files)).hexdigest()
    code = function.__code__.replace(co_freevars=("sources",))
    return update_wrapper(FunctionType(code, function.__globals__, closure=(CellType(sources),)), function)


def _files_of(function: Any, seen: set[Any]) -> set[str]:
    """Return the files that define ``function`` and, directly or not, the functions it calls."""
    function = getattr(function, "py_func", function)  # of a function that numba compiles
    if not isinstance(function, FunctionType) or function in seen:
        return set()
    seen.add(function)
    called = (function.__globals__.get(name) for name in function.__code__.co_names)
    return {function.__code__.co_filename}.union(*(_files_of(each, seen) for each in called))
