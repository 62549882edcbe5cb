"""RkNES: its steps against dense matrices, its gradient against F⁻¹∇ log p, its gates under luck, budgets."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import r1nes
from r1nes.arrays import Array
from r1nes.bench.functions.problems import problem
from r1nes.ranking import logarithmic
from r1nes.sampling.compact import ShiftedSequence
from r1nes.sampling.orthogonal import OrthogonalDirections, Pairs, folded, rows_of
from r1nes.strategies.rank_k import RkNES
from r1nes.strategies.rank_k import step as texts
from r1nes.strategies.rank_k.rates import PACE, Rates, State, rates_of, slots_of
from r1nes.strategies.rank_k.strategy import RankKGaussian
from r1nes.strategies.rank_k.tiles import Moments, advance_in_tiles
from support import oracles
from support.functions import rosenbrock

BASES = ["diagonal", "full"]


def directions(d: int, k: int, seed: int = 0) -> Array:
    return np.ascontiguousarray(
        np.linalg.qr(np.random.default_rng([d, k, seed]).standard_normal((d, k)))[0].T
    )


def searched(d: int, generations: int, **settings: Any) -> tuple[RankKGaussian, Any, Array]:
    """Return a distribution in the middle of a search, with its next noise and utilities."""
    optimizer = r1nes.Optimizer(np.linspace(-1, 2, d), 0.5, method="rknes", noise=False, rng=1, **settings)
    for _ in range(generations):
        X = optimizer.ask()
        optimizer.tell(X, rosenbrock(X))
    X = optimizer.ask()
    order = rosenbrock(X).argsort().argsort()
    assert isinstance(optimizer.strategy, RankKGaussian)
    return optimizer.strategy, optimizer._matching.pending, optimizer.settings.weights[:, order]


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("rank", [None, (1, 0), (0, 2), (3, 2)])
@pytest.mark.parametrize(("d", "popsize"), [(2, 6), (3, 6), (7, 10), (7, 40), (9, 7), (30, 8)])
def test_a_step_is_that_of_dense_matrices(
    base: str, rank: tuple[int, int] | None, d: int, popsize: int
) -> None:
    if rank is not None and sum(rank) >= d:
        pytest.skip("more directions than variables")
    for generations in (0, 5, 150):
        strategy, noise, utilities = searched(d, generations, base=base, rank=rank, popsize=popsize)
        if generations == 150:  # gates that are open
            strategy = replace(strategy, state=strategy.state._replace(e_diagonal=4.0, e_full=5.0))
        Y, (of_mean, w, weights) = rows_of(noise), folded(noise, utilities)
        rates, _ = strategy._constants(*weights)
        expected = oracles.rank_k_step(strategy.state, Y, of_mean, w, rates, strategy.growing)
        after = strategy.update(noise, utilities).state
        signs = np.sign((after.V * expected["V"]).sum(axis=1))[:, None]
        for name, value in expected.items():
            found = signs * after.V if name == "V" else getattr(after, name)
            np.testing.assert_allclose(
                found, value, atol=1e-9 * abs(value).max(initial=1e-9), rtol=0, err_msg=name
            )


@pytest.mark.parametrize(
    ("d", "c"),
    [(d, c) for d in (3, 5, 12) for c in ([0.7], [-0.9], [0.4, -1.5], [1.1, 0.5, -2.0]) if len(c) < d],
)
def test_a_small_step_is_the_inverse_fisher_times_the_gradient(d: int, c: list[float]) -> None:
    """Over σ, V and c, with the base at rest and without paths."""
    k, V, tiny = len(c), directions(d, len(c)), 1e-7
    rng = np.random.default_rng(1)
    Y, w = rng.standard_normal((6, d)), rng.standard_normal(6)
    C, slopes = oracles.signed_rank_covariance(0.0, V, np.array(c))
    x = Y + (Y @ V.T * np.expm1(c)) @ V
    F = oracles.fisher_by_traces(C, slopes)
    natural = [wi * oracles.natural_gradient(xi, C, slopes, F) for xi, wi in zip(x, w, strict=True)]
    expected = np.sum(natural, axis=0)

    still = dict.fromkeys(Rates._fields, 0.0)
    rates = Rates(
        **still | {"total": w.sum(), "mu": 1.0, "layer": tiny, "radial": tiny, "expected": 1.0, "memory": 0.1}
    )
    zeros, growing = np.zeros(d), sum(ci > 0 for ci in c)
    state = State(zeros, np.ones(d), V, np.exp(c), zeros, zeros, zeros, zeros[:0, None], 0.0, 0.0, 0.0, 0)
    slots = slots_of(growing, k, tiny, np.dtype(float))._replace(pull=np.ones(k))
    after = texts.step(state, Y, 0 * w, w, None, rates, slots)

    pace = np.where(np.array(c) < 0, PACE, 1.0)
    turned = after.V * np.sign((after.V * V).sum(axis=1))[:, None]
    assert after.log_sigma / tiny == pytest.approx(expected[0], abs=1e-5)
    np.testing.assert_allclose(
        (np.log(after.a) - c) / tiny / pace, expected[1 : 1 + k], atol=1e-5, err_msg="the stretches"
    )
    across = (turned - V) @ oracles.axes_across(V).T / tiny / pace[:, None]
    np.testing.assert_allclose(across.ravel(), expected[1 + k : 1 + k + k * (d - k)], atol=1e-5)


@pytest.mark.parametrize(("d", "n"), [(6, 8), (10, 10), (40, 8)])
def test_under_luck_the_gates_see_nothing(d: int, n: int) -> None:
    """Each z has mean 0, variance near 1 and no memory, on and off the diagonal, with and without pairs."""
    source = OrthogonalDirections(np.random.SeedSequence(1), d, np.dtype(float), n)
    w, rng = RkNES.default_utilities(n, d), np.random.default_rng(2)
    strategy = RkNES(base="full", rate_base=0.0, rate_sigma=0.0).start(np.zeros(d), 1.0, rng)
    e = []
    for generation in range(1, 3001):
        strategy = strategy.update(source.draw(generation, 0, n), w[:, rng.permutation(n)])
        e.append((strategy.state.e_diagonal, strategy.state.e_full))
    found, memory = np.array(e), 0.5 / d
    z = ((found[1:] - (1 - memory) * found[:-1]) / math.sqrt(memory * (2 - memory)))[5 * d :]
    error = 4 / math.sqrt(len(z))
    assert (abs(z.mean(axis=0)) < error).all()
    assert (abs((z[1:] * z[:-1]).mean(axis=0)) < 1.5 * error).all()
    assert (z.var(axis=0) > 0.9).all()
    assert (z.var(axis=0) < [1.5, 1.2]).all()


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize(
    ("dtype", "generations"),
    [(np.float64, 3_000), (np.float32, 3_000), pytest.param(np.float64, 100_000, marks=pytest.mark.slow)],
)
def test_rounding_does_not_add_up(
    base: str, dtype: type, generations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its gates open to luck, σ stays the geometric mean of B's singular values, and V orthonormal."""
    monkeypatch.setattr(texts, "SURE", 1e-9)
    d, n, rng = 5, 8, np.random.default_rng(1)
    source = OrthogonalDirections(np.random.SeedSequence(1), d, np.dtype(dtype), n)
    w: Array = RkNES.default_utilities(n, d).astype(dtype)
    strategy = RkNES(base=base, rate_sigma=0.0).start(np.zeros(d, dtype), 1.0, rng)
    for generation in range(1, generations + 1):
        strategy = strategy.update(source.draw(generation, 0, n), w[:, rng.permutation(n)])
        if generation % 100 == 0:  # or free slots would widen the base without end
            strategy = strategy.shrunk(strategy.sigma)
        if strategy.condition() > 1e6:  # luck has stretched it: begin again, with the same σ
            strategy = replace(strategy, state=strategy.state._replace(B=_rounder(strategy.state.B)))
    state, digits = strategy.state, 1e-4 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(state.V @ state.V.T, np.eye(len(state.V)), atol=digits)
    logs = np.log(np.linalg.svd(state.B, compute_uv=False) if base == "full" else state.B)
    assert logs.mean() == pytest.approx(state.log_sigma, abs=5e-2)
    assert state.B.dtype == dtype


