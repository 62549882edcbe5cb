"""Every reason to stop comes true where it should, and every run ends."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import r1nes
from r1nes.arrays import Array
from r1nes.reasons import MESSAGES, STATUS, describe, succeeded
from support.functions import sphere

METHODS = ["r1nes", "rknes", "snes", "xnes"]


def run(fun: Callable[[Array], Array], x0: Array | None = None, **options: object) -> dict[str, float]:
    start = np.ones(3) if x0 is None else x0
    result = r1nes.minimize(fun, start, sigma0=1.0, vectorized=True, rng=1, **options)  # type: ignore[arg-type]
    assert result.status == STATUS[next(iter(result.stop))]
    for reason in result.stop:
        assert MESSAGES[reason] in result.message
        assert reason in result.message
    stop: dict[str, float] = result.stop
    return stop


@pytest.mark.parametrize("method", METHODS)
class TestReasons:
    def test_target(self, method: str) -> None:
        stop = run(sphere, method=method, ftarget=1e-3)
        assert list(stop) == ["ftarget"]
        assert stop["ftarget"] <= 1e-3

    def test_evaluations_are_never_exceeded(self, method: str) -> None:
        result = r1nes.minimize(sphere, np.ones(3), method=method, vectorized=True, max_evals=100, rng=1)
        assert list(result.stop) == ["max_evals"]
        assert 100 - 20 < result.nfev <= 100
        assert not result.success

    def test_seconds(self, method: str) -> None:
        def slow(X: Array) -> Array:
            time.sleep(0.01)
            return sphere(X)

        stop = run(slow, method=method, max_seconds=0.05)
        assert list(stop) == ["max_seconds"]
        assert 0.05 <= stop["max_seconds"] < 5

    def test_xtol(self, method: str) -> None:
        stop = run(sphere, method=method, xtol=1e-3, ftol=0)
        assert list(stop) == ["xtol"]
        assert stop["xtol"] <= 1e-3

    def test_ftol(self, method: str) -> None:
        stop = run(lambda X: 5 + sphere(X), method=method, xtol=0, ftol=1e-6)
        assert list(stop) == ["ftol"]
        assert 0 < stop["ftol"] <= 1e-6

    def test_flat(self, method: str) -> None:
        assert run(lambda X: np.full(len(X), 4.0), method=method) == {"flat": 4.0}

    def test_flat_at_the_end_of_the_objectives_precision(self, method: str) -> None:
        """1e9 + ‖x‖² has no digits left for the last part of the way."""
        stop = run(lambda X: 1e9 + sphere(X), method=method, xtol=0, ftol=0)
        assert stop.keys() & {"flat", "stagnation"}

    def test_minus_infinity(self, method: str) -> None:
        stop = run(lambda X: np.where(X[:, 0] < 0, -np.inf, sphere(X)), method=method)
        assert stop == {"minus_inf": -math.inf}

    def test_sigma_overflow(self, method: str) -> None:
        kept_round = {} if method == "snes" else {"rate_shape": 0.0}
        stop = run(lambda X: X.sum(axis=1), np.ones(3), method=method, max_condition=1e300, **kept_round)
        assert "sigma_overflow" in stop
        usual = run(lambda X: X.sum(axis=1), method=method)
        assert usual.keys() & {"condition", "sigma_overflow"}

    def test_stagnation_on_pure_noise(self, method: str) -> None:
        noise = np.random.default_rng(3)
        stop = run(lambda X: noise.random(len(X)), np.ones(2), method=method, xtol=0)
        assert not stop.keys().isdisjoint({"stagnation", "sigma_overflow", "condition", "noise"})

    def test_condition(self, method: str) -> None:
        """One variable that matters a thousand times more than the others."""
        scales = np.array([1e3, 1, 1])
        stop = run(lambda X: sphere(scales * X), method=method, max_condition=100)
        assert stop["condition"] >= 100


def test_a_lucky_early_point_does_not_look_like_stagnation() -> None:
    """The first point is better than anything for a long time, while the search makes slow progress."""
    optimizer = r1nes.Optimizer(np.zeros(4), 1.0, popsize=6, rng=1, xtol=0, ftol=0)
    for generation in range(6000):
        X = optimizer.ask()
        values = 1e3 - 0.01 * generation + np.arange(6.0)
        if generation == 0:
            values[2] = 0
        optimizer.tell(X, values)
        assert "stagnation" not in optimizer.stop()
    for luck in np.random.default_rng(1).random(6000):
        X = optimizer.ask()
        optimizer.tell(X, 900 + luck + np.arange(6.0))
    assert "stagnation" in optimizer.stop()


@pytest.mark.parametrize(("ftarget", "is_too_slow"), [(0.0, True), (990.0, False), (None, False)])
def test_progress_too_slow_for_the_target_is_stagnation(ftarget: float | None, is_too_slow: bool) -> None:
    """Within 140 generations the values improve by 0.14: a thousandth of the distance is 1, or 0.01."""
    optimizer = r1nes.Optimizer(np.zeros(4), 1.0, popsize=6, rng=1, xtol=0, ftol=0, ftarget=ftarget)
    for generation in range(300):
        optimizer.tell(optimizer.ask(), 1e3 - 1e-3 * generation + np.arange(6.0))
    assert ("stagnation" in optimizer.stop()) == is_too_slow


@pytest.mark.parametrize(("ftarget", "is_too_slow"), [(970.0, True), (990.0, False)])
def test_a_restarted_run_has_to_improve_faster(ftarget: float, is_too_slow: bool) -> None:
    """Within 140 generations the values improve by 0.14: a hundredth of the distance is 0.3, or 0.1."""
    first = r1nes.Optimizer(np.zeros(4), 1.0, rng=1)
    optimizer = r1nes.Optimizer(np.zeros(4), 1.0, popsize=6, rng=1, xtol=0, ftol=0, ftarget=ftarget)
    optimizer.inherit(first)
    for generation in range(300):
        optimizer.tell(optimizer.ask(), 1e3 - 1e-3 * generation + np.arange(6.0))
    assert ("stagnation" in optimizer.stop()) == is_too_slow


@pytest.mark.parametrize("method", ["r1nes", "snes", "xnes"])
def test_values_that_settle_while_the_distribution_is_wide_are_no_convergence(method: str) -> None:
    optimizer = r1nes.Optimizer(np.zeros(4), 1.0, method=method, popsize=6, rng=1, ftol=1e-3)
    for generation, luck in enumerate(np.random.default_rng(2).random((100, 6))):
        optimizer.tell(optimizer.ask(), luck if generation else 1e6 * luck)
    assert optimizer.stds.max() > 1
    assert optimizer.stop() == {}


def test_on_a_plateau_stagnation_needs_half_of_the_run() -> None:
    """There the values improve in jumps, so the next improvement may be long in coming."""
    optimizer = r1nes.Optimizer(np.zeros(4), 1.0, popsize=6, rng=1, xtol=0, ftol=0, ftarget=0.0)
    ended = 0
    while not ended:
        X = optimizer.ask()
        optimizer.tell(X, max(100.0 - optimizer.generation, -500.0) + 1000 + np.arange(6.0))
        if "stagnation" in optimizer.stop():
            ended = optimizer.generation
    assert 1200 <= ended < 2000  # the values had improved for 600 generations


def test_nothing_stops_a_run_at_its_start() -> None:
    optimizer = r1nes.Optimizer([0, 0], 1e-30, ftarget=-1)
    assert optimizer.stop() == {}
    assert optimizer.result.message == "The run has not ended."
    assert optimizer.result.status == -1
    assert not optimizer.result.success


class TestLimitsAreExact:
    def test_a_value_equal_to_the_target_reaches_it(self) -> None:
        assert run(lambda X: np.full(len(X), 4.0), ftarget=4.0) == {"ftarget": 4.0}

    def test_twenty_flat_generations_are_enough(self) -> None:
        result = r1nes.minimize(lambda _: 4.0, np.ones(3), popsize=5, noise=False, rng=1)
        assert result.stop == {"flat": 4.0}
        assert result.nit == 20

    def test_a_generation_that_fits_is_evaluated(self) -> None:
        assert r1nes.minimize(sphere, np.ones(3), popsize=5, max_evals=40, rng=1).nfev == 40
        assert r1nes.minimize(sphere, np.ones(3), popsize=5, max_evals=39, rng=1).nfev == 35

    def test_a_condition_number_at_its_limit_is_too_large(self) -> None:
        assert ends(condition=1e6, max_condition=1e6) == {"condition": 1e6}
        assert not ends(condition=1e6, max_condition=1.1e6)

    def test_a_standard_deviation_at_its_limit_is_small_enough(self) -> None:
        assert ends(std=1e-3, xtol=1e-3) == {"xtol": 1e-3}
        assert not ends(std=1.1e-3, xtol=1e-3)

    def test_what_is_not_a_number_ends_the_run(self) -> None:
        assert ends(condition=math.nan).keys() == {"condition"}
        assert ends(std=math.nan).keys() == {"sigma_overflow"}


def ends(std: float = 1.0, condition: float = 1.0, **options: float) -> dict[str, float]:
    """The reasons that follow from a distribution with one standard deviation and that condition number."""
    optimizer = r1nes.Optimizer(np.ones(3), method="snes", **options)  # type: ignore[arg-type]
    stopping = optimizer.stopping
    stopping.condition = condition
    round_one = SimpleNamespace(stds=lambda: np.full(3, std))
    return stopping._ends_of_search(round_one, std, std)  # type: ignore[arg-type]


def test_float32_stops_too() -> None:
    assert "sigma_overflow" in run(lambda X: X.sum(axis=1), np.ones(3, np.float32), max_condition=1e300)
    assert run(sphere, np.ones(3, np.float32), ftarget=1e-8).keys() == {"ftarget"}


@given(st.lists(st.sampled_from(sorted(MESSAGES)), min_size=1, unique=True), st.booleans())
def test_success_means_the_target_or_else_convergence(reasons: list[str], has_target: bool) -> None:
    stop = dict.fromkeys(reasons, 1.0)
    expected = "ftarget" in stop if has_target else bool({"xtol", "ftol"} & stop.keys())
    assert succeeded(stop, 1e-8 if has_target else None, 1e-9) == expected
    assert not succeeded(stop, None, math.inf)
    assert describe(stop).count("= 1)") == len(reasons)


@settings(max_examples=15)
@given(
    method=st.sampled_from(METHODS),
    d=st.integers(2, 4),
    levels=st.integers(1, 50),
    nan_share=st.sampled_from([0.0, 0.3]),
    tilt=st.sampled_from([-1.0, 0.0, 1.0]),
    seed=st.integers(0, 2**32),
)
def test_every_run_ends(method: str, d: int, levels: int, nan_share: float, tilt: float, seed: int) -> None:
    """Steps, plateaus, slopes without end, noise and failures in any mixture, and no limit at all."""
    noise = np.random.default_rng(seed)

    def nasty(X: Array) -> Array:
        values = np.floor(levels * np.tanh(sphere(X))) + tilt * X[:, 0] + 0.1 * noise.random(len(X))
        return np.where(noise.random(len(X)) < nan_share, np.nan, values)

    result = r1nes.minimize(nasty, np.ones(d), sigma0=1.0, method=method, vectorized=True, rng=seed)
    assert result.stop


@pytest.mark.parametrize("d", [2, 8])
def test_tell_goes_on_without_error_long_after_a_reason_to_stop(d: int) -> None:
    optimizer = r1nes.Optimizer(np.zeros(d), 1.0, noise=False, rng=1)
    values = np.random.default_rng(0).random(optimizer.popsize)  # the same for any points
    for _ in range(4_000 if d == 8 else 13_000):
        optimizer.tell(optimizer.ask(), values)
    assert optimizer.stop()
    assert np.isfinite(optimizer.mean).all()


def test_a_distribution_of_width_zero_is_not_widened() -> None:
    optimizer = r1nes.Optimizer(np.ones(3), rng=1)
    stopping = optimizer.stopping
    stopping.ends, stopping.sharpness.widest = {"xtol": 0.0}, 1.0
    stopping.sharpness.marks = [(10.0**-i, 10.0**-i) for i in range(3)]  # a cone, which is looked at further
    stopping.bests.append(1.0)
    assert stopping._checked(optimizer.strategy, 1e-3, 0.0) is optimizer.strategy
    assert stopping._checked(optimizer.strategy, 1e-3, 1e-3) is not optimizer.strategy
