"""Arrays of NumPy, PyTorch and JAX, tiles, and functions compiled by numba."""

from r1nes.arrays.libraries import (
    Array,
    ArrayType,
    Operations,
    array_type_named,
    array_type_of,
    as_start,
    copied,
    host,
    library_of,
    like,
    namespace,
    on_host,
    operations,
    zeros,
)

__all__ = [
    "Array",
    "ArrayType",
    "Operations",
    "array_type_named",
    "array_type_of",
    "as_start",
    "copied",
    "host",
    "library_of",
    "like",
    "namespace",
    "on_host",
    "operations",
    "zeros",
]