def _rounder(B: Array) -> Array:
    """Return a multiple of the identity with the determinant of B."""
    if B.ndim == 1:
        return np.full_like(B, np.exp(np.log(B).mean()))
    return np.eye(len(B), dtype=B.dtype) * B.dtype.type(math.exp(np.linalg.slogdet(B)[1] / len(B)))


@pytest.mark.parametrize("generations", [1, 60])
def test_tiles_change_nothing(generations: int, monkeypatch: pytest.MonkeyPatch) -> None:
    strategy, noise, utilities = searched(700, generations, base="diagonal", popsize=9)
    whole = strategy.update(noise, utilities).state
    monkeypatch.setattr("r1nes.strategies.rank_k.strategy.LARGEST_WHOLE", 1)
    monkeypatch.setattr("r1nes.strategies.rank_k.tiles.ROWS", 2**11)  # tiles of 128 columns
    advance_in_tiles.cache_clear()
    tiled = strategy.update(noise, utilities).state
    advance_in_tiles.cache_clear()
    for name in State._fields:
        expected = np.asarray(getattr(whole, name))
        error = 1e-11 * abs(expected).max(initial=1e-9)
        np.testing.assert_allclose(getattr(tiled, name), expected, rtol=1e-10, atol=error, err_msg=name)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize(("d", "popsize"), [(7, 10), (40, 12)])
