"""Array libraries under test, and helpers to create and compare their arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from r1nes.arrays import Array

LIBRARIES = ["numpy", "torch", "jax"]
WIDTHS = ["float64", "float32"]


def maker(library: str) -> Callable[..., Any]:
    """A function that converts values to a CPU array of the ``library``, with a given dtype."""
    if library == "torch":
        import torch

        return lambda values, width="float64": torch.tensor(np.asarray(values), dtype=getattr(torch, width))
    if library == "jax":
        import jax

        jax.config.update("jax_enable_x64", True)
        return lambda values, width="float64": jax.numpy.asarray(values, dtype=width)
    return lambda values, width="float64": np.array(values, dtype=width)


def plain(x: Any) -> Array:
    """Convert ``x`` to NumPy through DLPack, independently of the code under test."""
    return np.array(np.from_dlpack(x))


def like(x: Any, other: Any) -> bool:
    """Whether two arrays have the same library, dtype and device."""
    return type(x) is type(other) and x.dtype == other.dtype and x.device == other.device


def ellipsoid(X: Any) -> Any:
    """A rotated ellipsoid of condition number 100, for points in rows or a single point of any library."""
    library = "numpy" if isinstance(X, np.ndarray) else "torch" if "torch" in str(X.dtype) else "jax"
    Z = X @ _root(X.shape[-1], library, str(X.dtype).removeprefix("torch."))
    return (Z * Z).sum(-1)


@cache
def _root(d: int, library: str, width: str) -> Any:
    Q = np.linalg.qr(np.random.default_rng(d).standard_normal((d, d)))[0]
    return maker(library)(Q * np.logspace(0, 1, d), width)
