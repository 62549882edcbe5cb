"""RkNES: its natural gradient against F⁻¹∇ log p, its identity with R1-NES, and what its parts are for."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest

import r1nes
from r1nes.arrays import Array, operations
from r1nes.arrays.loops import eigh, exp_small
from r1nes.bench.functions.problems import problem
from r1nes.strategies.rank_k.step import _transport, natural_gradient, orthonormalise
from r1nes.strategies.rank_k.strategy import RankKGaussian
from support import oracles


def directions(d: int, k: int, seed: int = 0) -> Array:
    return np.linalg.qr(np.random.default_rng([d, k, seed]).standard_normal((d, k)))[0].T


def gradient(y: Array, w: Array, V: Array) -> tuple[Array, float, Array]:
    weighted, power = (y @ V.T * w[:, None]).T @ y, float(w @ (y * y).sum(axis=1))
    return natural_gradient(operations(V), weighted, power, float(w.sum()), V)


@pytest.mark.parametrize(
    ("d", "c"),
    [(d, c) for d in (3, 5, 12) for c in ([0.7], [-0.9], [-1.5, 0.4], [-2.0, 0.5, 1.1]) if len(c) < d],
)
def test_the_natural_gradient_is_the_inverse_fisher_times_the_gradient(d: int, c: list[float]) -> None:
    stretches, log_sigma = np.array(c), 0.3
    k, V = len(c), directions(d, len(c))
    C, slopes = oracles.signed_rank_covariance(log_sigma, V, stretches)
    F = oracles.fisher_by_traces(C, slopes)
    rng = np.random.default_rng(1)
    y, w = rng.standard_normal((6, d)), rng.standard_normal(6)
    x = math.exp(log_sigma) * (y + (y @ V.T * np.expm1(stretches)) @ V)
    expected = sum(wi * oracles.natural_gradient(xi, C, slopes, F) for xi, wi in zip(x, w, strict=True))
    assert isinstance(expected, np.ndarray)

    within, rest, between = gradient(y, w, V)
    turns = between / (2 * np.sinh(stretches))[:, None]
    across = oracles.axes_across(V)
    assert rest / 2 == pytest.approx(expected[0], abs=1e-10)
    np.testing.assert_allclose((np.diag(within) - rest) / 2, expected[1 : 1 + k], atol=1e-10)
    np.testing.assert_allclose((turns @ across.T).ravel(), expected[1 + k : 1 + k + k * (d - k)], atol=1e-10)
    np.testing.assert_allclose(turns @ V.T, 0, atol=1e-12)


@pytest.mark.parametrize("d", [2, 3, 8, 33])
@pytest.mark.parametrize("r", [0.3, 1.0, 20.0])
def test_one_growing_direction_is_r1nes(d: int, r: float) -> None:
    """(4) for k = 1 and r² = e^{2c} − 1 gives the paper's gradients of λ and u."""
    rng = np.random.default_rng(d)
    u = rng.standard_normal(d)
    v = u / np.linalg.norm(u)
    c = 0.5 * math.log1p(r * r)
    whitened, w = rng.standard_normal((7, d)), rng.standard_normal(7)
    within, rest, between = gradient(whitened, w, v[None])
    grad_c = (within[0, 0] - rest) / 2
    grad_v = between[0] / (2 * math.sinh(c))
    grad_u = math.exp(2 * c) / r * grad_c * v + r * grad_v

    x = whitened + (whitened @ v * math.expm1(c))[:, None] * v
    gradients = np.zeros(1 + d)
    C, slopes = oracles.rank_one_covariance(0.0, r * v)
    F = oracles.fisher_by_traces(C, slopes)
    for xi, wi in zip(x, w, strict=True):
        gradients += wi * oracles.natural_gradient(xi, C, slopes, F)
    assert rest / 2 == pytest.approx(gradients[0], abs=1e-10)
    np.testing.assert_allclose(grad_u, gradients[1:], atol=1e-10 * max(1, r**2))


def test_transport_keeps_where_long_and_short_axes_point() -> None:
    """For one direction: D v, or D⁻¹ v for a short one, stays parallel to itself while D moves."""
    rng = np.random.default_rng(0)
    V, log_D, delta = directions(6, 1), rng.standard_normal(6), 0.3 * rng.standard_normal(6)
    for sign in (1.0, -1.0):
        before = np.exp(sign * log_D) * V[0]
        moved = V.copy()
        _transport(operations(V), moved, np.array([2 * sign]), delta)
        after = np.exp(sign * (log_D + delta)) * moved[0]
        np.testing.assert_allclose(after / np.linalg.norm(after), before / np.linalg.norm(before), rtol=1e-12)


