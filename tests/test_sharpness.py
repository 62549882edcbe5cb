"""What follows from how the spread of the values shrinks with σ."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from r1nes import Optimizer
from r1nes.bench.functions.problems import problem
from r1nes.sharpness import LOOK, SHRUNK, SLOWER, SLOWINGS, Sharpness

SLOW: Any = SimpleNamespace(with_rates_times=lambda _: object())  # a strategy with learning rates
FIXED: Any = SimpleNamespace()  # and one without
FIXED.with_rates_times = lambda _: FIXED


def shrunk_to(std: float, power: float, **options: Any) -> Sharpness:
    """Return what was seen while the standard deviation shrank from 1 to ``std``, and the spread with it."""
    sharpness = Sharpness(**options)
    while sharpness.widest == 0 or sharpness.marks[-1][0] > 1.01 * std:
        most = 1.0 if not sharpness.marks else sharpness.marks[-1][0] / 10.1
        sharpness.mark(most, 0.0, most**power, 1e-16)
    return sharpness


def further(
    sharpness: Sharpness,
    best: float,
    *,
    strategy: Any = SLOW,
    distance: float | None = 1.0,
    is_over: bool = False,
) -> tuple[float, float] | None:
    return sharpness.further(best, 1e-9, 1e-9, strategy, distance=distance, is_over=is_over)


@pytest.mark.parametrize("power", [0.8, 1.0, 2.0, 3.0])
def test_the_power_of_the_spread_is_found(power: float) -> None:
    assert shrunk_to(1e-9, power).power() == pytest.approx(power)


def test_a_smooth_minimum_needs_no_check() -> None:
    assert further(shrunk_to(1e-9, 2.0), 1.0) == (1, 1)


def test_noise_has_no_minimum() -> None:
    assert further(shrunk_to(1e-9, 0.1), 1.0) is None


def test_a_sharp_minimum_is_trusted_once_a_wider_search_has_confirmed_it() -> None:
    sharpness = shrunk_to(1e-9, 1.0)
    assert further(sharpness, 1.0) == (LOOK, 1)
    assert further(sharpness, 1 + 4e-9) == (1, 1)


def test_a_ridge_slows_the_rates_three_times_and_is_then_a_collapse() -> None:
    sharpness = shrunk_to(1e-9, 1.0)
    for number in range(SLOWINGS):
        near = 0.09**number
        assert further(sharpness, 1.0, distance=near) == (LOOK, 1)
        assert further(sharpness, 0.9, distance=near) == (SHRUNK * sharpness.widest / 1e-9, SLOWER)
        assert sharpness.slowings == number + 1
        assert np.isnan(sharpness.power())  # it is measured again
        sharpness = shrunk_to(1e-9, 1.0, slowings=sharpness.slowings, distance=sharpness.distance)
    assert further(sharpness, 1.0, distance=None) == (LOOK, 1)
    assert further(sharpness, 0.9, distance=None) is None


def test_rates_fall_again_only_if_that_brought_the_target_nearer() -> None:
    for distance, falls in ((0.11, False), (0.09, True), (None, True)):
        sharpness = shrunk_to(1e-9, 1.0, slowings=1, distance=1.0)
        assert further(sharpness, 1.0, distance=distance) == (LOOK, 1)
        assert (further(sharpness, 0.9, distance=distance) is not None) == falls


@pytest.mark.parametrize("options", [{"is_restarted": True}, {}])
def test_rates_that_cannot_or_need_not_fall_are_left_alone(options: dict[str, Any]) -> None:
    """With a target, such a run need not be checked at all: it is no success."""
    strategy = SLOW if options else FIXED
    assert further(shrunk_to(1e-9, 1.0, **options), 1.0, strategy=strategy) == (1, 1)
    sharpness = shrunk_to(1e-9, 1.0, **options)
    assert further(sharpness, 1.0, strategy=strategy, distance=None) == (LOOK, 1)
    assert further(sharpness, 0.9, strategy=strategy, distance=None) is None


def test_a_run_that_is_over_is_not_continued() -> None:
    assert further(shrunk_to(1e-9, 1.0), 1.0, is_over=True) == (1, 1)


def test_steps_below_the_spacing_of_numbers_are_lost() -> None:
    mean, ridge = np.array([4.0, -1.0]), shrunk_to(1e-9, 1.0)

    def lost(sharpness: Sharpness, sigma: float) -> bool:
        return sharpness.is_lost(SimpleNamespace(**vars(SLOW) | {"sigma": sigma, "mean": mean}), 2.2e-16)  # type: ignore[arg-type]

    assert lost(ridge, 8e-16)
    assert not lost(ridge, 1e-15)
    assert not lost(shrunk_to(1e-9, 2.0), 8e-16)


def test_slower_rates_survive_a_checkpoint(tmp_path: Any) -> None:
    fun, x0 = problem("f13", 32, 33).formula, np.random.default_rng([32, 33]).uniform(-4, 4, 32)
    whole, parts = (Optimizer(x0, 2.0, rng=33, ftarget=1e-8) for _ in range(2))
    end = 2000  # generations, far more than it takes to the ridge
    while whole.generation < end and not whole.stop():
        for optimizer in (whole, parts):
            X = optimizer.ask()
            optimizer.tell(X, fun(X))
        if whole.generation % 20 == 0:
            parts.save(tmp_path / "run")
            parts = Optimizer.load(tmp_path / "run")
        if whole.stopping.sharpness.slowings > 0:
            end = min(end, whole.generation + 50)
    assert whole.stopping.sharpness.slowings > 0
    assert parts.stopping.sharpness == whole.stopping.sharpness
    assert parts.stop() == whole.stop()
    np.testing.assert_array_equal(parts.mean, whole.mean)
