"""R1-NES against F⁻¹∇ log p and against Algorithm 1 with dense matrices."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from r1nes import XNES, Optimizer, minimize
from r1nes.arrays import Array
from r1nes.bench.functions.textbook import rosenbrock
from r1nes.strategies.presets import PRESETS
from r1nes.strategies.rank_one import R1NES
from r1nes.strategies.rank_one.step import SHORTEST
from r1nes.strategies.rank_one.strategy import RankOneGaussian
from support import oracles

DIMS = [2, 3, 8, 33]


def a_strategy(d: int, r: float, seed: int = 0, **rates: Any) -> RankOneGaussian:
    rng = np.random.default_rng([d, seed])
    u = rng.standard_normal(d)
    strategy = R1NES(**rates).start(rng.standard_normal(d), 0.7, rng)
    return replace(strategy, u=r * u / np.linalg.norm(u))


def noise_and_utilities(d: int, n: int = 12, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng([d, n, seed, 1])
    return rng.standard_normal((n, d + 1)), rng.permutation(oracles.log_utilities(n, zero_sum=False))


def test_the_oracles_slopes_are_those_of_the_covariance() -> None:
    theta = np.array([0.3, -0.5, 1.2, 0.4])
    _, slopes = oracles.rank_one_covariance(theta[0], theta[1:])
    numerical = oracles.numerical_slopes(lambda t: oracles.rank_one_covariance(t[0], t[1:])[0], theta)
    np.testing.assert_allclose(slopes, numerical, atol=1e-8)


@pytest.mark.parametrize("d", [2, 3, 6])
def test_two_fisher_matrices_agree(d: int) -> None:
    strategy = a_strategy(d, 1.3)
    C, slopes = oracles.rank_one_covariance(strategy.log_sigma, strategy.u)
    by_quadrature = oracles.fisher_by_quadrature(C, slopes)
    np.testing.assert_allclose(by_quadrature, oracles.fisher_by_traces(C, slopes), atol=1e-11)


@pytest.mark.parametrize("d", DIMS)
@pytest.mark.parametrize("r", [0.3, 1.0, 40.0])
def test_the_natural_gradient_is_the_inverse_fisher_times_the_gradient(d: int, r: float) -> None:
    """One sample of utility 1 moves λ and u by their rates times F⁻¹∇ log p."""
    rate = 1e-6  # below every cap; so small that turning v and growing c is moving u, to first order
    strategy = a_strategy(d, r, rate_sigma=rate, rate_shape=rate)
    C, slopes = oracles.rank_one_covariance(strategy.log_sigma, strategy.u)
    F = oracles.fisher_by_traces(C, slopes) if d > 6 else oracles.fisher_by_quadrature(C, slopes)
    for seed in range(4):
        noise = np.random.default_rng([d, seed]).standard_normal((1, d + 1))
        expected = oracles.natural_gradient(strategy.sample(noise)[0] - strategy.mean, C, slopes, F)
        moved = strategy.update(noise, np.ones(1))
        scale = np.abs(expected).max()
        assert (moved.log_sigma - strategy.log_sigma) / rate == pytest.approx(expected[0], abs=1e-8 * scale)
        np.testing.assert_allclose((moved.u - strategy.u) / rate, expected[1:], atol=1e-4 * scale)


@pytest.mark.parametrize("d", DIMS)
@pytest.mark.parametrize("r", [1e-3, 0.5, 3.0, 1000.0])
def test_one_step_equals_algorithm_1(d: int, r: float) -> None:
    branches = set()
    for seed in range(8):
        strategy = a_strategy(d, r, seed)
        noise, w = noise_and_utilities(d, seed=seed)
        step = oracles.rank_one_step(
            strategy.mean,
            strategy.log_sigma,
            strategy.u,
            strategy.sample(noise),
            w,
            rate_mean=1.0,
            rate_sigma=0.1,
            rate_shape=0.1,
        )
        branches.add(step.grad_c < 0)
        updated = strategy.update(noise, w)
        exact = 1e-12 * max(1.0, r * r)  # the oracle inverts C, whose condition number is 1 + r²
        np.testing.assert_allclose(updated.mean, step.mean, rtol=exact, atol=exact)
        assert updated.log_sigma == pytest.approx(step.log_sigma, rel=exact, abs=exact)
        np.testing.assert_allclose(updated.u, step.u, rtol=exact, atol=exact * r)
    if 0.1 < r < 10 and d < 33:
        assert branches == {True, False}, "both branches of the update must have been compared"


def test_a_long_direction_costs_no_digits() -> None:
    """Turned into the first axis, the step in λ does not depend on how long u is."""
    rng = np.random.default_rng(0)
    noise, w = rng.standard_normal((12, 5)), oracles.log_utilities(12, zero_sum=False)
    expected = w @ ((noise[:, 1:4] ** 2).sum(axis=1) / 3 - 1) / 2
    for r in (1.0, 1e6, 1e12):
        strategy = replace(a_strategy(4, 1.0, rate_sigma=1.0), u=r * np.eye(4)[0])
        moved = strategy.update(noise, w).log_sigma - strategy.log_sigma
        assert moved == pytest.approx(expected, rel=1e-12)


def test_the_rate_of_u_is_capped() -> None:
    """However large the gradient, u moves by 2‖u‖ at most."""
    strategy = a_strategy(5, 1e-3, rate_shape=0.1)
    noise = np.random.default_rng(3).standard_normal((1, 6)) * 5
    moved = strategy.update(noise, np.ones(1))
    assert np.linalg.norm(moved.u - strategy.u) <= 2e-3 * (1 + 1e-9)


def test_u_never_vanishes_and_never_becomes_nan() -> None:
    """Selection of the samples across u shrinks it for as long as one likes."""
    strategy = a_strategy(4, 1.0)
    rng = np.random.default_rng(0)
    for _ in range(500):
        noise = rng.standard_normal((10, 5))
        along = np.abs(strategy.sample(noise) - strategy.mean) @ np.abs(strategy.u)
        w = np.zeros(10)
        w[np.argmin(along)] = 1.0
        strategy = strategy.update(noise, w)
    length = math.sqrt(strategy.u @ strategy.u)
    assert length >= SHORTEST * (1 - 1e-12)
    assert np.isfinite(strategy.mean).all()


def test_defaults_are_the_authors() -> None:
    assert [R1NES().default_popsize(d) for d in (2, 8, 32, 128, 512, 1000)] == [
        5,
        12,
        20,
        28,
        102,
        200,
    ]
    strategy = R1NES().start(np.zeros(7), 2.0, np.random.default_rng(0))
    assert (strategy.rate_mean, strategy.rate_sigma, strategy.rate_shape) == (1.0, 0.1, 0.1)
    assert np.linalg.norm(strategy.u) == pytest.approx(1.0)
    np.testing.assert_allclose(
        R1NES().default_utilities(20, 32), oracles.log_utilities(20, zero_sum=False), atol=1e-15
    )


def rates_of(method: R1NES, d: int) -> tuple[float, float, float]:
    strategy = method.start(np.zeros(d), 1.0, np.random.default_rng(0))
    return strategy.rate_mean, strategy.rate_sigma, strategy.rate_shape


@pytest.mark.parametrize(
    ("preset", "d", "rate", "popsize", "zero_sum"),
    [
        ("pybrain", 2, 0.1, 5, False),
        ("pybrain", 64, 0.1, 24, False),
        ("heuristic", 2, 0.6 * (3 + math.log(2)) / 2**1.5, 6, True),
        ("heuristic", 64, 0.6 * (3 + math.log(64)) / 512, 16, True),
        ("matlab", 2, 0.1, 5, False),
        ("matlab", 64, 0.1, 33, False),
    ],
)
def test_presets_are_the_authors_settings(
    preset: str, d: int, rate: float, popsize: int, zero_sum: bool
) -> None:
    method = R1NES(preset=preset)
    assert rates_of(method, d) == pytest.approx((1.0, rate, rate), rel=1e-14)
    assert method.default_popsize(d) == popsize
    expected = oracles.log_utilities(popsize, zero_sum=zero_sum)
    np.testing.assert_allclose(method.default_utilities(popsize, d), expected, atol=1e-15)


def test_the_heuristic_preset_has_the_settings_of_xnes() -> None:
    ours, xnes = R1NES(preset="heuristic"), XNES()
    for d in (2, 7, 100):
        theirs = xnes.start(np.zeros(d), 1.0, np.random.default_rng(0))
        assert rates_of(ours, d) == (theirs.rate_mean, theirs.rate_sigma, theirs.rate_shape)
        n = xnes.default_popsize(d)
        assert ours.default_popsize(d) == n
        np.testing.assert_array_equal(ours.default_utilities(n, d), xnes.default_utilities(n, d))


def test_settings_that_are_given_take_precedence_over_the_preset() -> None:
    assert rates_of(R1NES(preset="heuristic", rate_sigma=0.3), 4)[1] == 0.3
    assert (
        rates_of(R1NES(preset="heuristic", rate_sigma=0.3), 4)[2] == rates_of(R1NES(preset="heuristic"), 4)[2]
    )
    assert rates_of(R1NES(preset="matlab", rate_shape=0.0), 4) == (1.0, 0.1, 0.0)
    weights = np.arange(9.0, 0, -1)
    given = Optimizer(np.ones(4), method="r1nes", preset="heuristic", popsize=9, utilities=weights)
    assert given.popsize == 9
    np.testing.assert_array_equal(given.settings.weights, weights)


def test_an_unknown_preset_is_answered_with_the_known_ones() -> None:
    message = "preset must be one of pybrain, heuristic, matlab, got 'heuristics'; did you mean heuristic?"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        R1NES(preset="heuristics")
    with pytest.raises(ValueError, match="preset must be one of pybrain, heuristic, matlab, got 3"):
        Optimizer(np.ones(4), method="r1nes", preset=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="preset is not a setting of RkNES"):
        Optimizer(np.ones(4), preset="heuristic")


@pytest.mark.parametrize("preset", PRESETS)
def test_a_run_with_a_preset_resumes_bit_for_bit(tmp_path: Path, preset: str) -> None:
    def minimized(max_evals: int, **more: Any) -> Any:
        method = R1NES(preset=preset)
        return minimize(rosenbrock, -np.ones(6), 0.5, method=method, max_evals=max_evals, rng=3, **more)

    whole, path = minimized(900), tmp_path / "run.r1nes"
    minimized(400, checkpoint=path)
    resumed = minimized(900, checkpoint=path)
    assert resumed.fun == whole.fun
    np.testing.assert_array_equal(resumed.x, whole.x)
    other = R1NES(preset="matlab" if preset == "heuristic" else "heuristic")
    with pytest.raises(ValueError, match="must be as in the checkpoint"):
        minimize(rosenbrock, -np.ones(6), 0.5, method=other, max_evals=900, rng=3, checkpoint=path)


def test_restarts_slow_the_rate_of_a_preset_that_has_a_number() -> None:
    assert R1NES().slowed(4).rate_sigma == R1NES(preset="matlab").slowed(4).rate_sigma == 0.1 / 4
    assert R1NES(preset="heuristic", rate_sigma=0.2).slowed(4).rate_sigma == 0.2 / 4
    assert R1NES(preset="heuristic").slowed(4) == R1NES(preset="heuristic")
    assert R1NES().slowed(1) == R1NES()
