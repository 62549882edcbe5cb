"""Arrays of NumPy, PyTorch and JAX, functions written once for all of them and numba, and tiles."""

from r1nes.arrays.libraries import (
    Array,
    ArrayType,
    Operations,
    array_type_named,
    array_type_of,
    as_start,
    copied,
    host,
    hosted,
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
    "hosted",
    "library_of",
    "like",
    "namespace",
    "on_host",
    "operations",
    "zeros",
]
