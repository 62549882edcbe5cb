"""``max_seconds`` also ends a run in the middle of a generation, unless it is evaluated by a single call."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import r1nes
from r1nes.arrays import Array
from support.functions import sphere


class Slow:
    """The sphere, which takes a while from the given call on."""

    def __init__(self, fast: int) -> None:
        self.fast, self.points = fast, list[Array]()

    def __call__(self, x: Array) -> float:
        self.points.append(x.copy())
        if len(self.points) > self.fast:
            time.sleep(0.05)
        return float(sphere(x))


def test_an_unfinished_generation_counts_but_makes_no_step() -> None:
    fun = Slow(fast=20)
    result = r1nes.minimize(fun, np.ones(3), popsize=10**4, max_seconds=0.5, rng=1)
    assert result.stop == {"max_seconds": 0.5}
    assert result.nfev == len(fun.points) < 10**4
    assert result.nit == 0
    values = sphere(np.array(fun.points))
    assert result.fun == values.min()
    np.testing.assert_array_equal(result.x, fun.points[values.argmin()])
    np.testing.assert_array_equal(result.mean, np.ones(3))


def test_a_resumed_run_evaluates_the_generation_again(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"popsize": 50, "max_evals": 500, "rng": 1}
    kept = {**settings, "checkpoint": tmp_path / "run.r1nes"}
    part = r1nes.minimize(Slow(fast=120), np.ones(3), max_seconds=0.2, **kept)
    assert part.nit < 10
    whole = r1nes.minimize(
        Slow(fast=10**6), np.ones(3), **kept | {"max_evals": 500 + part.nfev - 50 * part.nit}
    )
    straight = r1nes.minimize(Slow(fast=10**6), np.ones(3), **settings)
    assert whole.nit == straight.nit == 10
    assert whole.fun == straight.fun
    np.testing.assert_array_equal(whole.mean, straight.mean)


def test_a_limit_that_is_not_reached_changes_nothing() -> None:
    timed = r1nes.minimize(Slow(10**6), np.ones(3), max_evals=600, max_seconds=1e6, rng=1)
    free = r1nes.minimize(Slow(10**6), np.ones(3), max_evals=600, rng=1)
    assert timed.nfev == free.nfev
    np.testing.assert_array_equal(timed.x, free.x)


def sleepy(x: Array) -> float:
    time.sleep(0.02)
    return float(sphere(x))


@pytest.mark.parametrize("workers", [2, "threads:2", "executor"])
@pytest.mark.parametrize("is_asynchronous", [False, True])
def test_no_point_begins_after_the_time_with_parallel_workers(workers: Any, is_asynchronous: bool) -> None:
    with ThreadPoolExecutor(2) as executor:
        began = time.monotonic()
        result = r1nes.minimize(
            sleepy,
            np.ones(3),
            popsize=10**4,
            max_seconds=1.0,
            workers=executor if workers == "executor" else workers,
            asynchronous=is_asynchronous,
            rng=1,
        )
        seconds = time.monotonic() - began
    assert seconds < 50  # a generation takes 100 s
    assert result.stop == {"max_seconds": 1.0}
    assert result.nit == 0
    assert result.nfev < 5000  # 0 if processes take longer to start
    assert result.fun == (sphere(result.x) if result.nfev else np.inf)


@pytest.mark.parametrize("settings", [{"timeout": 60}, {"retries": 0}, {}])
def test_a_limit_that_is_not_reached_changes_nothing_in_parallel(settings: Any) -> None:
    common = {"popsize": 300, "max_evals": 900, "workers": 2, "rng": 1} | settings
    timed = r1nes.minimize(sphere, np.ones(3), max_seconds=1e6, **common)
    free = r1nes.minimize(sphere, np.ones(3), **common)
    assert timed.nfev == free.nfev == 900
    np.testing.assert_array_equal(timed.x, free.x)
