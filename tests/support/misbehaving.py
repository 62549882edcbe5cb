"""Objective functions that stop, die, answer twice or arrive late; processes can import them."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path
from typing import Any

from r1nes.arrays import Array
from support.functions import rosenbrock


def once(marker: Path, chance: float, x: Array) -> bool:
    """True at some points, and at each of them only when it is evaluated for the first time."""
    if random.Random(x.tobytes()).random() >= chance:
        return False
    try:
        (marker / x.tobytes().hex()).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def dying(x: Array, marker: Path) -> float:
    if once(marker, 0.03, x):
        os.kill(os.getpid(), signal.SIGKILL)
    return float(rosenbrock(x))


def hanging(x: Array, marker: Path) -> float:
    if once(marker, 0.03, x):
        time.sleep(3600)
    return float(rosenbrock(x))


def stopping(x: Array, marker: Path) -> float:
    """As a debugger or a batch system may stop a process, without a notice to anybody."""
    if once(marker, 0.03, x):
        os.kill(os.getpid(), signal.SIGSTOP)
    return float(rosenbrock(x))


def terminated(x: Array, marker: Path) -> float:
    if once(marker, 0.03, x):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(3600)
    return float(rosenbrock(x))


def forking(x: Array, marker: Path) -> float:
    """A library that forks and returns in both processes: the child must not answer as well."""
    if once(marker, 0.1, x) and os.fork() == 0:
        return -1.0
    return float(rosenbrock(x))


def late(x: Array, marker: Path) -> float:
    """Answers after its timeout, once; by then the point has been given to another worker."""
    if once(marker, 0.03, x):
        time.sleep(2)
    return float(rosenbrock(x))


class SlowToArrive:
    """An objective that takes long to unpickle, like modules that take long to import."""

    def __reduce__(self) -> Any:
        return arrive_slowly, ()

    def __call__(self, x: Array) -> float:
        return float(rosenbrock(x))


def arrive_slowly() -> SlowToArrive:
    time.sleep(2.5)
    return SlowToArrive()


class OddError(Exception):
    """An exception that becomes ``arrives_as`` on its way to another process."""

    arrives_as: Any = 0

    def __reduce__(self) -> Any:
        return _the_same, (self.arrives_as,)


def _the_same(value: Any) -> Any:
    return value


def raising_odd(_: Array, arrives_as: Any) -> float:
    error = OddError("odd one out")
    error.arrives_as = arrives_as
    raise error
