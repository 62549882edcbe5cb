"""Checks of what a user passes in: each error names the argument, what came and what is expected."""

from __future__ import annotations

import math
from numbers import Real


def number(name: str, value: float) -> float:
    """``value`` as a float that is not NaN."""
    if not isinstance(value, Real) or isinstance(value, bool) or math.isnan(value):
        raise TypeError(f"{name} must be a number, got {value!r}")
    return float(value)


def positive(name: str, value: float) -> float:
    """``value`` as a finite float above 0."""
    checked = number(name, value)
    if not 0 < checked < math.inf:
        raise ValueError(f"{name} must be finite and above 0, got {value!r}")
    return checked


def at_least_zero(name: str, value: float) -> float:
    """``value`` as a finite float, 0 or above."""
    checked = number(name, value)
    if not 0 <= checked < math.inf:
        raise ValueError(f"{name} must be finite and not below 0, got {value!r}")
    return checked


def count(name: str, value: float, least: int = 1) -> int:
    """``value`` as an int of ``least`` or more; 1e5 is welcome, 1.5 is not."""
    checked = number(name, value)
    if not (checked >= least and checked.is_integer()):
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(checked)