def test_orthonormal_rows_keep_the_strongest_direction() -> None:
    V = directions(6, 3) + 0.1 * np.random.default_rng(0).standard_normal((3, 6))
    Q = V.copy()
    orthonormalise(operations(Q), Q, np.array([-0.5, 0.3, 4.0]))
    np.testing.assert_allclose(Q @ Q.T, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(Q[2], V[2] / np.linalg.norm(V[2]), atol=1e-14)
    assert (np.diag(Q @ V.T) > 0.8).all()


def test_the_series_of_the_exponential_is_exact_to_rounding() -> None:
    x = np.linspace(-1, 1, 2001)
    out = np.empty_like(x)
    exp_small(out, x)
    np.testing.assert_allclose(out, np.exp(x), rtol=1e-15)


@pytest.mark.parametrize("k", [1, 2, 3, 8])
def test_jacobis_rotations_solve_the_eigenproblem(k: int) -> None:
    rng = np.random.default_rng(k)
    for scale in (1e-9, 1.0, 1e9):
        A = rng.standard_normal((k, k)) * np.logspace(0, 4, k)
        A = scale * (A + A.T)
        diagonal, vectors = A.copy(), np.empty((k, k))
        eigh(diagonal, vectors)
        values = np.diag(diagonal)
        np.testing.assert_allclose(values, np.linalg.eigh(A)[0], rtol=1e-12, atol=1e-12 * np.abs(A).max())
        np.testing.assert_allclose(vectors @ vectors.T, np.eye(k), atol=1e-14)
        np.testing.assert_allclose(vectors.T * values @ vectors, A, atol=1e-13 * np.abs(A).max())


@pytest.mark.parametrize(
    ("rank", "signs"), [((1, 0), [1]), ((0, 2), [-1, -1]), (3, [-1, 1, 1]), ((2, 3), [-1] * 3 + [1] * 2)]
)
def test_slots_keep_their_signs(rank: int | tuple[int, int], signs: list[int]) -> None:
    optimizer = r1nes.Optimizer(np.ones(8), 0.5, method="rknes", rank=rank, rng=1)
    for _ in range(100):
        X = optimizer.ask()
        optimizer.tell(X, (X**4).sum(axis=1))
    strategy = optimizer.strategy
    assert isinstance(strategy, RankKGaussian)
    np.testing.assert_array_equal(np.sign(strategy.stretches), signs)
    np.testing.assert_allclose(strategy.directions @ strategy.directions.T, np.eye(len(signs)), atol=1e-12)
    assert np.log(strategy.scales).mean() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("rank", [0, 5, (0, 0), (3, 2), (-1, 2)])
def test_impossible_ranks_are_refused(rank: int | tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="rank must be 1 to 4 directions, or a pair"):
        r1nes.Optimizer(np.ones(5), 0.5, method="rknes", rank=rank)


@pytest.mark.parametrize(
    ("function", "d", "budget"),
    [
        ("f1", 32, 2.4e3),
        ("cigar", 32, 6.0e3),
        ("tablet", 32, 4.2e3),
        ("f2", 32, 4.8e3),
        ("f11", 32, 8.0e3),
        ("f12", 32, 1.6e4),
        ("f1", 128, 6.0e3),
        ("f11", 128, 2.0e4),
    ],
)
def test_budget(function: str, d: int, budget: float) -> None:
    """Medians over five instances; on the tablet and f11 every other linear-time method fails."""
    needed = []
    for seed in range(1, 6):
        f = problem(function, d, seed if function.startswith("f") else 1)
        result = r1nes.minimize(
            lambda X, f=f: f(X) - f.fopt,
            np.random.default_rng(seed).uniform(-4, 4, d),
            sigma0=2.0 if function.startswith("f") else 1.0,
            method="rknes",
            ftarget=1e-8,
            max_evals=10 * budget,
            vectorized=True,
            rng=seed,
        )
        needed.append(result.nfev if result.success else math.inf)
    assert statistics.median(needed) <= budget, needed
