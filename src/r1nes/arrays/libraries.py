"""The arrays that other modules speak of: NumPy's or, where ``x0`` is one of theirs, PyTorch's or JAX's.

What grows with the number of variables lives where ``x0`` does. Numbers, values, utilities and matrices of a
few rows stay with NumPy, on the host. No other module knows of PyTorch or JAX; nor does this one import them
before the user has.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from r1nes.extras import needs

Array = NDArray[np.floating[Any]]  # or what behaves like one, as far as the array API standard goes

WIDTHS = ("float32", "float64")


@dataclass(frozen=True, slots=True)
class ArrayType:
    """Where the arrays of a run live, and how wide their numbers are."""

    library: str  # "numpy", "torch" or "jax"
    dtype: np.dtype[Any]
    device: Any = None  # as the library calls it

    @property
    def name(self) -> str | None:
        """What ``array_type_named`` understands; None is NumPy."""
        if self.library == "jax":
            return f"jax:{self.device.platform}:{self.device.id}"
        return f"torch:{self.device}" if self.library == "torch" else None

    def array(self, values: Any) -> Array:
        """The ``values``, which nobody may change any more, as an array of this type."""
        if self.library == "numpy":
            return np.asarray(values, self.dtype)
        if library_of(values) != self.library:
            values = np.ascontiguousarray(host(values))
        elif self.library == "torch":
            values = values.detach()
        xp = _namespace_of(self.library)
        return xp.asarray(values, dtype=getattr(xp, self.dtype.name), device=self.device)

    def normal(self, key: np.random.SeedSequence, shape: tuple[int, ...]) -> Array:
        """Standard normal numbers from the device's own generator, which ``key`` alone determines."""
        if self.library == "torch":
            import torch

            generator = torch.Generator(self.device)
            generator.manual_seed(int(key.generate_state(1, np.uint64)[0]))
            dtype = getattr(torch, self.dtype.name)
            return torch.randn(shape, generator=generator, dtype=dtype, device=self.device)
        if self.library != "jax":
            raise ValueError("noise='device' needs x0 as a tensor of PyTorch or an array of JAX, got NumPy's")
        import jax

        first, second = (int(word) for word in key.generate_state(2))
        with jax.default_device(self.device):
            stream = jax.random.fold_in(jax.random.key(first), second)
            return jax.random.normal(stream, shape, self.dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        """By name: not every device can be sent to another process."""
        return array_type_named, (self.name, self.dtype)


def array_type_of(x0: Any) -> ArrayType:
    """Where ``x0`` lives, an array of float32 or float64."""
    library = library_of(x0)
    width = str(x0.dtype).removeprefix("torch.")
    if width not in WIDTHS:
        raise TypeError(f"x0 of {library} must be float32 or float64, got {width}")
    if library == "numpy":
        return ArrayType(library, x0.dtype)
    if library == "torch":
        return ArrayType(library, np.dtype(width), x0.device)
    devices = x0.devices()
    if len(devices) != 1:
        raise ValueError(f"x0 must live on one device, got an array on {len(devices)}")
    return ArrayType(library, np.dtype(width), *devices)


def array_type_named(name: str | None, dtype: np.dtype[Any]) -> ArrayType:
    """The array type of that ``name``."""
    if name is None:
        return ArrayType("numpy", dtype)
    library, _, device = name.partition(":")
    if library == "torch":
        with needs("torch", extra="torch"):
            import torch
        return ArrayType(library, dtype, torch.device(device))
    if library != "jax":
        raise ValueError(f"arrays must be of torch or jax, got {name!r}")
    with needs("jax", extra="jax"):
        import jax
    platform, _, number = device.partition(":")
    found = [one for one in jax.devices(platform) if one.id == int(number)]
    if not found:
        raise ValueError(f"JAX finds no device {device!r}, where the arrays lived")
    return ArrayType(library, dtype, found[0])


def as_start(x0: ArrayLike) -> tuple[Array, ArrayType]:
    """A private, contiguous copy of ``x0`` on the host, a vector of finite numbers, and where it came from.

    float32 stays; all else of NumPy's becomes float64, and of others it is refused.
    """
    given = np.atleast_1d(host(x0))
    if given.ndim != 1 or given.size == 0:
        raise ValueError(f"x0 must be a vector of at least one number, got shape {given.shape}")
    if given.dtype.kind not in "fiub":
        raise TypeError(f"x0 must hold real numbers, got dtype {given.dtype}")
    start: Array = np.array(given, dtype=np.float32 if given.dtype == np.float32 else np.float64)
    if not np.isfinite(start).all():
        first = int(np.flatnonzero(~np.isfinite(start))[0])
        raise ValueError(f"x0 must be finite, got x0[{first}] = {start[first]}")
    return start, array_type_of(start if library_of(x0) == "numpy" else x0)


def library_of(x: object) -> str:
    """Whose array ``x`` is; what is not an array of PyTorch or JAX is NumPy's."""
    if type(x) is not np.ndarray:
        for library, name in (("torch", "Tensor"), ("jax", "Array")):
            kind = getattr(sys.modules.get(library), name, None)
            if kind is not None and isinstance(x, kind):
                return library
    return "numpy"


def host(x: Any) -> Array:
    """``x`` as an array of NumPy that can be changed: itself, if it is one."""
    if type(x) is np.ndarray:
        return x
    library = library_of(x)
    if library == "torch":
        x = x.detach().cpu()
        return (x.float() if str(x.dtype) == "torch.bfloat16" else x).numpy()
    if library == "jax":
        return np.array(x.astype("float32") if str(x.dtype) == "bfloat16" else x)
    listed = isinstance(x, list | tuple) and "torch" in sys.modules
    if listed and any(library_of(value) == "torch" for value in x):
        x = [host(value) for value in x]  # NumPy would read those of the CPU only, without gradients
    return np.asarray(x)


def namespace(x: Array) -> Any:
    """The functions of the array API standard for ``x``."""
    return np if type(x) is np.ndarray else _namespace_of(library_of(x))


def on_host(x: Array) -> bool:
    """Whether ``x`` is NumPy's."""
    return type(x) is np.ndarray


def like(values: Array, x: Array) -> Array:
    """The ``values`` of an array on the host, as an array where ``x`` is and as wide."""
    if type(x) is np.ndarray:
        return values
    device: Any = x.device
    return namespace(x).asarray(values, dtype=x.dtype, device=device, copy=True)


def zeros(shape: tuple[int, ...], x: Array) -> Array:
    """Where ``x`` is and as wide."""
    if type(x) is np.ndarray:
        return np.zeros(shape, x.dtype)
    return namespace(x).zeros(shape, dtype=x.dtype, device=x.device)


def stacked(rows: list[Array], x: Array) -> Array:
    """The ``rows`` as a matrix: NumPy's are views of ``x``, so that is the matrix already."""
    return x if type(x) is np.ndarray else namespace(x).stack(rows)


def joined(rows: list[Array], x: Array) -> Array:
    """The ``rows`` as a matrix: NumPy's take the place of ``x``, since fresh memory costs as much again."""
    if type(x) is not np.ndarray:
        return namespace(x).stack(rows)
    for i, row in enumerate(rows):
        x[i] = row
    return x


def copied(x: Array) -> Array:
    """Another array that its owner may change, where arrays can be changed."""
    return x.copy() if type(x) is np.ndarray else namespace(x).asarray(x, copy=True)


@cache
def _namespace_of(library: str) -> Any:
    if library == "numpy":
        return np
    with needs("array_api_compat", extra="arrays"):
        import array_api_compat
    if library == "jax":
        import jax.numpy

        return jax.numpy
    import array_api_compat.torch

    return array_api_compat.torch
