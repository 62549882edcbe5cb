"""One call: the loop, its result, its callback, and what objectives may do."""

from __future__ import annotations

import math
import statistics
from typing import Any

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

import r1nes
from r1nes.arrays import Array
from r1nes.reasons import STATUS
from support.functions import cigar, rosenbrock, sphere


@pytest.mark.parametrize("method", ["r1nes", "rknes", "snes", "xnes"])
def test_the_32_dimensional_sphere(method: str) -> None:
    result = r1nes.minimize(sphere, np.ones(32), sigma0=1.0, method=method, ftarget=1e-8, rng=0)
    assert result.success
    assert result.fun == sphere(result.x) <= 1e-8
    assert list(result.stop) == ["ftarget"]


def test_the_32_dimensional_cigar_and_its_long_axis() -> None:
    """c settles near log 1000: from below, it fluctuates around 6.4 with the authors' rates."""
    last = []
    for seed in range(11):
        x0 = np.random.default_rng(seed).uniform(-4, 4, 32)
        result = r1nes.minimize(
            cigar, x0, sigma0=1.0, method="r1nes", ftarget=1e-8, vectorized=True, rng=seed
        )
        assert result.success
        last.append(result.history["c"][-1])
    assert abs(statistics.median(last) - math.log(1000)) < 0.5


def test_the_result_is_scipys_with_more() -> None:
    result = r1nes.minimize(sphere, np.ones(4), max_evals=200, rng=0)
    assert isinstance(result, OptimizeResult)
    assert result.nfev == result.nit * 8 == 200
    assert result.status == STATUS["max_evals"]
    assert not result.success
    assert "max_evals" in result.message
    assert result.stop == {"max_evals": 200}
    assert result.nan_count == 0
    assert result.x.shape == (4,)
    every_run = {"restart", "nfev", "best", "min", "median", "max", "ties", "noise", "center", "sigma"}
    of_rknes = {"e_diagonal", "e_full", "rate", "alignment", "c0", "c1", "c2"}
    assert result.history.keys() == every_run | of_rknes


def test_every_evaluation_is_counted_and_the_best_is_returned() -> None:
    seen: list[tuple[float, list[float]]] = []

    def noisy(x: Array) -> float:
        value = float(sphere(x) + np.sin(1e6 * x[0]))
        seen.append((value, x.tolist()))
        return value

    result = r1nes.minimize(noisy, np.ones(3), max_evals=500, rng=3)
    assert result.nfev == len(seen)
    assert (result.fun, result.x.tolist()) == min(seen)


class TestCallback:
    def test_it_sees_each_generation_and_may_stop_the_run(self) -> None:
        seen: list[OptimizeResult] = []

        def callback(intermediate_result: OptimizeResult) -> None:
            seen.append(intermediate_result)
            intermediate_result.x[:] = 99  # must not reach the run
            if intermediate_result.nit == 7:
                raise StopIteration

        result = r1nes.minimize(sphere, np.ones(5), callback=callback, rng=1)
        assert [r.nit for r in seen] == list(range(1, 8))
        assert [r.fun for r in seen] == sorted((r.fun for r in seen), reverse=True)
        assert result.stop == {"callback": 7}
        assert result.status == STATUS["callback"]
        assert "StopIteration" in result.message
        assert not result.success
        assert result.fun == sphere(result.x)

    def test_other_exceptions_reach_the_caller(self) -> None:
        def callback(_: OptimizeResult) -> None:
            raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            r1nes.minimize(sphere, np.ones(5), callback=callback)


