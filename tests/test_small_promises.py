"""Details of long runs: rows of the history, words of the limits, small copies, limits that may change."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import r1nes
from support.ask_tell import run
from support.functions import rosenbrock, sphere
from support.runs import same


def test_generations_of_nan_are_in_the_history(tmp_path: Path) -> None:
    """The tenth ends the run with an error; the run that resumes has a row for it."""
    path, calls = tmp_path / "run.r1nes", 0

    def fails(X: np.ndarray) -> Any:
        nonlocal calls
        calls += 1
        return sphere(X) if calls < 4 or calls > 13 else np.full(len(X), np.nan)

    settings: dict[str, Any] = {
        "vectorized": True,
        "checkpoint": path,
        "popsize": 6,
        "max_evals": 120,
        "rng": 1,
    }
    with pytest.raises(FloatingPointError, match="only NaN"):
        r1nes.minimize(fails, np.ones(3), **settings)
    result = r1nes.minimize(fails, np.ones(3), **settings)
    assert result.nit == 20
    np.testing.assert_array_equal(result.history["nfev"], 6 * np.arange(1, 21))


def test_a_limit_is_named_with_its_value() -> None:
    result = r1nes.minimize(sphere, np.ones(3), popsize=7, max_evals=100, rng=1)
    assert result.nfev == 98
    assert "(max_evals = 100)" in result.message
    assert result.stop == {"max_evals": 100}


def test_a_pickled_optimizer_is_small_and_continues_alike() -> None:
    optimizer = r1nes.Optimizer(np.zeros(10), rng=1)
    run(optimizer, 5)
    optimizer.ask()
    content = pickle.dumps(optimizer)
    assert len(content) < 20_000
    np.testing.assert_array_equal(run(pickle.loads(content), 20).points, run(optimizer, 20).points)


@pytest.mark.parametrize(
    ("first", "later"),
    [
        ({"ftarget": 1.0}, {"ftarget": 1e-6}),
        ({"ftarget": 1.0, "restarts": 2}, {"ftarget": 1e-6, "restarts": 2}),
        ({"ftarget": 1.0}, {"ftarget": None}),
        ({"ftol": 1e-3}, {"ftol": 1e-12}),
        ({"xtol": 1e-1}, {"xtol": 1e-9}),
        ({"max_condition": 20.0}, {"max_condition": None}),
    ],
)
def test_reasons_to_stop_may_change_on_resume(
    first: dict[str, Any], later: dict[str, Any], tmp_path: Path
) -> None:
    """The run ends by the first setting, and goes on to where the later one alone would have led it."""
    settings: dict[str, Any] = {"vectorized": True, "max_evals": 3000, "rng": 1}
    kept = {**settings, "checkpoint": tmp_path / "run.r1nes"}
    part = r1nes.minimize(rosenbrock, np.zeros(4), **kept | first)
    whole = r1nes.minimize(rosenbrock, np.zeros(4), **kept | later)
    assert whole.nfev > part.nfev
    same(whole, r1nes.minimize(rosenbrock, np.zeros(4), **settings | later))
