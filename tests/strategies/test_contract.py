"""What every search distribution in the registry must do."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from r1nes.arrays import Array
from r1nes.strategies import STRATEGIES, Strategy
from support import oracles

METHODS = sorted(STRATEGIES)


def evolved(method: str, d: int = 5, steps: int = 60) -> Strategy:
    """A distribution that has adapted to a stretched bowl for a while, so that nothing is trivial."""
    rng = np.random.default_rng([d, 7])
    strategy = STRATEGIES[method]().start(rng.standard_normal(d) + 3, 0.8, rng)
    direction = rng.standard_normal(d)
    for _ in range(steps):
        noise = rng.standard_normal((12, strategy.noise_size))
        X = strategy.sample(noise)
        strategy = strategy.update(
            noise, utilities_of(50 * (X**2).sum(axis=1) - 40 * (X @ direction) ** 2 / d)
        )
    return strategy


def a_noise(strategy: Strategy, rng: np.random.Generator, n: int = 12) -> Array:
    """For ``n`` points."""
    return rng.standard_normal((n, strategy.noise_size))


def utilities_of(values: Array) -> Array:
    w = np.empty(len(values))
    w[np.argsort(values)] = oracles.log_utilities(len(values), zero_sum=True)
    return w


def arrays_of(strategy: Strategy) -> dict[str, Array]:
    values: dict[str, Any] = {field.name: getattr(strategy, field.name) for field in fields(strategy)}
    if "state" in values:
        values |= values.pop("state")._asdict()
    return {name: np.array(value) for name, value in values.items() if not isinstance(value, tuple)}


@pytest.mark.parametrize("method", METHODS)
def test_sampling_is_affine_with_the_covariance_it_claims(method: str) -> None:
    strategy = evolved(method)
    J = strategy.sample(np.eye(strategy.noise_size))[: strategy.noise_size] - strategy.mean
    np.testing.assert_allclose(J.T @ J, strategy.cov(), rtol=1e-9, atol=1e-12 * strategy.sigma**2)
    np.testing.assert_allclose(strategy.sample(np.zeros((1, strategy.noise_size)))[0], strategy.mean)
    noise = np.random.default_rng(1).standard_normal((3, strategy.noise_size))
    np.testing.assert_allclose(strategy.sample(noise), strategy.mean + noise @ J)


@pytest.mark.parametrize("method", METHODS)
def test_stds_and_condition_are_those_of_the_covariance(method: str) -> None:
    strategy = evolved(method)
    np.testing.assert_allclose(strategy.stds(), np.sqrt(np.diag(strategy.cov())), rtol=1e-9)
    least, most = strategy.largest_std()
    assert least * (1 - 1e-12) <= strategy.stds().max() <= most * (1 + 1e-12)
    exact = np.linalg.cond(strategy.cov())
    if method == "rknes":  # a bound: the axes of D and of the layer need not agree
        assert exact * (1 - 1e-9) <= strategy.condition() <= 10 * exact
    else:
        assert strategy.condition() == pytest.approx(exact, rel=1e-6)
    assert strategy.condition() > 1.5, "the test needs a distribution that is not round"


@pytest.mark.parametrize("method", METHODS)
def test_nothing_is_changed_in_place(method: str) -> None:
    strategy = evolved(method)
    before = arrays_of(strategy)
    noise = a_noise(strategy, np.random.default_rng(2))
    w = oracles.log_utilities(12, zero_sum=True)
    kept = noise.copy(), w.copy()
    strategy.sample(noise)
    strategy.update(noise, w)
    for name, array in arrays_of(strategy).items():
        np.testing.assert_array_equal(array, before[name])
    np.testing.assert_array_equal(noise, kept[0])
    np.testing.assert_array_equal(w, kept[1])


@pytest.mark.parametrize("method", METHODS)
def test_zero_utilities_move_nothing(method: str) -> None:
    strategy = evolved(method)
    noise = a_noise(strategy, np.random.default_rng(2))
    after = strategy.update(noise, np.zeros(12))
    np.testing.assert_array_equal(after.mean, strategy.mean)
    np.testing.assert_allclose(after.cov(), strategy.cov(), rtol=1e-14)


@pytest.mark.parametrize(
    ("method", "settings"), [("r1nes", {}), ("xnes", {}), ("rknes", {"base": "diagonal", "rate_base": 0.0})]
)
def test_rotated_problems_give_rotated_runs(method: str, settings: dict[str, Any]) -> None:
    d = 6
    rng = np.random.default_rng(4)
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    scales = np.logspace(0, 2, d)
    start = rng.standard_normal(d)
    plain = STRATEGIES[method](**settings).start(start, 0.5, np.random.default_rng(0))
    turned = STRATEGIES[method](**settings).start(Q @ start, 0.5, TurnedGenerator(Q, 0))
    for _ in range(40):
        noise = a_noise(plain, rng)
        rotated = noise.copy()
        rotated[:, :d] = noise[:, :d] @ Q.T
        X, Z = plain.sample(noise), turned.sample(rotated)
        np.testing.assert_allclose(Z, X @ Q.T, rtol=1e-6, atol=1e-9)
        plain = plain.update(noise, utilities_of((X * X) @ scales))
        turned = turned.update(rotated, utilities_of((Z @ Q) ** 2 @ scales))
    np.testing.assert_allclose(turned.cov(), Q @ plain.cov() @ Q.T, rtol=1e-6, atol=1e-9)


class TurnedGenerator(np.random.Generator):
    """Normal vectors as another generator draws them, rotated."""

    def __init__(self, Q: Array, seed: int) -> None:
        super().__init__(np.random.PCG64(seed))
        self.Q = Q

    def standard_normal(self, *args: object, **kwargs: object) -> Array:  # type: ignore[override]
        return self.Q @ super().standard_normal(*args, **kwargs)  # type: ignore[call-overload]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_keep_the_width_of_the_start(method: str, dtype: type) -> None:
    rng = np.random.default_rng(0)
    strategy = STRATEGIES[method]().start(np.ones(4, dtype), 0.5, rng)
    for _ in range(5):
        noise: Array = a_noise(strategy, rng, 8).astype(dtype)
        X = strategy.sample(noise)
        assert X.dtype == dtype
        strategy = strategy.update(noise, utilities_of((X * X).sum(axis=1)).astype(dtype))
    for name, array in arrays_of(strategy).items():
        assert array.ndim == 0 or array.dtype == dtype, name
    assert isinstance(strategy.sigma, float)
    assert strategy.stds().dtype == dtype
