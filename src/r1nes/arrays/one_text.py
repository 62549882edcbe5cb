"""Functions that are written once and run under NumPy, numba, PyTorch and JAX.

An ``@one_text`` function uses the operations below, under the names given here, and other such functions. As
it stands, it is a NumPy function. For another library the same code is bound to that library's operations;
numba and JAX compile the result.

    xp            the array API namespace              number     an array of one element → a number
    dot           the matrix product                   sqrt, exp, log, least, most     functions of numbers
    join          arrays → one array                   add_product     C + AB; C may be overwritten
    svd           singular values and left vectors     powers     the squared length of each row of A
    triangle      the inverse of the Cholesky factor   total      the sum of a vector
    inner         ABᵀ for a few rows
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, update_wrapper
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np
from scipy.linalg.blas import dgemm, sgemm
from scipy.linalg.lapack import dgesvd, dpotrf, dtrtri, sgesvd, spotrf, strtri

from r1nes.arrays.compiled import FASTMATH, jit
from r1nes.arrays.libraries import Array, namespace_of

P = ParamSpec("P")
R = TypeVar("R")

LONG = 1500  # numbers per row from which ``inner`` avoids matrix products

xp = np
dot = np.ndarray.dot  # faster than np.dot
join = np.concatenate
number = float
total = np.add.reduce  # faster than the method
sqrt, exp, log, least, most = math.sqrt, math.exp, math.log, min, max


# LAPACK called through SciPy takes a third of the time of np.linalg for a few rows.
def svd(A: Array) -> tuple[Array, Array]:
    """Return the singular values of A, largest first, and its left singular vectors, in columns."""
    U, values, _, _ = dgesvd(A) if A.dtype.char == "d" else sgesvd(A)
    return values, U


def triangle(A: Array) -> Array:
    """Return L⁻¹, where A = LLᵀ is positive definite and L is lower triangular."""
    if A.dtype.char == "d":
        return dtrtri(dpotrf(A, 1)[0], 1)[0]
    return strtri(spotrf(A, 1)[0], 1)[0]


def add_product(C: Array, A: Array, B: Array) -> Array:
    """Return C + AB; C, which must be contiguous, may be overwritten."""
    gemm, transposed = dgemm if C.dtype.char == "d" else sgemm, A.flags.c_contiguous
    return gemm(1.0, B.T, A.T if transposed else A, 1.0, C.T, trans_b=not transposed, overwrite_c=1).T


def inner(A: Array, B: Array) -> Array:
    """Return ABᵀ for a few rows; BLAS takes ten times as long as its dot products if these are long."""
    if A.shape[1] < LONG:
        return A.dot(B.T)
    return np.array([[a.dot(b) for b in B] for a in A])


def powers(A: Array) -> Array:
    """Return the squared length of each row of A."""
    return np.vecdot(A, A)


def diag(w: Array) -> Array:
    """Return the matrix with the diagonal ``w``; np.diag is slower."""
    A = np.zeros((w.size, w.size), w.dtype)
    A.flat[:: w.size + 1] = w
    return A


def diagonal(A: Array) -> Array:
    """Return the diagonal of A."""
    return A.diagonal()


def clip(x: Array, low: float | Array, high: float | Array) -> Array:
    """Return x, cut off at ``low`` and ``high``."""
    return np.minimum(np.maximum(x, low), high)


class one_text(Generic[P, R]):  # noqa: N801 - reads as the decorator it is
    """Decorator: a function that every library runs from the same text."""

    def __init__(self, function: Callable[P, R]) -> None:
        """Wrap ``function``, which is NumPy's as it stands."""
        self.numpy = function
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the text with NumPy, or trace it, if a text of another library is calling."""
        return self.numpy(*args, **kwargs)

    @cache  # noqa: B019 - texts live as long as their module
    def of(self, library: str) -> Callable[P, R]:
        """Return the function for arrays of ``library``; numba and JAX compile it at its first call."""
        if library == "jax":
            import jax

            return jax.jit(self.bound("jax", number=lambda x: x, **_functions_of_numbers()))
        return self.eager(library)

    @cache  # noqa: B019
    def eager(self, library: str) -> Callable[P, R]:
        """Return the same function, but one that JAX does not compile, for texts that branch on numbers."""
        return jit(self.bound(library)) if library == "numba" else self.bound(library)

    def bound(self, library: str, **changes: Any) -> Any:
        """Return the same code, with the names of ``library`` for its operations and other texts."""
        source: Any = self.numpy
        names = {**source.__globals__, **_operations(library), **changes}
        for name in source.__code__.co_names:
            text = names.get(name)
            if isinstance(text, one_text):
                names[name] = text.eager(library) if library == "numba" else text.bound(library, **changes)
        return update_wrapper(FunctionType(source.__code__, names, source.__name__), source)


@cache
def _operations(library: str) -> dict[str, Any]:
    if library == "numpy":
        return {}  # as they stand above
    if library == "numba":
        return _numba_operations()
    space = namespace_of(library)
    linalg = space.linalg
    return {
        "xp": space,
        "dot": space.matmul,
        "join": space.concat,
        "total": space.sum,
        "svd": lambda A: linalg.svd(A)[1::-1],
        "triangle": lambda A: linalg.inv(linalg.cholesky(A)),
        "add_product": lambda C, A, B: C + A @ B,
        "inner": lambda A, B: A @ B.T,
        "powers": lambda A: space.vecdot(A, A),
        "diag": space.diag,
        "diagonal": linalg.diagonal,
        "clip": space.clip,
    }


def _functions_of_numbers() -> dict[str, Any]:
    import jax.numpy as jnp

    return {"sqrt": jnp.sqrt, "exp": jnp.exp, "log": jnp.log, "least": jnp.minimum, "most": jnp.maximum}


def _product(A: Array, B: Array) -> Array:
    """Return AB in functions that numba compiles, where ``_implemented`` replaces it."""
    return np.dot(A, B)


def _implemented(A: Any, B: Any) -> Any:
    """Return AB as numba code for arrays of these types: a loop with a vector, else a call of BLAS."""

    def of_vectors(A: Array, B: Array) -> float:
        total = 0.0
        for j in range(A.size):
            total += A[j] * B[j]
        return total

    def of_rows(A: Array, B: Array) -> Array:
        out = np.zeros(B.shape[1], B.dtype)
        for i in range(A.size):
            for j in range(out.size):
                out[j] += A[i] * B[i, j]
        return out

    if B.ndim == 1:
        return of_vectors if A.ndim == 1 else lambda A, B: np.dot(A, B)
    return of_rows if A.ndim == 1 else lambda A, B: np.dot(A, B)


def _numba_operations() -> dict[str, Any]:
    import numba
    from numba.extending import overload

    njit = numba.njit(error_model="numpy")
    overload(_product, jit_options={"fastmath": FASTMATH}, strict=False)(_implemented)

    @njit
    def svd(A: Array) -> tuple[Array, Array]:
        U, values, _ = np.linalg.svd(A)
        return values, U

    @njit
    def add_product(C: Array, A: Array, B: Array) -> Array:
        out = np.dot(A, B)
        out += C
        return out

    @numba.njit(error_model="numpy", fastmath=FASTMATH)
    def inner(A: Array, B: Array) -> Array:
        out = np.empty((len(A), len(B)))
        for i in range(len(A)):
            for j in range(len(B)):
                a, b, total = A[i], B[j], 0.0
                for m in range(a.size):
                    total += a[m] * b[m]
                out[i, j] = total
        return out

    @numba.njit(error_model="numpy", fastmath=FASTMATH)
    def powers(A: Array) -> Array:
        out = np.empty(len(A))
        for i in range(len(A)):
            a, power = A[i], 0.0
            for j in range(a.size):
                power += a[j] * a[j]
            out[i] = power
        return out

    return {
        "dot": njit(lambda A, B: _product(A, B)),
        "diag": np.diag,
        "number": njit(lambda x: x),
        "total": njit(lambda x: x.sum()),
        "svd": svd,
        "triangle": njit(lambda A: np.linalg.inv(np.linalg.cholesky(A))),
        "add_product": add_product,
        "inner": inner,
        "powers": powers,
        "diagonal": njit(lambda A: np.diag(A)),
        "clip": njit(lambda x, low, high: np.minimum(np.maximum(x, low), high)),
    }
