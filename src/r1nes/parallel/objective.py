"""The user's function in the form that workers call: on one point, or on several."""

from __future__ import annotations

import inspect
import math
import pickle
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from r1nes.arrays import Array, ArrayType, copied, host
from r1nes.parallel.errors import ObjectiveError
from r1nes.sampling.keys import Key

Function = Callable[..., Any]
Reply = list[float] | Exception  # from a worker: the values, or the exception that fun raised


@dataclass(frozen=True, slots=True)
class Objective:
    """The user's function with its extra arguments.

    ``fun`` receives copies, so it may modify its argument. The ``key`` that methods take is that of the
    generation; None if ``fun`` does not want it.

    Attributes:
        fun: The function.
        args: Its arguments after the point.
        nan_on_failure: Whether exceptions raised by ``fun`` are scored as NaN.
        array_type: The library, dtype and device of the arrays that ``fun`` takes; None for NumPy.
    """

    fun: Function
    args: tuple[Any, ...] = ()
    nan_on_failure: bool = False
    array_type: ArrayType | None = None

    def value(self, x: Array, key: Key | None = None) -> float:
        """Return the value of one point."""
        return self.values(x[None], key)[0]

    def values(self, points: Array, key: Key | None = None) -> list[float]:
        """Return the values of the rows of ``points``, one call each; ``fun`` may keep and modify a row."""
        fun, args, keyed = self.fun, self.args, _keyed(key)
        points = points.copy() if self.array_type is None else copied(points)
        values: list[float] = []
        for x in points if self.array_type is None else self.array_type.array(points):
            try:
                value = fun(x, *args, **keyed)
            except Exception:
                if not self.nan_on_failure:
                    raise
                value = math.nan
            values.append(value if isinstance(value, float) else _number(value))  # np.float64 is a float
        return values

    def values_at_once(self, points: Array, key: Key | None = None) -> Array:
        """Return the values of the rows of ``points`` from a single call of a vectorized ``fun``."""
        values = host(self.fun(copied(points), *self.args, **_keyed(key)))
        n = len(points)
        if values.shape not in ((n,), (n, 1)) or values.dtype.kind not in "fiub":
            raise TypeError(
                f"fun must return one real number per row, shape ({n},), with vectorized=True; "
                f"got shape {values.shape} of dtype {values.dtype}"
            )
        return values.reshape(n)

    def evaluate(self, points: Array, key: Key | None = None) -> Array:
        """Return the values of the rows of ``points`` in this process; raise ObjectiveError if one fails."""
        try:
            return np.asarray(self.values(points, key))
        except Exception as error:
            raise ObjectiveError(error) from error

    def evaluate_at_once(self, points: Array, key: Key | None = None) -> Array:
        """Return the same from a single call of a vectorized ``fun``."""
        try:
            return self.values_at_once(points, key)
        except Exception as error:
            raise ObjectiveError(error) from error

    def reply(self, points: Array, key: Key | None = None) -> Reply:
        """Return the values of ``points``, or the exception that ``fun`` raised.

        Workers call this. It returns exceptions of ``fun``, so any exception that is raised comes from the
        worker or from the connection to it.
        """
        try:
            return self.values(points, key)
        except Exception as error:
            return _picklable(error)


def takes_key(fun: Function) -> bool:
    """Return whether ``fun`` accepts the keyword argument ``key``; True if it does not tell."""
    try:
        parameters = inspect.signature(fun).parameters.values()
    except (TypeError, ValueError):
        return True
    named = (each.name == "key" and each.kind is not each.POSITIONAL_ONLY for each in parameters)
    return any(named) or any(each.kind is each.VAR_KEYWORD for each in parameters)


def has_state(fun: Function) -> bool:
    """Return whether ``fun`` has a state of its own, which belongs into the checkpoint."""
    return callable(getattr(fun, "get_state", None)) and callable(getattr(fun, "set_state", None))


def values_in(reply: Reply) -> list[float]:
    """Return the values in a worker's ``reply``; raise ObjectiveError if it is an exception of ``fun``."""
    if isinstance(reply, Exception):
        raise ObjectiveError(reply) from reply
    if not isinstance(reply, list):
        raise TypeError(f"a worker must reply with a list of values or an exception, got {reply!r}")
    return reply


def _keyed(key: Key | None) -> dict[str, Key]:
    """Return the keyword argument that ``fun`` takes beside its point."""
    return {} if key is None else {"key": key}


def _number(value: Any) -> float:
    """Convert the return value of ``fun``, which may be an array with a single entry, to a float."""
    number = host(value)
    if number.size != 1 or number.dtype.kind not in "fiub":
        raise TypeError(f"fun must return one real number, got {value!r}")
    return float(number.item())


def _picklable(error: Exception) -> Exception:
    """Return ``error`` with its traceback as a note, or a RuntimeError if ``error`` cannot be pickled."""
    trace = "".join(traceback.format_exception(error))
    error.add_note(f"\nwhere it was evaluated:\n{trace}")
    try:
        arrives_as = type(pickle.loads(pickle.dumps(error)))
    except Exception:
        arrives_as = type(None)
    if arrives_as is type(error):  # a __reduce__ of its own may yield anything, even a number
        return error
    return RuntimeError(f"fun raised an exception that cannot be sent to another process:\n{trace}")
