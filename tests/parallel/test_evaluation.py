"""Whoever evaluates, the run is the same."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest

import r1nes
from support.functions import rosenbrock, sphere

solve = partial(r1nes.minimize, rosenbrock, np.zeros(6), sigma0=0.5, max_evals=600, rng=2)


@pytest.mark.parametrize("method", ["r1nes", "snes", "xnes"])
@pytest.mark.parametrize("options", [{"vectorized": True}, {"workers": 2}, {"workers": -1}, {"workers": map}])
def test_the_run_is_the_same(method: str, options: dict[str, Any]) -> None:
    serial, other = solve(method=method), solve(method=method, **options)
    np.testing.assert_array_equal(other.x, serial.x)
    assert (other.fun, other.nfev, other.stop) == (serial.fun, serial.nfev, serial.stop)
    for column, values in serial.history.items():
        np.testing.assert_array_equal(other.history[column], values)


def test_any_map_will_do() -> None:
    with ThreadPoolExecutor(3) as pool:
        threaded = solve(workers=pool.map)
    np.testing.assert_array_equal(threaded.x, solve().x)


def failing(x: np.ndarray[Any, Any]) -> float:
    raise ArithmeticError(f"at {x.size} variables")


def test_an_exception_in_a_process_reaches_the_caller() -> None:
    with pytest.raises(ArithmeticError, match="at 3 variables"):
        r1nes.minimize(failing, np.ones(3), workers=2)


@pytest.mark.parametrize("workers", [0, -2, 1.5])
def test_bad_numbers_of_workers_are_refused(workers: Any) -> None:
    with pytest.raises(ValueError, match="workers must be a whole number of at least 1, got"):
        r1nes.minimize(sphere, np.ones(3), workers=workers)


def test_vectorized_has_no_use_for_workers() -> None:
    with pytest.raises(ValueError, match="workers must be 1 with vectorized=True, got 2"):
        r1nes.minimize(sphere, np.ones(3), workers=2, vectorized=True)
