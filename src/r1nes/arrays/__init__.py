"""Arrays of NumPy, PyTorch and JAX, and what numba compiles: the ground that everything else stands on."""

from r1nes.arrays.libraries import (
    Array,
    Place,
    as_start,
    copied,
    host,
    joined,
    library_of,
    like,
    namespace,
    on_host,
    place_called,
    place_of,
    stacked,
    zeros,
)

__all__ = [
    "Array",
    "Place",
    "as_start",
    "copied",
    "host",
    "joined",
    "library_of",
    "like",
    "namespace",
    "on_host",
    "place_called",
    "place_of",
    "stacked",
    "zeros",
]
