"""Store a tree of plain values and arrays in one file, atomically and without executable content.

    r1nes checkpoint 4              the format, and its version
    3a7bd3e2360a3d29eea436fc…       SHA-256 of everything below
    {"dict": {"generation": 7, …}}  the tree as JSON, where an array is {"array": [dtype, shape, offset]}
    …                               the data of the arrays

Readers always find a complete file, the old one or the new one, even after a crash. Reading a file executes
no code and imports nothing.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from typing import Any

import numpy as np

from r1nes.storage.files import read_file, replace_file

MAGIC = b"r1nes checkpoint "
VERSION = 4
READABLE = (2, 3, 4)  # formats; 2 has other names for the counts of a run
DTYPES = ("<f4", "<f8", "<i8", "|b1")
LARGEST = 2**34  # bytes of a file: enough for a run of 10⁸ variables

Tree = Any  # None, bool, int, float, str, arrays, and lists, tuples and dicts (with str keys) of these


def write(path: str | os.PathLike[str], tree: Tree) -> None:
    """Write ``tree`` to the file ``path`` atomically."""
    content = dumps(tree)
    if len(content) > LARGEST:
        raise OSError(
            f"{os.fspath(path)} would have {len(content):,} bytes, and at most {LARGEST:,} can be read"
        )
    replace_file(path, content)


def read(path: str | os.PathLike[str]) -> Tree:
    """Read the tree from the file ``path``."""
    try:
        return loads(read_file(path, MAGIC, LARGEST))
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)} cannot be read: {error}") from None


def dumps(tree: Tree) -> bytes:
    """Encode ``tree`` as the content of a file."""
    data = bytearray()
    body = json.dumps(_plain(tree, data)).encode() + b"\n" + data
    checksum = hashlib.sha256(body).hexdigest().encode()
    return MAGIC + str(VERSION).encode() + b"\n" + checksum + b"\n" + body


def loads(content: bytes) -> Tree:
    """Decode the content of a file."""
    if not content.startswith(MAGIC):
        raise ValueError("it is not an r1nes checkpoint")
    first, _, rest = content.partition(b"\n")
    version = first[len(MAGIC) :]
    if not version.isdigit():
        raise ValueError("its first line is damaged")
    if int(version) not in READABLE:
        known = " and ".join(map(str, READABLE))
        raise ValueError(f"its format is {int(version)}, but this version of r1nes reads formats {known}")
    checksum, _, body = rest.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != checksum:
        raise ValueError("it is damaged or incomplete: the checksum does not match")
    header, _, data = body.partition(b"\n")
    try:
        return _tree(json.loads(header), data)
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ValueError(f"its content is not a valid tree of values ({error})") from None


def check_alike(kept: Tree, example: Tree, name: str, *, shapes: bool = False) -> None:
    """Raise TypeError if ``kept``, which comes from a file, has other kinds of values than ``example``.

    Where the example has None, anything goes, and so do entries of dicts that only one of them has.

    Args:
        kept: The values to check.
        example: Values of the right kinds.
        name: Their name in error messages.
        shapes: Whether arrays must have the same shape, not only as many axes.
    """
    if isinstance(example, dict) and isinstance(kept, dict):
        for key in example.keys() & kept.keys():
            check_alike(kept[key], example[key], f"{name}.{key}", shapes=shapes)
        return
    if example is not None and _kind(kept, shapes) != _kind(example, shapes):
        raise TypeError(f"{name} must be {_kind(example, shapes)}, got {_kind(kept, shapes)}")
    if isinstance(example, tuple):
        for i, (one, other) in enumerate(zip(kept, example, strict=True)):
            check_alike(one, other, f"{name}[{i}]", shapes=shapes)


def _kind(tree: Tree, shapes: bool) -> str:
    if isinstance(tree, bool | np.bool_):
        return "True or False"
    if isinstance(tree, int | float | np.generic):
        return "a number"
    if isinstance(tree, np.ndarray):
        return f"an array of shape {tree.shape}" if shapes else f"an array of {tree.ndim} axes"
    return f"a tuple of {len(tree)}" if isinstance(tree, tuple) else f"a {type(tree).__name__}"


def _plain(tree: Tree, data: bytearray) -> Any:
    if isinstance(tree, np.ndarray | np.generic):  # scalars too: float64(1) widens float32, 1.0 does not
        return {"array": _stored(np.asarray(tree), data)}
    if isinstance(tree, dict):
        return {"dict": {name: _plain(value, data) for name, value in tree.items()}}
    if isinstance(tree, tuple):
        return {"tuple": [_plain(value, data) for value in tree]}
    if isinstance(tree, list):
        return [_plain(value, data) for value in tree]
    if tree is None or isinstance(tree, bool | int | float | str):
        return tree
    raise TypeError(f"a checkpoint holds only numbers, strings and arrays, got {tree!r}")


def _stored(values: np.ndarray[Any, Any], data: bytearray) -> list[Any]:
    """Append the array to ``data`` and return its representation in the JSON tree."""
    little = values.astype(values.dtype.newbyteorder("<"))
    if little.dtype.str not in DTYPES:
        raise TypeError(f"arrays in a checkpoint must be of dtype {', '.join(DTYPES)}, got {values.dtype}")
    offset = len(data)
    data += little.tobytes()
    return [little.dtype.str, list(values.shape), offset]


def _tree(plain: Any, data: bytes) -> Tree:
    if isinstance(plain, list):
        return [_tree(value, data) for value in plain]
    if not isinstance(plain, dict):
        return plain
    ((kind, content),) = plain.items()
    if kind == "dict":
        return {name: _tree(value, data) for name, value in content.items()}
    if kind == "tuple":
        return tuple(_tree(value, data) for value in content)
    if kind == "array":
        dtype, shape, offset = content
        if dtype in DTYPES:
            array = np.frombuffer(data, dtype, math.prod(shape), offset)
            return array.reshape(shape).astype(array.dtype.newbyteorder("="))[()]  # a writable copy
    raise ValueError(f"unknown kind of node: {kind!r}")
