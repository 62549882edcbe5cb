"""One row of the table of faults: how a fault is provoked, what is promised, and the check of the promise."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.optimize import Bounds

import r1nes
from support.functions import sphere


def f(x: Any) -> float:
    """The objective of all rows that need one: the sphere."""
    return float(sphere(np.asarray(x)))


NAMES: dict[str, Any] = {
    "Bounds": Bounds,
    "Optimizer": r1nes.Optimizer,
    "RkNES": r1nes.RkNES,
    "f": f,
    "inf": math.inf,
    "masked_array": np.ma.masked_array,
    "minimize": r1nes.minimize,
    "nan": math.nan,
    "np": np,
    "r1nes": r1nes,
}


class Row(NamedTuple):
    """A fault: what is done, what is promised, and a check in an empty folder."""

    fault: str
    promise: str
    check: Callable[[Path], None]


def refused(call: str, error: type[Exception], says: str) -> Row:
    """The ``call`` raises ``error`` with a message that contains ``says``."""

    def check(_: Path) -> None:
        with pytest.raises(error) as caught:
            _value(call)
        assert says in str(caught.value)
        assert type(caught.value) is error

    return Row(f"`{call}`", f"`{error.__name__}`: {says}", check)


def ended(call: str, promise: str, reason: str, *, success: bool = False, **entries: Any) -> Row:
    """The ``call`` returns a result that ended for ``reason``, with these ``entries``."""

    def check(_: Path) -> None:
        result = _value(call)
        assert next(iter(result.stop)) == reason, result.message
        assert result.success is success
        for name, value in entries.items():
            assert result[name] == value, name

    words = f"ends as `{reason}`, {'a success' if success else 'no success'}"
    return Row(f"`{call}`", f"{words}; {promise}" if promise else words, check)


def kept(fault: str, promise: str) -> Callable[[Callable[[Path], None]], Row]:
    """Make a row of a check that is a function of its own."""
    return lambda check: Row(fault, promise, check)


def _value(call: str) -> Any:
    return eval(call, dict(NAMES))
