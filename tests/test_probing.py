"""Noise seen by asking again: which points are asked, what is estimated, and that nothing else changes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import r1nes
from r1nes import Optimizer
from r1nes.arrays import Array
from r1nes.probing import Doubt, Probing
from r1nes.sampling.orthogonal import first_of
from r1nes.strategies.pacing import Pace, followed
from r1nes.strategies.rank_k.strategy import RankKGaussian


def sphere(X: Array) -> Array:
    return (X**2).sum(axis=1)


def noisy(seed: int, size: float = 1.0) -> Any:
    rng = np.random.default_rng(seed)
    return lambda X: sphere(X) + size * rng.standard_normal(len(X))


def probes(optimizer: Optimizer, fun: Any, generations: int) -> list[int]:
    """Return the generations whose last two points are the first two of the one before."""
    found, last = [], None
    for generation in range(1, generations + 1):
        X = optimizer.ask()
        if last is not None and np.array_equal(X[-2:], last[:2]):
            found.append(generation)
        last = X.copy()
        optimizer.tell(X, fun(X))
    return found


class TestAskingAgain:
    @pytest.mark.parametrize("d", [2, 5, 12, 40])
    def test_generations_that_probe(self, d: int) -> None:
        assert probes(Optimizer(np.ones(d), rng=1), sphere, 61) == [8, 12, 16, 20, 40, 60]
        assert probes(Optimizer(np.ones(d), rng=1), noisy(1), 25) == [8, 12, 16, 20, 24]

    @pytest.mark.parametrize("settings", [{"noise": False}, {"method": "snes"}, {"popsize": 3}])
    def test_runs_that_never_probe(self, settings: dict[str, Any]) -> None:
        optimizer = Optimizer(np.ones(5), rng=1, **settings)
        assert probes(optimizer, noisy(1), 25) == []
        assert optimizer.result.noise is None

    def test_asynchronous_runs_do_not_probe(self) -> None:
        optimizer = Optimizer(np.ones(5), rng=1, asynchronous=True)
        assert not optimizer.settings.probes
        with pytest.raises(ValueError, match="noise must be 'auto' or False"):
            Optimizer(np.ones(5), noise=True, asynchronous=True)

    @pytest.mark.parametrize("base", ["diagonal", "full"])
    @pytest.mark.parametrize("d", [2, 8, 12, 40])
    def test_the_step_of_a_probe_uses_its_new_points(self, d: int, base: str) -> None:
        optimizer = Optimizer(np.ones(d), 0.5, rng=1, base=base)
        for _ in range(7):
            X = optimizer.ask()
            optimizer.tell(X, sphere(X))
        before, n = optimizer.strategy, optimizer.popsize
        X = optimizer.ask()
        drawn = optimizer._points.noise.draw(8, 0, n)
        order = sphere(X[:-2]).argsort().argsort()
        utilities = optimizer.settings.algorithm.default_utilities(n - 2, d)[:, order]
        expected = before.update(first_of(drawn, n - 2), utilities)
        optimizer.tell(X, sphere(X))
        np.testing.assert_array_equal(optimizer.strategy.mean, expected.mean)
        assert optimizer.strategy.sigma == expected.sigma

    def test_points_are_asked_again_within_bounds(self) -> None:
        optimizer = Optimizer(np.full(6, 0.9), 0.5, bounds=[(0, 1)] * 6, rng=1)
        assert probes(optimizer, sphere, 16) == [8, 12, 16]
        assert optimizer.result.noise == 0

    def test_the_array_of_an_earlier_ask_may_be_reused(self) -> None:
        ends = []
        for out in (None, np.empty((8, 5))):
            optimizer = Optimizer(np.ones(5), 0.5, rng=1)
            for _ in range(25):
                X = optimizer.ask(out=out)
                optimizer.tell(X, sphere(X))
            ends.append(optimizer.strategy.mean)
        np.testing.assert_array_equal(ends[0], ends[1])

    @pytest.mark.parametrize(("d", "popsize"), [(5, None), (12, None), (40, 7), (40, None)])
    def test_streamed_probes_are_the_same(self, d: int, popsize: int | None) -> None:
        ends = []
        for streaming in (False, True):
            optimizer, fun = Optimizer(np.ones(d), 0.5, base="diagonal", popsize=popsize, rng=1), noisy(1)
            for _ in range(30):
                X = optimizer.ask(streaming=True) if streaming else optimizer.ask()
                optimizer.tell(X, fun(np.array([x.copy() for x in X])))
            ends.append(optimizer.strategy.mean)
        np.testing.assert_allclose(ends[0], ends[1], rtol=1e-9)

    def test_given_utilities_are_interpolated(self) -> None:
        optimizer = Optimizer(np.ones(5), popsize=6, utilities=[5, 4, 3, 2, 1, 0], rng=1)
        np.testing.assert_allclose(optimizer.settings.probe_weights, [5, 10 / 3, 5 / 3, 0])


class TestEstimate:
    def test_a_deterministic_objective_has_no_noise(self) -> None:
        result = r1nes.minimize(lambda x: float(x @ x), np.ones(6), rng=1, max_evals=3000)
        assert result.noise == 0
        assert result.noise_share == 0
        assert (result.history["rate"] == 1).all()

    def test_probes_cost_little(self) -> None:
        evaluations = {True: 0, False: 0}
        for seed in range(1, 12):
            for probing in evaluations:
                result = r1nes.minimize(
                    sphere, np.ones(20), 0.5, rng=seed, ftarget=1e-8, vectorized=True,
                    noise="auto" if probing else False,
                )  # fmt: skip
                evaluations[probing] += result.nfev
        assert evaluations[True] < 1.05 * evaluations[False]

    def test_its_size(self) -> None:
        sizes = []
        for seed in range(1, 6):
            optimizer, fun = Optimizer(np.ones(10), 0.5, rng=seed), noisy(seed, 0.3)
            probes(optimizer, fun, 300)
            sizes.append(optimizer.result.noise)
        assert np.median(sizes) == pytest.approx(0.3, rel=0.2)

    def test_what_a_generation_shares_is_no_noise(self) -> None:
        rng = np.random.default_rng(1)
        optimizer = Optimizer(np.ones(10), 0.5, rng=1)
        probes(optimizer, lambda X: sphere(X) + rng.standard_normal(), 30)
        assert optimizer.result.noise == 0

    def test_the_trend_is_that_of_mann_and_whitney(self) -> None:
        rng = np.random.default_rng(1)
        medians = rng.integers(0, 30, 40).astype(float).tolist()
        wins = sum((new < old) + 0.5 * (new == old) for new in medians[20:] for old in medians[:20])
        expected = (wins - 200) / math.sqrt(400 * 41 / 12)
        assert Probing(active=True, medians=medians).trend() == pytest.approx(expected)
        assert Probing(active=True, medians=sorted(medians)).trend() < -4

    def test_nan_and_infinite_values_are_ignored(self) -> None:
        optimizer = Optimizer(np.ones(5), 0.5, rng=1)
        rng = np.random.default_rng(1)
        probes(optimizer, lambda X: rng.choice([np.nan, np.inf, 1.0, 2.0], len(X)), 60)
        assert math.isfinite(optimizer.result.noise)
        assert np.isfinite(optimizer.strategy.mean).all()


@pytest.mark.parametrize("base", ["diagonal", "full"])
def test_no_stretch_exceeds_three_first_step_sizes_under_noise(base: str) -> None:
    rng, optimizer = np.random.default_rng(1), Optimizer(np.zeros(20), 1.0, base=base, rng=1)
    reached = 0
    for _ in range(400):
        X = optimizer.ask()
        optimizer.tell(X, -np.tanh(X.sum(1) / 50) + 1e-3 * rng.standard_normal(len(X)))
        strategy: Any = optimizer.strategy
        longest = max(math.exp(0.1), 3 / strategy.sigma)
        if optimizer.noise_share > 0.01:
            assert strategy.state.a[0] <= longest * (1 + 1e-9)
            reached += strategy.state.a[0] > 0.99 * longest > 1.2
    assert reached > 0


@pytest.mark.parametrize(("d", "signal"), [(4, 0.1), (300, 0.1), (300, 0.0)])
@pytest.mark.parametrize("doubt", [Doubt(True, 1.0), Doubt(True, 0.4, 0.7), Doubt(True, 0.9, 0.0, 0.5)])
def test_rates_follow_the_signal_as_the_equations_say(d: int, signal: float, doubt: Doubt) -> None:
    rng = np.random.default_rng(1)
    pace = Pace(0.0, np.zeros(d), np.zeros(d), doubt=tuple(doubt))
    E, V, eta, log_sigma, average = np.zeros(d), 0.0, 1.0, -0.2, np.zeros(d)
    mu = 1 / (0.2 + 1 / 10)
    b = min(0.1, 0.5 * (mu + 2) / (d + mu + 5))
    reach = min(1, 3 * mu / d)
    alpha, enough = 1.4 * reach, min(0.3, 0.12 + reach)
    for generation in range(1, 201):
        least = enough * min(1, 3 * d / generation) ** 2
        s, mean = rng.standard_normal(d) + signal, rng.standard_normal(d)
        pace, change = followed(pace, s, mean, log_sigma, generation, mu, (mu + 2) / (d + mu + 5), "numpy")
        E, V = (1 - b) * E + b * s, (1 - b) * V + b * sum(s**2)
        snr = (sum(E**2) - b / (2 - b) * V) / (V - sum(E**2))
        g, old = doubt.share * (1 - doubt.worsening), eta
        follow = np.clip(snr / (alpha * eta) - 1, doubt.improving - 1, 1)
        most = max(b, 0.06)
        step = (1 - g) * min(0.1 * math.sqrt(eta), most) + g * min(0.1 * eta, most) * follow
        eta = max(least, min(1.0, eta * math.exp(step)))
        assert change == pytest.approx((1.5 if log_sigma < 0 else 0.25) * math.log(old / eta))
        i, late = doubt.improving, max(1e-9, generation - 3 * d)
        rate = 0.1 * eta * i + min(0.1 * eta, 4 / late) * (1 - i)
        average = mean if eta == 1 else average + rate * (mean - average)
        assert pace.eta == pytest.approx(eta)
        np.testing.assert_allclose(pace.average, average)
        log_sigma += change
    assert (eta == pytest.approx(least)) == (signal == 0 and doubt == Doubt(True, 1.0))


@pytest.mark.parametrize("is_blind", [False, True])
def test_rates_fall_further_among_many_minima_or_after_many_generations(is_blind: bool) -> None:
    doubt, rng, mu, ends = Doubt(True, 1.0, is_blind=is_blind), np.random.default_rng(1), 5.0, []
    for d, generations in ((3000, 200), (50, 140), (50, 1000)):
        pace = Pace(0.0, np.zeros(d), np.zeros(d), eta=0.4, doubt=tuple(doubt))
        for generation in range(1, generations + 1):
            s = rng.standard_normal(d)
            pace, _ = followed(pace, s, np.zeros(d), 0.0, generation, mu, mu / d, "numpy")
        ends.append(pace.eta)
    assert ends[2] < 0.03
    if is_blind:
        assert max(ends) < 0.1
    else:
        assert ends[:2] == pytest.approx([0.125, 0.3])


@pytest.mark.parametrize("base", ["diagonal", "full"])
def test_a_noisy_run_resumes_bit_for_bit(base: str, tmp_path: Path) -> None:
    optimizer = Optimizer(np.ones(7), 0.5, rng=1, base=base)
    fun, values = noisy(1), []
    for generation in range(40):
        path = tmp_path / f"{generation}.ckpt"
        if generation % 2:
            optimizer.ask()
        optimizer.save(path)
        X = optimizer.ask()
        values.append(fun(X))
        optimizer.tell(X, values[-1])
    for start in range(0, 40, 3):
        resumed = Optimizer.load(tmp_path / f"{start}.ckpt")
        for told in values[start:]:
            resumed.tell(resumed.ask(), told)
        np.testing.assert_array_equal(resumed.ask(), optimizer.ask())
        np.testing.assert_array_equal(resumed.mean, optimizer.mean)
        assert resumed.result.noise == optimizer.result.noise


class TestNeutrality:
    @pytest.mark.parametrize("fourfold", [False, True])
    @pytest.mark.parametrize("d", [5, 10, 32, 128, 1000])
    @pytest.mark.parametrize("method", ["rknes", "snes", "r1nes", "xnes"])
    def test_pure_luck_hardly_changes_the_distribution(self, method: str, d: int, fourfold: bool) -> None:
        if method == "xnes" and d > 128:
            pytest.skip("too slow")
        popsize = 4 * Optimizer(np.zeros(d), method=method).popsize if fourfold else None
        optimizer = Optimizer(np.zeros(d), 1.0, method=method, popsize=popsize, rng=1)
        rng = np.random.default_rng(1)
        while optimizer.nfev < 10_000:
            X = optimizer.ask()
            optimizer.tell(X, rng.random(len(X)))
            assert 1 / (30 if method == "rknes" else 60) < optimizer.strategy.sigma < 30
        if method == "rknes":
            strategy = optimizer.strategy
            assert isinstance(strategy, RankKGaussian)
            assert abs(np.log(strategy.state.a)).max() < 4
            relative = strategy.stds() / strategy.sigma
            assert 1 / 100 < relative.min() <= relative.max() < 100
            assert np.linalg.norm(strategy.mean) < 30 * math.sqrt(d)

    def test_no_step_size_collapses_or_runs_away_over_many_seeds(self) -> None:
        sigmas = []
        for seed in range(1, 12):
            optimizer, rng = Optimizer(np.zeros(10), 1.0, rng=seed), np.random.default_rng(seed)
            while optimizer.nfev < 10_000:
                X = optimizer.ask()
                optimizer.tell(X, rng.random(len(X)))
            sigmas.append(math.log(optimizer.strategy.sigma))
        assert max(map(abs, sigmas)) < math.log(30)


class TestRuns:
    def test_noise_is_no_success(self) -> None:
        rng = np.random.default_rng(1)
        result = r1nes.minimize(lambda x: 0 * x[0] + rng.random(), np.zeros(5), rng=1)
        assert not result.success
        assert "noise" in result.stop
        assert "noise" in result.message

    def test_a_noisy_run_uses_its_budget(self) -> None:
        result = r1nes.minimize(noisy(1), np.ones(8), 0.5, rng=1, max_evals=20_000, vectorized=True)
        assert list(result.stop) == ["max_evals"]
        assert not result.success
        assert sphere(result.mean[None])[0] < 0.1 * sphere(result.x[None])[0]

    @pytest.mark.parametrize("d", [10, 32])
    def test_the_mean_comes_near_the_optimum(self, d: int) -> None:
        ends = []
        for seed in range(1, 4):
            x0 = np.random.default_rng(seed).uniform(-1, 1, d)
            result = r1nes.minimize(noisy(seed), x0, 0.5, rng=seed, max_evals=20_000, vectorized=True)
            ends.append(sphere(result.mean[None])[0])
        assert np.median(ends) < 0.1

    def test_noise_true_finds_the_best_of_many_minima(self) -> None:
        solved = 0
        for seed in range(1, 6):
            x0 = np.random.default_rng(seed).uniform(-5, 5, 10)
            result = r1nes.minimize(
                lambda X: (X**2 + 10 * (1 - np.cos(2 * np.pi * X))).sum(1),
                x0, 2.0, noise=True, ftarget=1e-8, rng=seed, vectorized=True, max_evals=100_000,
            )  # fmt: skip
            solved += bool(result.success)
            assert result.noise == 0
        assert solved >= 3  # 8 or 9 of 10 in the long run; without noise=True none of 11

    def test_noise_true_is_like_auto_once_noise_was_seen(self) -> None:
        for noise in ("auto", True):
            optimizer = Optimizer(np.ones(6), 0.5, noise=noise, rng=1)
            for generation in range(1, 61):
                assert optimizer._probing.is_blind == (noise is True and generation <= 8)
                X = optimizer.ask()
                lengths = np.linalg.norm(optimizer._matching.pending.rows, axis=1)
                assert np.ptp(lengths) < 1e-9 or (noise is True and generation <= 8)
                optimizer.tell(X, noisy(generation)(X))
            assert isinstance(optimizer.strategy, RankKGaussian)
            assert not Doubt(*optimizer.strategy.pace.doubt).is_blind
            assert optimizer.strategy.pace.eta > 0.1  # it started at 0.03

    def test_a_search_among_many_minima_uses_its_budget_but_ends_without_one(self) -> None:
        def flat_on_average(X: Array) -> Array:  # deterministic, and nothing to be learnt from it
            return np.sin(1e6 * X).sum(axis=1)

        start: dict[str, Any] = {"x0": np.ones(6), "noise": True, "rng": 1, "vectorized": True}
        assert list(r1nes.minimize(flat_on_average, max_evals=6_000, **start).stop) == ["max_evals"]
        assert not r1nes.minimize(flat_on_average, **start).success

    def test_the_history_shows_trouble(self) -> None:
        history = r1nes.minimize(
            lambda X: np.round(sphere(X)), np.ones(5), rng=1, vectorized=True, max_evals=800
        ).history
        assert history["ties"].max() > 0
        assert history["center"][-1] > 0
        assert (history["noise"] == 0).all()
