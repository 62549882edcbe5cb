"""A tree of plain values and arrays ↔ one file that a crash cannot harm and that runs no code when read.

    r1nes checkpoint 2              the format, and its version
    3a7bd3e2360a3d29eea436fc…       SHA-256 of all that follows
    {"dict": {"generation": 7, …}}  the tree as JSON, where an array is {"array": [dtype, shape, offset]}
    …                               the numbers of the arrays

The file is written under another name, flushed to the disk and renamed: whoever looks finds the old one or
the new one, complete.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

MAGIC = b"r1nes checkpoint "
VERSION = 2
DTYPES = ("<f4", "<f8", "<i8", "|b1")

Tree = Any  # None, bool, int, float, str, arrays, and lists, tuples and dicts (with str keys) of these


def write(path: str | os.PathLike[str], tree: Tree) -> None:
    """Put ``tree`` into the file ``path``, at once or not at all."""
    path = Path(path)
    draft = path.with_name(path.name + ".tmp")
    try:
        with draft.open("wb") as file:
            file.write(dumps(tree))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    _flush_directory(path.parent)


def read(path: str | os.PathLike[str]) -> Tree:
    """The tree in the file ``path``."""
    content = Path(path).read_bytes()
    try:
        return loads(content)
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)} cannot be read: {error}") from None


def dumps(tree: Tree) -> bytes:
    """``tree`` as the content of a file."""
    data = bytearray()
    body = json.dumps(_plain(tree, data)).encode() + b"\n" + data
    checksum = hashlib.sha256(body).hexdigest().encode()
    return MAGIC + str(VERSION).encode() + b"\n" + checksum + b"\n" + body


def loads(content: bytes) -> Tree:
    """The tree that ``content`` holds."""
    if not content.startswith(MAGIC):
        raise ValueError("it is not an r1nes checkpoint")
    first, _, rest = content.partition(b"\n")
    version = first[len(MAGIC) :]
    if not version.isdigit():
        raise ValueError("its first line is damaged")
    if int(version) != VERSION:
        raise ValueError(f"its format is {int(version)}, and this version of r1nes reads format {VERSION}")
    checksum, _, body = rest.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != checksum:
        raise ValueError("it is damaged or not complete: the checksum does not fit")
    header, _, data = body.partition(b"\n")
    try:
        return _tree(json.loads(header), data)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"what it holds is not a tree of values ({error})") from None


def _plain(tree: Tree, data: bytearray) -> Any:
    if isinstance(tree, np.ndarray | np.generic):  # NumPy's numbers too: float64(1) is not 1.0 to float32
        return {"array": _stored(np.asarray(tree), data)}
    if isinstance(tree, dict):
        return {"dict": {name: _plain(value, data) for name, value in tree.items()}}
    if isinstance(tree, tuple):
        return {"tuple": [_plain(value, data) for value in tree]}
    if isinstance(tree, list):
        return [_plain(value, data) for value in tree]
    if tree is None or isinstance(tree, bool | int | float | str):
        return tree
    raise TypeError(f"a checkpoint holds numbers, strings and arrays, not {tree!r}")


def _stored(values: np.ndarray[Any, Any], data: bytearray) -> list[Any]:
    """Append the array to ``data``; what stands for it in the tree."""
    little = values.astype(values.dtype.newbyteorder("<"), order="C")
    if little.dtype.str not in DTYPES:
        raise TypeError(f"a checkpoint holds arrays of {', '.join(DTYPES)}, not of {values.dtype}")
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
            return array.reshape(shape).astype(array.dtype.newbyteorder("="))[()]  # a copy, to write into
    raise ValueError(f"unknown: {kind}")


def _flush_directory(directory: Path) -> None:
    """Make the renaming itself last; only POSIX knows how."""
    if os.name == "posix":
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
