"""R1-NES against F⁻¹∇ log p and against Algorithm 1 with dense matrices."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from r1nes.arrays import Array
from r1nes.strategies.rank_one import R1NES, SHORTEST, RankOneGaussian
from support import oracles

DIMS = [2, 3, 8, 33]


def a_strategy(d: int, r: float, seed: int = 0, **rates: float) -> RankOneGaussian:
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
    assert [R1NES.default_popsize(d) for d in (2, 8, 32, 128, 512, 1000)] == [
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
        R1NES.default_utilities(20, 32), oracles.log_utilities(20, zero_sum=False), atol=1e-15
    )
