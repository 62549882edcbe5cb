"""Checks of arguments. Each error names the argument, the value given and what is expected."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from numbers import Real
from typing import Any

import numpy as np

Check = Callable[[str, Any], Any]  # (name, value) → the value to use

# Names in other packages, and the keywords of r1nes for the same thing.
FOREIGN = {
    "budget": "max_evals",
    "disp": "callback",
    "f": "fun",
    "func": "fun",
    "fitness_function": "fun",
    "lam": "popsize",
    "lb": "bounds",
    "lower": "bounds",
    "max_eval": "max_evals",
    "max_evaluations": "max_evals",
    "max_fun": "max_evals",
    "max_generations": "max_evals",
    "max_iter": "max_evals",
    "max_time": "max_seconds",
    "maxfev": "max_evals",
    "maxfevals": "max_evals",
    "maxfun": "max_evals",
    "maxiter": "max_evals",
    "maxtime": "max_seconds",
    "mean": "x0",
    "n_jobs": "workers",
    "num_workers": "workers",
    "objective": "fun",
    "parallel": "workers",
    "pop_size": "popsize",
    "population": "popsize",
    "population_size": "popsize",
    "progress": "callback",
    "random_seed": "rng",
    "random_state": "rng",
    "rate_scales": "rate_base",
    "seed": "rng",
    "sigma": "sigma0",
    "std": "sigma0",
    "stdev_init": "sigma0",
    "step_size": "sigma0",
    "target": "ftarget",
    "tol": "xtol",
    "tolfun": "ftol",
    "tolx": "xtol",
    "ub": "bounds",
    "upper": "bounds",
    "verbose": "callback",
}
REMARKS = {"callback": ", which can show the progress of a run"}
LONGEST = 60  # characters of a value in an error message


def shown(value: object) -> str:
    """Return ``value`` as an error message shows it: not longer than a line.

    >>> shown(10**400), shown(10**5000)
    ('100000000000000000000000000000000000000000000000000000000000…', 'an integer of 16610 bits')
    """
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write very long integers in digits
        return f"an integer of {value.bit_length()} bits" if isinstance(value, int) else type(value).__name__
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def number(name: str, value: float) -> float:
    """Return ``value`` as a float that is not NaN."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number, got {shown(value)}")
    try:
        checked = float(value)
    except OverflowError:
        raise ValueError(f"{name} must be a number below 1.8e308, got {shown(value)}") from None
    if math.isnan(checked):
        raise TypeError(f"{name} must be a number, got {value!r}")
    return checked


def finite(name: str, value: float) -> float:
    """Return ``value`` as a finite float."""
    checked = number(name, value)
    if not math.isfinite(checked):
        raise ValueError(f"{name} must be finite, got {value!r}")
    return checked


def positive(name: str, value: float) -> float:
    """Return ``value`` as a finite float above 0."""
    checked = number(name, value)
    if not 0 < checked < math.inf:
        raise ValueError(f"{name} must be finite and above 0, got {value!r}")
    return checked


def at_least_zero(name: str, value: float) -> float:
    """Return ``value`` as a finite float, 0 or above."""
    checked = number(name, value)
    if not 0 <= checked < math.inf:
        raise ValueError(f"{name} must be finite and not below 0, got {value!r}")
    return checked


def count(name: str, value: float, least: int = 1, most: int | None = None) -> int:
    """Return ``value`` as an int of ``least`` or more, and ``most`` at most; accepts 1e5, but not 1.5."""
    checked = number(name, value)
    if not (checked >= least and checked.is_integer() and (most is None or checked <= most)):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} must be a whole number {limits}, got {shown(value)}")
    return int(checked)


def flag(name: str, value: bool) -> bool:
    """Return ``value`` as a bool; accepts True, False, 1 and 0."""
    if not (isinstance(value, bool | np.bool_) or (isinstance(value, int) and value in (0, 1))):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def anything(_: str, value: Any) -> Any:
    """Return ``value``, which is checked elsewhere."""
    return value


def optional(check: Check) -> Check:
    """Return a check that also accepts None."""
    return lambda name, value: None if value is None else check(name, value)


def one_of(*choices: object) -> Check:
    """Return a check for a few allowed values."""

    def check(name: str, value: object) -> object:
        if isinstance(value, np.bool_):
            value = bool(value)
        for choice in choices:
            if type(value) is type(choice) and value == choice:  # 1 is not True, and an array is neither
                return choice
        *others, last = map(repr, choices)
        raise ValueError(f"{name} must be {', '.join(others)} or {last}, got {shown(value)}")

    return check


def function(name: str, value: Any) -> Any:
    """Return ``value``, which must be callable."""
    if not callable(value):
        raise TypeError(f"{name} must be callable, got {shown(value)}")
    return value


def path(name: str, value: Any) -> Any:
    """Return ``value``, which must be the path of a file as text or as an object such as ``Path``."""
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(text, str):
        raise TypeError(f"{name} must be the path of a file, got {shown(value)}")
    if not text:
        raise ValueError(f"{name} must be the path of a file, got ''")
    return value


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a sentence that names the keyword probably meant by ``name``, or an empty string.

    >>> suggestion("popsiz", ["popsize", "rng"]), suggestion("seed", ["popsize", "rng"])
    ('; did you mean popsize?', '; did you mean rng?')
    """
    known = list(known)
    meant = FOREIGN.get(name.lower().replace("-", "_"))
    if meant not in known:
        meant = next(iter(get_close_matches(name, known, n=1, cutoff=0.6)), None)
    return "" if meant is None else f"; did you mean {meant}{REMARKS.get(meant, '')}?"
