"""xNES against a dense matrix exponential, and its gradient against F⁻¹∇ log p."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from r1nes.strategies.full import XNES, FullGaussian
from support import oracles


def a_strategy(d: int) -> FullGaussian:
    rng = np.random.default_rng(d)
    B = np.eye(d) + 0.5 * rng.standard_normal((d, d)) / math.sqrt(d)
    B /= abs(np.linalg.det(B)) ** (1 / d)
    return replace(XNES().start(rng.standard_normal(d), 0.6, rng), shape=B, power=float((B * B).sum()))


@pytest.mark.parametrize("d", [1, 2, 3, 8, 33])
@pytest.mark.parametrize("n", [5, 14, 60])
@pytest.mark.parametrize("zero_sum", [True, False])
@pytest.mark.parametrize("rate", [None, 1.0])
def test_one_step_equals_the_oracle(d: int, n: int, zero_sum: bool, rate: float | None) -> None:
    strategy, rng = a_strategy(d), np.random.default_rng([d, n])
    if rate is not None:
        strategy = replace(strategy, rate_sigma=0.7 * rate, rate_shape=rate)
    noise = rng.standard_normal((n, d))
    w = rng.permutation(oracles.log_utilities(n, zero_sum=zero_sum))
    mean, sigma, B = oracles.exponential_step(
        strategy.mean,
        strategy.sigma,
        strategy.shape,
        strategy.sample(noise),
        w,
        rate_mean=strategy.rate_mean,
        rate_sigma=strategy.rate_sigma,
        rate_shape=strategy.rate_shape,
    )
    updated = strategy.update(noise, w)
    np.testing.assert_allclose(updated.mean, mean, rtol=1e-12, atol=1e-12)
    assert updated.sigma == pytest.approx(sigma, rel=1e-12)
    np.testing.assert_allclose(updated.shape, B, rtol=1e-12, atol=1e-12)
    assert updated.power == pytest.approx((B * B).sum(), rel=1e-12)


@pytest.mark.parametrize("d", [2, 3])
def test_the_natural_gradient_is_the_inverse_fisher_times_the_gradient(d: int) -> None:
    """For a small rate C moves along F⁻¹∇, taken over every entry of a symmetric covariance."""
    rate = 1e-6
    strategy = replace(a_strategy(d), rate_sigma=rate, rate_shape=rate)
    C = strategy.cov()
    pairs = [(i, j) for i in range(d) for j in range(i, d)]
    slopes = [np.zeros((d, d)) for _ in pairs]
    for slope, (i, j) in zip(slopes, pairs, strict=True):
        slope[i, j] = slope[j, i] = 1.0
    F = oracles.fisher_by_quadrature(C, slopes)
    noise = np.random.default_rng(d).standard_normal((1, d))
    x = strategy.sample(noise)[0] - strategy.mean
    along = oracles.natural_gradient(x, C, slopes, F)
    expected = sum(slope * value for slope, value in zip(slopes, along, strict=True))
    moved = (strategy.update(noise, np.ones(1)).cov() - C) / rate
    np.testing.assert_allclose(moved, expected, atol=1e-4)


def test_the_determinant_of_the_shape_and_the_sum_of_its_squares_hold_over_a_long_run() -> None:
    strategy, rng = a_strategy(6), np.random.default_rng(0)
    w = oracles.log_utilities(9, zero_sum=True)
    for _ in range(500):
        strategy = strategy.update(rng.standard_normal((9, 6)), w)
    assert abs(np.linalg.det(strategy.shape)) == pytest.approx(1.0, rel=1e-9)
    assert strategy.power == pytest.approx((strategy.shape**2).sum(), rel=1e-12)


def test_defaults_are_the_papers() -> None:
    strategy = XNES().start(np.zeros(32), 1.0, np.random.default_rng(0))
    rate = (9 + 3 * math.log(32)) / (5 * 32 * math.sqrt(32))
    assert strategy.rate_sigma == strategy.rate_shape == pytest.approx(rate)
    assert [XNES().default_popsize(d) for d in (1, 2, 32, 512)] == [4, 6, 14, 22]
    np.testing.assert_allclose(
        XNES().default_utilities(14, 32), oracles.log_utilities(14, zero_sum=True), atol=1e-15
    )
