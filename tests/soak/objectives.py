"""Objective functions of the soak: they write down every call, and strike once where a fault says so."""

from __future__ import annotations

import math
import os
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from r1nes.arrays import Array
from support.functions import cigar, rastrigin, rosenbrock, sphere

LANDSCAPES = {"sphere": sphere, "cigar": cigar, "rosenbrock": rosenbrock, "rastrigin": rastrigin}


class OutageError(Exception):
    """An error of the objective itself."""


class NoSolutionError(Exception):
    """An error that belongs to a point, as that of a solver that does not converge there."""


def _chance(x: Array, salt: object) -> random.Random:
    """A source of chance that the point and ``salt`` alone determine."""
    return random.Random(x.tobytes() + repr(salt).encode())


def _without_solution(x: Array, _value: float, _salt: object) -> float:
    if x[0] > 0.2:
        raise NoSolutionError
    return _value


SHAPES: dict[str, Callable[[Array, float, object], float]] = {
    "plain": lambda _, value, __: value,
    "ties": lambda _, value, __: math.floor(value),
    "constant": lambda _, __, ___: 3.0,
    "offset": lambda _, value, __: value + 1e12,
    "tiny": lambda _, value, __: value * 1e-300,
    "huge": lambda _, value, __: value * 1e305,  # inf for most points
    "nan in a half": lambda x, value, __: math.nan if x[0] > 0.2 else value,
    "nan at random": lambda x, value, _: math.nan if _chance(x, 0).random() < 0.5 else value,
    "only nan": lambda _, __, ___: math.nan,
    "inf in a half": lambda x, value, __: math.inf if x[0] > 0.2 else value,
    "only inf": lambda _, __, ___: math.inf,
    "minus inf": lambda _, value, __: -math.inf if value < 0.1 else value,
    "noise": lambda x, value, salt: value * (1 + 0.3 * _chance(x, salt).gauss(0, 1)),
    "exceptions": _without_solution,
}


class Watched:
    """A function whose calls are recorded in a file, whichever process or thread makes them.

    Args:
        landscape: A name from LANDSCAPES.
        shape: A name from SHAPES, what becomes of its values.
        folder: Where the records and the mark of the fault are kept.
        fault: What happens at call ``at``: a signal for the process that runs ``minimize`` ("SIGKILL", …), a
            signal for the worker ("worker SIGKILL", …), an "exception" or, elsewhere, nothing.
        at: The number of the call, from 1.
    """

    def __init__(self, landscape: str, shape: str, folder: Path, fault: str = "", at: int = 0) -> None:
        self._landscape, self._shape, self._folder = landscape, shape, folder
        self._fault, self._at, self._driver = fault, at, os.getpid()

    def __call__(self, X: Array, key: Any = None) -> Any:
        points = np.atleast_2d(np.asarray(X, np.float64))
        self._perhaps_strike(points)
        values = [self._value(x, key) for x in points]
        records = np.column_stack([[math.nan if value is None else value for value in values], points])
        descriptor = os.open(self._folder / "records", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(descriptor, records.tobytes())  # at once, so that records of several workers do not mix
        os.close(descriptor)
        if values[0] is None:
            raise NoSolutionError
        return np.array(values) if X.ndim == 2 else values[0]

    def _value(self, x: Array, salt: object) -> float | None:
        with np.errstate(all="ignore"):
            value = float(LANDSCAPES[self._landscape](x))
            try:
                return SHAPES[self._shape](x, value, salt)
            except NoSolutionError:
                return None

    def _perhaps_strike(self, points: Array) -> None:
        if not self._fault or number_of_calls(self._folder, points.shape[1]) + len(points) < self._at:
            return
        if not struck(self._folder):
            return
        if self._fault == "exception":
            raise OutageError
        target, _, name = self._fault.rpartition(" ")
        if name.startswith("SIG"):
            os.kill(os.getpid() if target == "worker" else self._driver, signal.Signals[name])


class Drifting(Watched):
    """A function with a state, which the checkpoint must keep: its values depend on the calls before."""

    calls = 0

    def _value(self, x: Array, salt: object) -> float | None:
        self.calls += 1
        return super()._value(x, (salt, self.calls))

    def get_state(self) -> dict[str, Any]:
        return {"calls": self.calls}

    def set_state(self, state: dict[str, Any]) -> None:
        self.calls = state["calls"]


def struck(folder: Path) -> bool:
    """Mark that the fault has struck; False if it had done so before."""
    try:
        (folder / "struck").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def number_of_calls(folder: Path, dim: int) -> int:
    path = folder / "records"
    return path.stat().st_size // (8 * (1 + dim)) if path.exists() else 0


def recorded(folder: Path, dim: int) -> Array:
    """The calls so far, one per row: the value, NaN for an exception, and the point."""
    path = folder / "records"
    numbers = np.fromfile(path) if path.exists() else np.empty(0)
    return numbers.reshape(-1, 1 + dim)
