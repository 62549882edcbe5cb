"""Points that were asked, and which of them the ones are whose values are told."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from r1nes.arrays import Array, ArrayType, host, namespace, on_host

COLUMNS = 256  # that tell one row from another; of more variables than these not all are compared


class Pending:
    """Takes values in any order and any number, and gives them back by full generations."""

    def __init__(self) -> None:
        """Nothing is asked yet."""
        self._waiting: dict[int, tuple[Array, Array]] = {}  # by point: its noise, and itself
        self._complete: list[tuple[Array, Array, float]] = []  # noise, point and value, as they came

    def ask(self, noise: Array, points: Array) -> None:
        """Wait for the values of ``points``, made of as many rows of ``noise``."""
        self._waiting |= {_key(x): (row, x) for row, x in zip(noise, points, strict=True)}

    def tell(self, points: Array, values: Array) -> None:
        """Take the ``values`` of some ``points``; all of them, or none if one was not asked."""
        keys = [_key(x) for x in points]
        for row, key in enumerate(keys):
            if key not in self._waiting or key in keys[:row]:
                raise ValueError(f"X must hold points asked and not yet told; row {row} is none of them")
        for key, value in zip(keys, values, strict=True):
            self._complete.append((*self._waiting.pop(key), value))

    def take(self, n: int) -> tuple[Array, Array, Array] | None:
        """Noise, points and values of the ``n`` that came first."""
        if len(self._complete) < n:
            return None
        taken, self._complete = self._complete[:n], self._complete[n:]
        noise, points, values = zip(*taken, strict=True)
        xp = namespace(noise[0])
        return xp.stack(noise), xp.stack(points), np.array(values)


def marks_of(points: Array) -> bytes:
    """What tells the rows of ``points`` from others: evenly spaced columns, bit for bit."""
    d = points.shape[1]
    return host(points if d <= COLUMNS else points[:, :: -(-d // COLUMNS)]).tobytes()


def places_in(points: Array, asked: bytes) -> NDArray[np.intp] | None:
    """Where each row of the ask with those marks stands in ``points``; None, if where it stood."""
    given = marks_of(points)
    if given == asked:
        return None
    n, size = len(points), len(asked) // len(points)
    rows: dict[bytes, list[int]] = {}
    for i in range(n):
        rows.setdefault(asked[i * size : (i + 1) * size], []).append(i)
    found = np.empty(n, np.intp)
    for i in range(n):
        same = rows.get(given[i * size : (i + 1) * size])
        if not same:
            raise ValueError(f"X must hold the rows of the last ask unchanged; row {i} is not one of them")
        found[same.pop(0)] = i
    return found


def checked_points(X: ArrayLike, n: int, d: int, array_type: ArrayType) -> Array:
    """``X`` as ``n`` rows of ``d`` numbers there."""
    points = array_type.array(X)
    if points.shape != (n, d):
        raise ValueError(f"X must be of shape {(n, d)}, one row per point, got {tuple(points.shape)}")
    return points


def rows_of(points: Array, rows: NDArray[np.intp]) -> Array:
    """Those ``rows``, in that order."""
    if on_host(points):
        return points[rows]
    xp: Any = namespace(points)
    return xp.take(points, xp.asarray(rows, device=points.device), axis=0)


def checked_values(values: ArrayLike, n: int) -> Array:
    """``values`` as ``n`` numbers."""
    told = host(values)
    if told.shape == (n,) and told.dtype.char == "d":  # the common case, kept cheap
        return told
    if told.dtype.kind not in "fiub":
        raise TypeError(f"values must be real numbers, got dtype {told.dtype}")
    if told.shape not in ((n,), (n, 1)):
        raise ValueError(f"values must hold one number per point, {n}, got shape {told.shape}")
    return told.astype(np.float64).reshape(n)


def _key(x: Array) -> int:
    return hash(host(x).tobytes())