class TestObjectives:
    def test_an_exception_reaches_the_caller_unchanged(self) -> None:
        error = ZeroDivisionError("in the user's code")

        def broken(_: Array) -> float:
            raise error

        with pytest.raises(ZeroDivisionError) as raised:
            r1nes.minimize(broken, np.ones(3))
        assert raised.value is error

    @pytest.mark.parametrize(
        "wrap", [float, np.float32, np.array, lambda f: np.array([f]), lambda f: np.array([[f]]), int]
    )
    def test_any_single_number_will_do(self, wrap: Any) -> None:
        plain = r1nes.minimize(
            lambda x: np.asarray(wrap(1e6 * sphere(x))).item(), np.ones(3), max_evals=100, rng=1
        )
        wrapped = r1nes.minimize(lambda x: wrap(1e6 * sphere(x)), np.ones(3), max_evals=100, rng=1)
        assert isinstance(wrapped.fun, float)
        assert wrapped.fun == plain.fun

    @pytest.mark.parametrize("value", [None, "1", [1.0, 2.0], 1j, np.array([])])
    def test_anything_else_is_refused(self, value: Any) -> None:
        with pytest.raises(TypeError, match="fun must return one real number, got"):
            r1nes.minimize(lambda _: value, np.ones(3))

    def test_vectorized_shapes(self) -> None:
        column = r1nes.minimize(
            lambda X: sphere(X)[:, None], np.ones(3), max_evals=100, vectorized=True, rng=1
        )
        plain = r1nes.minimize(sphere, np.ones(3), max_evals=100, vectorized=True, rng=1)
        assert column.fun == plain.fun
        with pytest.raises(TypeError, match=r"one real number per row, shape \(6,\).*got shape \(\)"):
            r1nes.minimize(lambda X: float(X.sum()), np.ones(3), vectorized=True)

    @pytest.mark.parametrize("vectorized", [True, False])
    def test_it_may_change_its_argument(self, vectorized: bool) -> None:
        def destructive(x: Array) -> Array:
            value = sphere(x)
            x[...] = np.nan
            return value

        spoilt = r1nes.minimize(destructive, np.ones(3), max_evals=300, vectorized=vectorized, rng=1)
        clean = r1nes.minimize(sphere, np.ones(3), max_evals=300, vectorized=vectorized, rng=1)
        np.testing.assert_array_equal(spoilt.x, clean.x)
        assert spoilt.fun == clean.fun

    def test_it_may_keep_its_argument(self) -> None:
        kept: list[Array] = []
        r1nes.minimize(lambda x: kept.append(x) or sphere(x), np.ones(3), max_evals=60, rng=1)  # type: ignore[func-returns-value]
        assert len({tuple(x) for x in kept}) == 60 - 2  # one generation asks two points again

    def test_more_arguments(self) -> None:
        result = r1nes.minimize(
            lambda x, centre, scale: scale * sphere(x - centre),
            np.zeros(3),
            args=(2.0, 5.0),
            ftarget=1e-9,
            rng=1,
        )
        np.testing.assert_allclose(result.x, 2, atol=1e-4)

    def test_it_must_be_callable(self) -> None:
        with pytest.raises(TypeError, match="fun must be callable, got 3"):
            r1nes.minimize(3, np.ones(3))  # type: ignore[arg-type]


def test_settings_reach_the_optimizer() -> None:
    result = r1nes.minimize(
        sphere, np.ones(3), popsize=6, rate_sigma=0.0, base="diagonal", max_evals=60, rng=1
    )
    np.testing.assert_allclose(result.history["sigma"], 1.0, rtol=1e-12)


def test_history_is_that_of_the_run() -> None:
    values: list[Array] = []

    def fun(X: Array) -> Array:
        values.append(rosenbrock(X))
        return values[-1]

    history = r1nes.minimize(fun, np.zeros(4), max_evals=400, vectorized=True, noise=False, rng=1).history
    generations = np.array(values)
    np.testing.assert_array_equal(history["nfev"], 8 * np.arange(1, 51))
    np.testing.assert_array_equal(history["min"], generations.min(axis=1))
    np.testing.assert_array_equal(history["max"], generations.max(axis=1))
    np.testing.assert_allclose(history["median"], np.median(generations, axis=1), rtol=1e-15)
    np.testing.assert_array_equal(history["best"], np.minimum.accumulate(generations.min(axis=1)))


def test_history_leaves_nan_out() -> None:
    def fun(X: Array) -> Array:
        values = np.arange(len(X), dtype=float)
        values[3:] = np.nan
        return values

    history = r1nes.minimize(fun, np.ones(4), max_evals=8, vectorized=True).history
    assert [history[name].tolist() for name in ("min", "median", "max")] == [[0], [1], [2]]