def test_points_have_the_covariance_of_the_parameters(base: str, d: int, popsize: int) -> None:
    strategy, _, _ = searched(d, 80, base=base, popsize=popsize)
    _, B, V, a, *_ = strategy.state
    BM = (np.diag(B) if base == "diagonal" else B) @ (np.eye(d) + V.T @ np.diag(a - 1) @ V)
    expected = BM @ BM.T
    np.testing.assert_allclose(strategy.cov(), expected, atol=1e-12 * abs(expected).max())
    np.testing.assert_allclose(strategy.stds(), np.sqrt(np.diag(expected)), rtol=1e-10)


def test_a_scale_changes_by_a_factor_of_e_at_most_in_one_step() -> None:
    d, start = 50, RkNES(base="diagonal").start(np.zeros(50), 1.0, np.random.default_rng(1))
    sure = replace(start, state=start.state._replace(e_diagonal=50.0))
    squares = np.zeros(d)
    squares[:2] = 1000.0, -1000.0
    rows = np.zeros((len(start.state.V) + 1, d))
    B = sure.step(Moments(rows, squares, w_power=0.3, power=0.3, n=18)).state.B
    np.testing.assert_allclose([B.max() / B[2], B[2] / B.min()], math.e, rtol=0.01)


def test_directions_in_compact_form_give_the_same_points_and_sums() -> None:
    pytest.importorskip("numba")
    d, n = 5_000, 12
    source = OrthogonalDirections(np.random.SeedSequence(1), d, np.dtype(float), n)
    source.compiled = True
    compact, Y = source.draw(1, 0, n), source.rows(1, 0, n)
    assert isinstance(compact, ShiftedSequence)
    strategy, _, _ = searched(d, 3, popsize=n)
    w = RkNES.default_utilities(n, d)[:, np.random.default_rng(1).permutation(n)]
    np.testing.assert_allclose(strategy.sample(compact), strategy.sample(Y), rtol=1e-12, atol=1e-12)
    V = strategy.state.V
    for found, expected in zip(
        compact.weighted_sums(V, *w), texts.weighted_sums(Y @ V.T, Y, *w), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("d", "n"), [(5, 6), (5, 20), (5, 41), (9, 6), (30, 20)])
