"""The array libraries that the tests run over, and runs whose points are arrays of any of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from r1nes import Optimizer
from r1nes.arrays import Array
from r1nes.strategies import STRATEGIES

LIBRARIES = ["numpy", "torch", "jax"]
WIDTHS = ["float64", "float32"]
START = np.linspace(-1, 2, 6)
BOUNDS = [(-1.5, 2.5)] * 6

every_method = pytest.mark.parametrize("method", sorted(STRATEGIES))
every_library = pytest.mark.parametrize("library", LIBRARIES)
every_other = pytest.mark.parametrize("library", ["torch", "jax"])  # other than NumPy
every_width = pytest.mark.parametrize("width", WIDTHS)
both_ways = pytest.mark.parametrize(("width", "bounds"), [("float64", None), ("float32", BOUNDS)])


def maker(library: str) -> Callable[..., Any]:
    """Return a function that makes CPU arrays of ``library`` from values and a width."""
    if library == "torch":
        import torch

        return lambda values, width="float64": torch.tensor(np.asarray(values), dtype=getattr(torch, width))
    if library == "jax":
        import jax

        jax.config.update("jax_enable_x64", True)
        return lambda values, width="float64": jax.numpy.asarray(values, dtype=width)
    return lambda values, width="float64": np.array(values, dtype=width)


def plain(x: Any) -> Array:
    """Copy ``x`` to a NumPy array by DLPack, which the code under test does not use."""
    return np.array(np.from_dlpack(x))


def like(x: Any, other: Any) -> bool:
    """Whether two arrays share their library, width and device."""
    return type(x) is type(other) and x.dtype == other.dtype and x.device == other.device


def ellipsoid(X: Any) -> Any:
    """A rotated ellipsoid of condition 100, for one point or points in rows, in any library."""
    library = "numpy" if isinstance(X, np.ndarray) else "torch" if "torch" in str(X.dtype) else "jax"
    Z = X @ _root(X.shape[-1], library, str(X.dtype).removeprefix("torch."))
    return (Z * Z).sum(-1)


@cache
def _root(d: int, library: str, width: str) -> Any:
    Q = np.linalg.qr(np.random.default_rng(d).standard_normal((d, d)))[0]
    return maker(library)(Q * np.logspace(0, 1, d), width)


def started(library: str, width: str = "float64", **settings: Any) -> Optimizer:
    """An optimizer that starts from ``START`` as an array of ``library``."""
    return Optimizer(maker(library)(START, width), 0.5, **{"popsize": 8, "rng": 1, **settings})


def run(optimizer: Optimizer, generations: int) -> list[Array]:
    """Minimize the ellipsoid and return the mean after each generation."""
    means = []
    for _ in range(generations):
        X = optimizer.ask()
        optimizer.tell(X, ellipsoid(X))
        means.append(plain(optimizer.strategy.mean))
    return means
