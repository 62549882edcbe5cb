"""The array libraries that the tests run over, each as a function that makes its arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from r1nes.arrays import Array

LIBRARIES = ["numpy", "torch", "jax"]
WIDTHS = ["float64", "float32"]


def maker(library: str) -> Callable[..., Any]:
    """From values and a width to an array on the CPU."""
    if library == "torch":
        import torch

        return lambda values, width="float64": torch.tensor(np.asarray(values), dtype=getattr(torch, width))
    if library == "jax":
        import jax

        jax.config.update("jax_enable_x64", True)
        return lambda values, width="float64": jax.numpy.asarray(values, dtype=width)
    return lambda values, width="float64": np.array(values, dtype=width)


def plain(x: Any) -> Array:
    """As NumPy's, by way of DLPack: not the way of the code that is tested."""
    return np.array(np.from_dlpack(x))


def like(x: Any, other: Any) -> bool:
    """Whether two arrays are of one library, one width and on one device."""
    return type(x) is type(other) and x.dtype == other.dtype and x.device == other.device


def ellipsoid(X: Any) -> Any:
    """Rotated, of condition 100, for points in rows of any library; also for one point."""
    library = "numpy" if isinstance(X, np.ndarray) else "torch" if "torch" in str(X.dtype) else "jax"
    Z = X @ _root(X.shape[-1], library, str(X.dtype).removeprefix("torch."))
    return (Z * Z).sum(-1)


@cache
def _root(d: int, library: str, width: str) -> Any:
    Q = np.linalg.qr(np.random.default_rng(d).standard_normal((d, d)))[0]
    return maker(library)(Q * np.logspace(0, 1, d), width)
