"""Matching of told values with the points that were asked.

``Synchronous`` matches the values of one whole generation at a time; ``Asynchronous`` matches the values of
single points, in any order and number. Both return complete generations.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from r1nes.arrays import Array, ArrayType, copied, host, is_masked, namespace, numbers, taken
from r1nes.sampling.streaming import Stream

COLUMNS = 256  # the most columns that are compared to identify a row


class Generation(NamedTuple):
    """A complete generation: the noise, the points and their values, in the same order."""

    noise: Any
    points: Array | Stream
    values: Array


class Told(NamedTuple):
    """The points and values of one ``tell``, and the generations that they complete."""

    points: Array | Stream
    values: Array
    generations: Sequence[Generation]


class Matching(Protocol):
    """Keeps the points that ``ask`` returned until ``tell`` has their values."""

    pending: Any  # the noise of an asked generation without values, or None

    @property
    def is_waiting(self) -> bool:
        """Whether a generation that was asked for has no values yet."""
        ...

    def asked(self, noise: Any, points: Array) -> None:
        """Wait for the values of ``points``, which were made from ``noise``."""
        ...

    def told(self, X: ArrayLike | Stream, values: ArrayLike) -> Told:
        """Check the values of the points ``X`` and match them with their noise."""
        ...

    def state(self) -> dict[str, Array]:
        """Return the values that were told but do not complete a generation, with their points and noise."""
        ...

    def restore(self, state: dict[str, Array]) -> None:
        """Restore ``state``."""
        ...


class Synchronous:
    """One generation at a time."""

    def __init__(self, popsize: int, dim: int, array_type: ArrayType) -> None:
        """Wait for nothing yet."""
        self._shape, self._array_type = (popsize, dim), array_type
        self.pending: Any = None
        self._marks = b""  # identifies the pending points
        self._stream: Stream | None = None  # or the stream of pending points

    @property
    def is_waiting(self) -> bool:
        """Whether a generation that was asked for has no values yet."""
        return self.pending is not None or self._stream is not None

    def asked(self, noise: Any, points: Array) -> None:
        """Wait for the values of ``points``, which were made from ``noise``."""
        self.pending, self._marks, self._stream = noise, _marks(points), None

    def asked_stream(self, stream: Stream) -> None:
        """Wait for the values of the points in ``stream``."""
        self.pending, self._stream = None, stream

    def told(self, X: ArrayLike | Stream, values: ArrayLike) -> Told:
        """Match the values of the last generation, in any order."""
        n, noise = self._shape[0], self.pending
        if isinstance(X, Stream) or self._stream is not None:
            if X is not self._stream or not isinstance(X, Stream):
                raise ValueError(f"X must be the return value of the last ask, got {X!r}")
            told = _checked_values(values, n)
            self._stream = None
            return Told(X, told, [Generation(X, X, told)])
        if noise is None:
            raise RuntimeError("tell needs the points of an ask: call ask first, and tell its values once")
        points = _checked_points(X, self._shape, self._array_type)
        rows = _rows_in(points, self._marks)
        told = _checked_values(values, n)
        if rows is not None:
            points, told = taken(points, rows, axis=0), told[rows]
        self.pending = None
        return Told(points, told, [Generation(noise, points, told)])

    def state(self) -> dict[str, Array]:
        """Return nothing: values complete a generation at once."""
        return {}

    def restore(self, state: dict[str, Array]) -> None:
        """Restore nothing."""


class Asynchronous:
    """One point at a time; generations are formed in the order in which values arrive."""

    pending = None
    is_waiting = False  # a checkpoint does not keep points under way

    def __init__(self, popsize: int, dim: int, array_type: ArrayType) -> None:
        """Wait for nothing yet."""
        self._popsize, self._dim, self._array_type = popsize, dim, array_type
        self._waiting: defaultdict[int, deque[tuple[Array, Array]]] = defaultdict(deque)  # noise and point
        self._arrived: list[tuple[Array, Array, float]] = []  # noise, point and value, in order of arrival

    def asked(self, noise: Array, points: Array) -> None:
        """Wait for the values of ``points``, made from as many rows of ``noise``.

        Points under way may coincide, where rounding or bounds leave little choice.
        """
        for row, x in zip(noise, copied(points), strict=True):
            self._waiting[_key(x)].append((row, x))

    def told(self, X: ArrayLike | Stream, values: ArrayLike) -> Told:
        """Match the ``values`` of some points; raise ValueError, matching none, if one was not asked."""
        points = self._array_type.array(X)
        points = _checked_points(points, (len(points), self._dim), self._array_type)
        told = _checked_values(values, len(points))
        keys = [_key(x) for x in points]
        given = Counter(keys)
        for row, key in enumerate(keys):
            if given[key] > len(self._waiting.get(key, ())):
                raise ValueError(f"X must hold points asked and not yet told; row {row} is not one of them")
        for key, value in zip(keys, told, strict=True):
            self._arrived.append((*self._waiting[key].popleft(), value))
            if not self._waiting[key]:
                del self._waiting[key]
        return Told(points, told, self._complete_generations())

    def _complete_generations(self) -> list[Generation]:
        n, generations = self._popsize, []
        while len(self._arrived) >= n:
            first, self._arrived = self._arrived[:n], self._arrived[n:]
            generations.append(_stacked(first))
        return generations

    def state(self) -> dict[str, Array]:
        """Return the values that have arrived, with their points and noise; points under way are dropped."""
        return _stacked(self._arrived)._asdict() if self._arrived else {}

    def restore(self, state: dict[str, Array]) -> None:
        """Restore the values that had arrived."""
        if state:
            noise, points = (self._array_type.array(state[name]) for name in ("noise", "points"))
            self._arrived = list(zip(noise, points, state["values"].tolist(), strict=True))


def _stacked(arrived: list[tuple[Array, Array, float]]) -> Generation:
    noise, points, values = zip(*arrived, strict=True)
    stack: Callable[..., Array] = namespace(noise[0]).stack
    return Generation(stack(noise), stack(points), np.array(values))


def _marks(points: Array) -> bytes:
    """Return bytes that identify the rows of ``points``: the bits of evenly spaced columns."""
    d = points.shape[1]
    marked = points if d <= COLUMNS else points[:, :: -(-d // COLUMNS)]
    return (marked if type(marked) is np.ndarray else host(marked)).tobytes()


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
    # The common case is kept cheap.
    same = type(X) is np.ndarray and array_type.library == "numpy" and X.dtype == array_type.dtype
    points: Array = X if same else array_type.array(host(X) if is_masked(X) else X)
    if points.shape != shape:
        raise ValueError(f"X must be of shape {shape}, one row per point, got {tuple(points.shape)}")
    return points


def _checked_values(values: ArrayLike, n: int) -> Array:
    if type(values) is np.ndarray and values.shape == (n,) and values.dtype.char == "d":
        return values  # the common case, kept cheap
    told = numbers("values", values)
    if told.shape not in ((n,), (n, 1)):
        raise ValueError(f"values must hold one number per point, {n}, got shape {told.shape}")
    return told.astype(np.float64).reshape(n)


def _key(x: Array) -> int:
    return hash(host(x).tobytes())
