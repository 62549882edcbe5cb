"""Arrays of NumPy, PyTorch and JAX, tiles, and functions compiled by numba."""

from r1nes.arrays.libraries import (
    Array,
    ArrayType,
    array_type_named,
    array_type_of,
    as_start,
    copied,
    host,
    joined,
    library_of,
    like,
    namespace,
    on_host,
    stacked,
    zeros,
)

__all__ = [
    "Array",
    "ArrayType",
    "array_type_named",
    "array_type_of",
    "as_start",
    "copied",
    "host",
    "joined",
    "library_of",
    "like",
    "namespace",
    "on_host",
    "stacked",
    "zeros",
]
