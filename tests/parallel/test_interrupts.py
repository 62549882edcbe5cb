"""Ctrl-C: at once where it may come, later where it may not, and never lost on the way."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import r1nes
from r1nes.arrays import Array
from r1nes.parallel.interrupts import Interrupts
from support.functions import sphere
from support.runs import same


def press() -> None:
    signal.raise_signal(signal.SIGINT)


@contextmanager
def handler(function: Any) -> Iterator[None]:
    before = signal.signal(signal.SIGINT, function)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def test_it_comes_at_once_where_it_is_allowed() -> None:
    with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt), interrupts.allowed:
        press()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_it_waits_where_it_is_not() -> None:
    with Interrupts() as interrupts:
        press()
        with pytest.raises(KeyboardInterrupt), interrupts.allowed:
            raise AssertionError


def test_another_handler_still_does_what_it_does() -> None:
    seen: list[int] = []
    with handler(lambda number, _: seen.append(number)), Interrupts() as interrupts:
        with interrupts.allowed:
            press()
            assert seen == [signal.SIGINT]
        press()
        assert len(seen) == 1
        with interrupts.allowed:
            assert len(seen) == 2


def test_other_threads_are_left_alone() -> None:
    results: list[Any] = []
    thread = threading.Thread(
        target=lambda: results.append(r1nes.minimize(sphere, np.ones(3), max_evals=50, rng=1))
    )
    thread.start()
    thread.join()
    same(results[0], r1nes.minimize(sphere, np.ones(3), max_evals=50, rng=1))


def test_the_result_is_that_of_the_complete_generations() -> None:
    calls = 0

    def pressing(x: Array) -> float:
        nonlocal calls
        calls += 1
        if calls == 25:
            press()
        return float(sphere(x))

    result = r1nes.minimize(pressing, np.ones(4), popsize=8, rng=1)
    assert list(result.stop) == ["interrupt"]
    assert (result.nit, result.nfev, calls) == (3, 24, 25)
    assert result.fun == sphere(result.x)


def test_a_run_within_a_run_does_not_swallow_it() -> None:
    outer_calls = 0

    def outer(x: Array) -> float:
        nonlocal outer_calls
        outer_calls += 1
        return float(r1nes.minimize(inner, x, max_evals=20, rng=1).fun)

    def inner(x: Array) -> float:
        if outer_calls == 12:
            press()
        return float(sphere(x))

    result = r1nes.minimize(outer, np.ones(4), popsize=8, max_evals=400, rng=1)
    assert "interrupt" in result.stop
    assert outer_calls <= 16  # at the latest when the generation is complete