def test_pairs_count_as_their_two_samples(d: int, n: int) -> None:
    """A generation with pairs gives the same sums as all of its samples, one by one."""
    rng = np.random.default_rng(1)
    source = OrthogonalDirections(np.random.SeedSequence(1), d, np.dtype(float), n)
    noise, Y = source.draw(3, 0, n), source.rows(3, 0, n)
    assert isinstance(noise, Pairs)
    w, V = RkNES.default_utilities(n, d)[:, rng.permutation(n)], directions(d, 2)
    Z, (of_mean, of_pairs, _) = rows_of(noise), folded(noise, w)
    for found, expected in zip(
        texts.weighted_sums(Z @ V.T, Z, of_mean, of_pairs), texts.weighted_sums(Y @ V.T, Y, *w), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_rates_are_those_of_the_documentation() -> None:
    n, d = 16, 64
    w = RkNES.default_utilities(n, d)
    power = float(w[0] @ w[0])
    mu = 1 / (power + 1 / n)
    rates = rates_of(power, 0.0, n, d, 1.0, 1.0, 1.0, 1.0)
    assert rates.full == pytest.approx(1.6 * mu * 8 / (66**2 + mu))
    assert rates.diagonal == pytest.approx(0.6 * mu / 8)
    assert rates.layer == pytest.approx(5 * mu / 202)
    assert rates.memory == pytest.approx(0.5 / 64)
    assert rates.moved == pytest.approx(0.6 / 64)
    assert rates.longest == 4.0
    assert rates_of(power, 0.0, n, 9, 1.0, 1.0, 1.0, 1.0).longest == pytest.approx(1.6)


def test_the_weights_and_the_unit_change_gradually_with_the_share_of_pairs() -> None:
    """From the best few and μ_eff with n = d to even weights and 1/Σ w² with n = d/2."""
    d = 40
    rows = {n: RkNES.default_utilities(n, d) for n in (20, 30, 40)}
    evenly, best_few = rows[20][0], logarithmic(40, zero_sum=True)
    np.testing.assert_array_equal(evenly, rows[20][1])
    np.testing.assert_allclose(rows[40][0], best_few)
    middle = 2 / 3 * logarithmic(30, zero_sum=True) + rows[30][1] / 3  # 20 of 30 samples are in pairs
    np.testing.assert_allclose(rows[30][0], middle)
    rows[320] = RkNES.default_utilities(320, d)  # beyond n = 2d, the unit approaches 1/Σ w² again
    for n, share in ((20, 0.0), (30, 2 / 3), (40, 1.0), (320, 1 / 4)):
        power = float(rows[n][0] @ rows[n][0])
        rates = rates_of(power, 0.0, n, d, 1.0, 1.0, 1.0, 1.0)
        unit = rates.gain_p**2 / (1 - rates.keep_p**2)
        assert unit == pytest.approx(rates.mu**share / power ** (1 - share))


@pytest.mark.parametrize("base", BASES)
def test_a_long_path_beside_the_longest_axis_does_not_blow_up_the_step_size(base: str) -> None:
    """On a sharp ridge the longest axis may exceed e^12, and the path then misses it by many deviations."""
    strategy, noise, utilities = searched(16, 5, base=base, popsize=64)
    state = strategy.state
    stretched = replace(strategy, state=state._replace(q=state.q + 1e6, a=np.exp([12.0, 0.1, -0.1])))
    assert stretched.update(noise, utilities).sigma < 4 * strategy.sigma


@pytest.mark.parametrize(("rank", "growing"), [((1, 0), 1), ((0, 2), 0), (3, 2), ((2, 3), 2)])
@pytest.mark.parametrize("base", BASES)
def test_slots_keep_their_signs(base: str, rank: int | tuple[int, int], growing: int) -> None:
    optimizer = r1nes.Optimizer(np.ones(8), 0.5, method="rknes", rank=rank, base=base, rng=1)
    for _ in range(100):
        X = optimizer.ask()
        optimizer.tell(X, (X**4).sum(axis=1))
    strategy = optimizer.strategy
    assert isinstance(strategy, RankKGaussian)
    V, c = strategy.state.V, np.log(strategy.state.a)
    assert (c > 0).sum() == growing
    assert (np.diff(c) <= 0.01).all(), "the largest first"
    np.testing.assert_allclose(V @ V.T, np.eye(len(c)), atol=1e-12)


@pytest.mark.parametrize("rank", [0, 5, (0, 0), (3, 2), (-1, 2)])
def test_impossible_ranks_are_refused(rank: int | tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="rank must be 1 to 4 directions, or a pair"):
        r1nes.Optimizer(np.ones(5), 0.5, method="rknes", rank=rank)


@pytest.mark.parametrize(
    ("d", "base", "choice"),
    [
        (300, None, "full, because 300 variables are at most 300"),
        (301, None, "diagonal, because 301 variables are more than 300"),
        (301, "full", "full, because it was set"),
    ],
)
def test_the_base_is_chosen_by_the_number_of_variables(d: int, base: str | None, choice: str) -> None:
    optimizer = r1nes.Optimizer(np.ones(d), 0.5, base=base, rng=1)
    assert optimizer.result.choices["base"] == choice
    assert isinstance(optimizer.strategy, RankKGaussian)
    assert optimizer.strategy.state.B.ndim == 1 + choice.startswith("full")


def test_a_wrong_base_is_refused() -> None:
    with pytest.raises(ValueError, match="base must be 'auto', 'diagonal' or 'full', got 'identity'"):
        r1nes.Optimizer(np.ones(5), 0.5, base="identity")


@pytest.mark.parametrize(
    ("function", "d", "settings", "budget"),
    [
        ("f1", 8, {}, 740),
        ("f8", 8, {}, 2.1e3),
        ("f10", 8, {}, 2.1e3),
        ("f14", 8, {}, 1.9e3),
        ("f1", 32, {}, 1.5e3),
        ("f2", 32, {}, 3.3e3),
        ("f6", 32, {}, 1.5e4),
        ("f10", 32, {}, 1.6e4),
        ("f11", 32, {}, 6.2e3),
        ("f12", 32, {}, 1.3e4),
        ("f14", 32, {}, 1.5e4),
        ("f2", 32, {"base": "diagonal"}, 3.2e3),
        ("f11", 32, {"base": "diagonal"}, 5.5e3),
        ("tablet", 32, {"base": "diagonal"}, 4.2e3),
        ("f1", 128, {"base": "diagonal"}, 5.0e3),
    ],
)
def test_budget(function: str, d: int, settings: dict[str, Any], budget: float) -> None:
    """Medians over five instances."""
    needed = []
    for seed in range(51, 56):
        f = problem(function, d, seed if function.startswith("f") else 1)
        result = r1nes.minimize(
            lambda X, f=f: f(X) - f.fopt,
            np.random.default_rng(seed).uniform(-4, 4, d),
            sigma0=2.0 if function.startswith("f") else 1.0,
            ftarget=1e-8,
            max_evals=5 * budget,
            vectorized=True,
            rng=seed,
            compiled=False,
            **settings,
        )
        needed.append(result.nfev if result.success else math.inf)
    assert statistics.median(needed) <= budget, needed
