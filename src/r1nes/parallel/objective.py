"""The user's function, called on one point or on several, wherever it runs."""

from __future__ import annotations

import math
import pickle
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from r1nes.arrays import Array, ArrayType, copied, host

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Objective:
    """``fun`` with its further arguments; with ``worst``, an exception of its own is worth NaN.

    ``fun`` always gets copies, so it may change its argument; with ``array_type``, arrays that live there.
    """

    fun: Function
    args: tuple[Any, ...] = ()
    worst: bool = False
    array_type: ArrayType | None = None  # if it is not NumPy's

    def value(self, x: Array) -> float:
        """Of one point."""
        return self.values(x[None])[0]

    def values(self, points: Array) -> list[float]:
        """Of points in rows, one by one; ``fun`` may keep and change each."""
        points, fun, args = copied(points), self.fun, self.args
        values: list[float] = []
        for x in points if self.array_type is None else self.array_type.array(points):
            try:
                value = fun(x, *args)
            except Exception:
                if not self.worst:
                    raise
                value = math.nan
            values.append(value if isinstance(value, float) else _number(value))  # np.float64 is one too
        return values

    def at_once(self, points: Array) -> Array:
        """Of points in rows, by a ``fun`` that takes them all."""
        values = host(self.fun(copied(points), *self.args))
        n = len(points)
        if values.shape not in ((n,), (n, 1)) or values.dtype.kind not in "fiub":
            raise TypeError(
                f"fun must return one real number per row, shape ({n},), with vectorized=True; "
                f"got shape {values.shape} of dtype {values.dtype}"
            )
        return values.reshape(n)

    def outcome(self, points: Array) -> list[float] | Exception:
        """The values or, returned and not raised, what the function raised.

        So whatever is raised where this was called from another process is not the function's fault.
        """
        try:
            return self.values(points)
        except Exception as error:
            return _portable(error)


def _number(value: Any) -> float:
    """What ``fun`` returned, if that is one real number in some disguise."""
    number = host(value)
    if number.size != 1 or number.dtype.kind not in "fiub":
        raise TypeError(f"fun must return one real number, got {value!r}")
    return float(number.item())


def _portable(error: Exception) -> Exception:
    """``error`` with its traceback as a note, as something that can be sent to another process."""
    trace = "".join(traceback.format_exception(error))
    error.add_note(f"\nwhere it was evaluated:\n{trace}")
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"fun raised what cannot be sent to another process:\n{trace}")
    return error
