"""Which points the values of a ``tell`` belong to.

``Synchronous`` hands out one generation at a time and takes its values together; ``Asynchronous`` hands out
one point at a time and takes values in any order and number. Both give back complete generations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from r1nes.arrays import Array, ArrayType, copied, host, namespace, on_host
from r1nes.sampling.sources import NoiseSource
from r1nes.sampling.streaming import Stream

COLUMNS = 256  # that are compared to tell one row from another, however many there are


class Generation(NamedTuple):
    """Samples to learn from: their noise, the points and their values, in one order."""

    noise: Any
    points: Array | Stream
    values: Array


class Matching(Protocol):
    """The points handed out by ``ask``, until ``tell`` has brought their values."""

    drawn: int  # rows of noise drawn so far, if asynchronous

    @property
    def is_waiting(self) -> bool:
        """Whether points that were asked for have no values yet."""
        ...

    def draw(self, generation: int) -> Any:
        """Return the noise of the points to ask for in ``generation``."""
        ...

    def asked(self, noise: Any, points: Array) -> None:
        """Wait for the values of ``points``, which were made from ``noise``."""
        ...

    def told(self, X: ArrayLike | Stream, values: ArrayLike) -> tuple[Array | Stream, Array]:
        """Check and keep the values of the points ``X``; return both."""
        ...

    def next_generation(self) -> Generation | None:
        """Return the next generation that is complete, once."""
        ...


class Synchronous:
    """One generation at a time."""

    drawn = 0

    def __init__(self, source: NoiseSource, popsize: int, dim: int, array_type: ArrayType) -> None:
        """Draw nothing yet."""
        self._source, self._shape, self._array_type = source, (popsize, dim), array_type
        self._noise: Any = None  # reused for each generation: fresh memory costs more than filling it
        self._asked: bytes | Stream | None = None  # what identifies the points
        self._complete: Generation | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether a generation that was asked for has no values yet."""
        return self._asked is not None

    def draw(self, generation: int) -> Any:
        """Return the noise of the generation, the same until its values are told."""
        if not isinstance(self._asked, bytes):
            self._noise = self._source.draw(generation, 0, self._shape[0], self._noise)
        return self._noise

    def asked(self, _: Any, points: Array) -> None:
        """Wait for the values of ``points``."""
        self._asked = _marks(points)

    def asked_stream(self, stream: Stream) -> None:
        """Wait for the values of the points in ``stream``."""
        self._asked = stream

    def told(self, X: ArrayLike | Stream, values: ArrayLike) -> tuple[Array | Stream, Array]:
        """Check and keep the values of the last generation, in any order."""
        asked, n = self._asked, self._shape[0]
        if isinstance(asked, Stream) or isinstance(X, Stream):
            if X is not asked or not isinstance(X, Stream):
                raise ValueError(f"X must be what the last ask returned, got {X!r}")
            told = _checked_values(values, n)
            self._complete, self._asked = Generation(X, X, told), None
            return X, told
        if asked is None:
            raise RuntimeError("tell needs the points of an ask: call ask first, and tell its values once")
        points = _checked_points(X, self._shape, self._array_type)
        rows = _rows_in(points, asked)
        told = _checked_values(values, n)
        if rows is not None:
            points, told = _reordered(points, rows), told[rows]
        self._complete, self._asked = Generation(self._noise, points, told), None
        return points, told

    def next_generation(self) -> Generation | None:
        """Return the generation just told, once."""
        complete, self._complete = self._complete, None
        return complete


class Asynchronous:
    """One point at a time; generations are formed in the order in which values arrive."""

    def __init__(self, source: NoiseSource, popsize: int, dim: int, array_type: ArrayType) -> None:
        """Draw nothing yet."""
        self._source, self._popsize, self._dim, self._array_type = source, popsize, dim, array_type
        self.drawn = 0
        self._waiting: dict[int, tuple[Array, Array]] = {}  # by point: its noise, and itself
        self._complete: list[tuple[Array, Array, float]] = []  # noise, point and value, in order of arrival

    @property
    def is_waiting(self) -> bool:
        """False: points under way are not kept in a checkpoint, but asked for anew."""
        return False

    def draw(self, _: int) -> Array:
        """Return the noise of the next point."""
        generation, row = divmod(self.drawn, self._popsize)
        self.drawn += 1
        return self._source.rows(generation + 1, row, row + 1)

    def asked(self, noise: Array, points: Array) -> None:
        """Wait for the values of ``points``, made from as many rows of ``noise``."""
        points = copied(points)
        self._waiting |= {_key(x): (row, x) for row, x in zip(noise, points, strict=True)}

    def told(self, X: ArrayLike | Stream, values: ArrayLike) -> tuple[Array, Array]:
        """Keep the ``values`` of some points; all of them, or none if one was not asked for."""
        points = self._array_type.array(X)
        points = _checked_points(points, (len(points), self._dim), self._array_type)
        told = _checked_values(values, len(points))
        keys = [_key(x) for x in points]
        for row, key in enumerate(keys):
            if key not in self._waiting or key in keys[:row]:
                raise ValueError(f"X must hold points asked and not yet told; row {row} is none of them")
        for key, value in zip(keys, told, strict=True):
            self._complete.append((*self._waiting.pop(key), value))
        return points, told

    def next_generation(self) -> Generation | None:
        """Return the samples that arrived first, as many as a generation has, once there are enough."""
        n = self._popsize
        if len(self._complete) < n:
            return None
        taken, self._complete = self._complete[:n], self._complete[n:]
        noise, points, values = zip(*taken, strict=True)
        stack: Callable[..., Array] = namespace(noise[0]).stack
        return Generation(stack(noise), stack(points), np.array(values))


def _marks(points: Array) -> bytes:
    """Return what identifies the rows of ``points``: evenly spaced columns, bit for bit."""
    d = points.shape[1]
    marked = points if d <= COLUMNS else points[:, :: -(-d // COLUMNS)]
    return (marked if on_host(marked) else host(marked)).tobytes()


def _rows_in(points: Array, asked: bytes) -> NDArray[np.intp] | None:
    """Return where each row with the marks ``asked`` is in ``points``; None if the order is the same."""
    given = _marks(points)
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


def _checked_points(X: Any, shape: tuple[int, int], array_type: ArrayType) -> Array:
    points = array_type.array(X)
    if points.shape != shape:
        raise ValueError(f"X must be of shape {shape}, one row per point, got {tuple(points.shape)}")
    return points


def _reordered(points: Array, rows: NDArray[np.intp]) -> Array:
    if on_host(points):
        return points[rows]
    xp: Any = namespace(points)
    return xp.take(points, xp.asarray(rows, device=points.device), axis=0)


def _checked_values(values: ArrayLike, n: int) -> Array:
    told = values if type(values) is np.ndarray else host(values)
    if told.shape == (n,) and told.dtype.char == "d":  # the common case, kept cheap
        return told
    if told.dtype.kind not in "fiub":
        raise TypeError(f"values must be real numbers, got dtype {told.dtype}")
    if told.shape not in ((n,), (n, 1)):
        raise ValueError(f"values must hold one number per point, {n}, got shape {told.shape}")
    return told.astype(np.float64).reshape(n)


def _key(x: Array) -> int:
    return hash(host(x).tobytes())
