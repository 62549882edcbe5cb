"""Array handling for NumPy, PyTorch and JAX; ``x0`` selects the library.

Arrays that grow with the number of variables stay in the library and on the device of ``x0``. Scalars,
objective values, utilities and matrices of a few rows are NumPy's, on the host. All code specific to PyTorch
or JAX is in this module, which imports them only if the user already has or if a checkpoint needs them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from r1nes.arguments import shown
from r1nes.extras import needs

Array = NDArray[np.floating[Any]]  # or any array that follows the array API standard

WIDTHS = ("float32", "float64")


@dataclass(frozen=True, slots=True)
class ArrayType:
    """The library, dtype and device of the arrays of a run."""

    library: str  # "numpy", "torch" or "jax"
    dtype: np.dtype[Any]
    device: Any = None  # the device object of the library

    @property
    def name(self) -> str | None:
        """The name that ``array_type_named`` accepts; None for NumPy."""
        if self.library == "jax":
            return f"jax:{self.device.platform}:{self.device.id}"
        return f"torch:{self.device}" if self.library == "torch" else None

    def array(self, values: Any) -> Array:
        """Convert ``values`` to this type; the result may share their memory, so they must not change."""
        if self.library == "numpy":
            return np.asarray(values, self.dtype)
        if library_of(values) != self.library:
            values = np.ascontiguousarray(host(values))
        elif self.library == "torch":
            values = values.detach()
        xp = namespace_of(self.library)
        return xp.asarray(values, dtype=getattr(xp, self.dtype.name), device=self.device)

    def normal(self, key: np.random.SeedSequence, shape: tuple[int, ...]) -> Array:
        """Return standard normal numbers from the device's own generator, determined by ``key``."""
        if self.library == "torch":
            import torch

            generator = torch.Generator(self.device)
            generator.manual_seed(int(key.generate_state(1, np.uint64)[0]))
            dtype = getattr(torch, self.dtype.name)
            return torch.randn(shape, generator=generator, dtype=dtype, device=self.device)
        if self.library != "jax":
            raise ValueError(
                "sampling='device' needs a PyTorch tensor or a JAX array as x0, got a NumPy array"
            )
        import jax

        first, second = (int(word) for word in key.generate_state(2))
        with jax.default_device(self.device):
            stream = jax.random.fold_in(jax.random.key(first), second)
            return jax.random.normal(stream, shape, self.dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by name, since some device objects cannot be pickled."""
        return array_type_named, (self.name, self.dtype)


def array_type_of(x0: Any) -> ArrayType:
    """Return the array type of ``x0``, which must be float32 or float64."""
    library = library_of(x0)
    width = str(x0.dtype).removeprefix("torch.")
    if width not in WIDTHS:
        raise TypeError(f"x0 must be an array of float32 or float64, got a {library} array of {width}")
    if library == "numpy":
        return ArrayType(library, x0.dtype)
    if library == "torch":
        return ArrayType(library, np.dtype(width), x0.device)
    devices = x0.devices()
    if len(devices) != 1:
        raise ValueError(f"x0 must be on a single device, got an array on {len(devices)} devices")
    return ArrayType(library, np.dtype(width), *devices)


def array_type_named(name: str | None, dtype: np.dtype[Any]) -> ArrayType:
    """Return the array type with the given ``name`` and ``dtype``."""
    if name is None:
        return ArrayType("numpy", dtype)
    library, _, device = name.partition(":")
    if library == "torch":
        with needs("torch", extra="torch"):
            import torch
        return ArrayType(library, dtype, torch.device(device))
    if library != "jax":
        raise ValueError(f"arrays must be 'torch:…' or 'jax:…', got {name!r}")
    with needs("jax", extra="jax"):
        import jax
    platform, _, number = device.partition(":")
    found = [one for one in jax.devices(platform) if one.id == int(number)]
    if not found:
        raise ValueError(f"JAX has no device {device!r}, where the arrays were stored")
    return ArrayType(library, dtype, found[0])


def as_start(x0: ArrayLike) -> tuple[Array, ArrayType]:
    """Copy ``x0`` to a contiguous NumPy vector of finite numbers, and return its array type too.

    float32 is kept. Other real dtypes are converted to float64 if they are NumPy's, and refused otherwise.
    """
    given = np.atleast_1d(numbers("x0", x0))
    if given.ndim != 1 or given.size == 0:
        raise ValueError(f"x0 must be a vector of at least one number, got shape {given.shape}")
    start: Array = np.array(given, dtype=np.float32 if given.dtype == np.float32 else np.float64)
    if not np.isfinite(start).all():
        first = int(np.flatnonzero(~np.isfinite(start))[0])
        raise ValueError(f"x0 must be finite, got x0[{first}] = {start[first]}")
    return start, array_type_of(start if library_of(x0) == "numpy" else x0)


def library_of(x: object) -> str:
    """Return the library of ``x``: ``"torch"``, ``"jax"``, or ``"numpy"`` for anything else."""
    if type(x) is not np.ndarray:
        for library, name in (("torch", "Tensor"), ("jax", "Array")):
            kind = getattr(sys.modules.get(library), name, None)
            if kind is not None and isinstance(x, kind):
                return library
    return "numpy"


def numbers(name: str, x: Any) -> Array:
    """Convert the argument ``name`` to a NumPy array of real numbers."""
    try:
        given = host(x)
    except ValueError:
        raise ValueError(f"{name} must be a vector of numbers, got {shown(x)}") from None
    if given.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold real numbers, got dtype {given.dtype}")
    return given


def is_masked(x: Any) -> bool:
    """Return whether ``x`` is one of NumPy's masked arrays, whose mask other functions would ignore."""
    return isinstance(x, np.ma.MaskedArray)


def host(x: Any) -> Array:
    """Convert ``x`` to a writable NumPy array; a NumPy array is returned as is.

    The masked entries of a masked array become NaN.
    """
    if type(x) is np.ndarray:
        return x
    if is_masked(x):
        return x.astype(np.result_type(x.dtype, np.float32)).filled(np.nan) if x.mask.any() else x.data
    library = library_of(x)
    if library == "torch":
        x = x.detach().cpu()
        return (x.float() if str(x.dtype) == "torch.bfloat16" else x).numpy()
    if library == "jax":
        return np.array(x.astype("float32") if str(x.dtype) == "bfloat16" else x)
    listed = isinstance(x, list | tuple) and "torch" in sys.modules
    if listed and any(library_of(value) == "torch" for value in x):
        x = [host(value) for value in x]  # np.asarray accepts only CPU tensors without gradients
    return np.asarray(x)


def namespace(x: Array) -> Any:
    """Return the array API namespace of ``x``."""
    return np if type(x) is np.ndarray else namespace_of(library_of(x))


def on_host(x: Array) -> bool:
    """Return whether ``x`` is a NumPy array."""
    return type(x) is np.ndarray


def like(values: Array, x: Array) -> Array:
    """Convert a NumPy array to the library, dtype and device of ``x``; NumPy arrays are returned as is."""
    if type(x) is np.ndarray:
        return values
    device: Any = x.device
    return namespace(x).asarray(values, dtype=x.dtype, device=device, copy=True)


def hosted(values: dict[str, Any]) -> dict[str, Any]:
    """Return ``values`` with every array converted to NumPy."""

    def converted(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(converted, value))
        return host(value) if hasattr(value, "shape") else value

    return {name: converted(value) for name, value in values.items()}


def taken(x: Array, indices: NDArray[np.intp], axis: int) -> Array:
    """Return the rows or columns of ``x`` with these ``indices``."""
    if type(x) is np.ndarray:
        return x.take(indices, axis)
    xp: Any = namespace(x)
    return xp.take(x, xp.asarray(indices, device=x.device), axis=axis)


class Operations(NamedTuple):
    """The functions that arithmetic on the arrays of one library needs."""

    xp: Any  # the namespace of the array API standard
    like: Callable[[Array], Array]  # from a NumPy array to one of this library, on the same device
    host: Callable[[Any], Array]  # and back


def operations(x: Array) -> Operations:
    """Return the operations for arrays like ``x``."""
    if type(x) is np.ndarray:
        return Operations(np, np.asarray, np.asarray)
    return Operations(namespace(x), lambda values: like(values, x), host)


def zeros(shape: tuple[int, ...], x: Array) -> Array:
    """Return zeros with the library, dtype and device of ``x``."""
    if type(x) is np.ndarray:
        return np.zeros(shape, x.dtype)
    return namespace(x).zeros(shape, dtype=x.dtype, device=x.device)


def copied(x: Array) -> Array:
    """Return a copy of ``x``, writable if the library allows it."""
    return x.copy() if type(x) is np.ndarray else namespace(x).asarray(x, copy=True)


@cache
def namespace_of(library: str) -> Any:
    """Return the array API namespace of ``library``."""
    if library == "numpy":
        return np
    with needs("array_api_compat", extra="arrays"):
        import array_api_compat
    if library == "jax":
        import jax.numpy

        return jax.numpy
    import array_api_compat.torch

    return array_api_compat.torch
