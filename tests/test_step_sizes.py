"""σ₀ per variable, a smallest σ, and a mean that decays, for every method."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import r1nes
from r1nes.strategies import STRATEGIES, Strategy
from support.functions import rosenbrock
from support.own_method import Ball, RoundNES

SIGMAS = np.array([0.01, 1.0, 30.0, 0.2, 5.0, 1e-3])
METHODS = [*STRATEGIES, RoundNES()]


def run(optimizer: r1nes.Optimizer, f: Any, generations: int) -> r1nes.Optimizer:
    for _ in range(generations):
        X = optimizer.ask()
        optimizer.tell(X, [f(x) for x in X])
    return optimizer


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_a_step_size_per_variable_is_a_search_in_scaled_variables(method: Any) -> None:
    scales, sigma = SIGMAS / (mean := np.exp(np.log(SIGMAS).mean())), mean

    def f(x: Any) -> float:
        return float(rosenbrock(x / SIGMAS))

    x0 = SIGMAS * np.arange(6)
    ours = run(r1nes.Optimizer(x0, SIGMAS, method=method, rng=1), f, 15)
    scaled = run(r1nes.Optimizer(x0 / scales, sigma, method=method, rng=1), lambda z: f(scales * z), 15)
    np.testing.assert_allclose(ours.mean, scales * scaled.mean, rtol=1e-6)
    np.testing.assert_allclose(ours.stds, scales * scaled.stds, rtol=1e-6)
    np.testing.assert_allclose(ours.result.x, scales * scaled.result.x, rtol=1e-6)
    assert ours.result.sigma == pytest.approx(scaled.result.sigma)


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_the_first_samples_have_these_deviations(method: Any) -> None:
    optimizer = r1nes.Optimizer(np.ones(6), SIGMAS, method=method, popsize=4000, rng=1)
    X = optimizer.ask()
    np.testing.assert_allclose(np.sqrt(((X - 1) ** 2).mean(0)) / SIGMAS, 1, atol=0.3)  # R1-NES: √(1 + u²)
    np.testing.assert_allclose(optimizer.stds / SIGMAS, 1, atol=0.3)


@pytest.mark.parametrize("d", [1, 6])
def test_equal_step_sizes_are_one(d: int) -> None:
    one, each = (run(r1nes.Optimizer(np.ones(d), s, rng=1), rosenbrock, 9) for s in (0.3, np.full(d, 0.3)))
    assert one.mean.tobytes() == each.mean.tobytes()


def test_bounds_and_fixed_variables_keep_their_units(tmp_path: Path) -> None:
    bounds = [(-0.02, 0.02), (-1, 1), (0, 99), (0.5, 0.5), (-9, 9), (-1e-3, 1e-3)]
    x0 = np.array([0.0, 0.0, 1.0, 0.5, 1.0, 0.0])

    def search(**more: Any) -> Any:
        return r1nes.minimize(
            lambda x: rosenbrock(x / SIGMAS), x0, SIGMAS, bounds=bounds, max_evals=600, rng=1, **more
        )

    result = search()
    low, high = np.transpose(bounds)
    assert ((low <= result.x) & (result.x <= high)).all()
    assert result.x[3] == 0.5
    search(checkpoint=tmp_path / "run", callback=stop_at(7))
    assert search(checkpoint=tmp_path / "run").x.tobytes() == result.x.tobytes()


def test_a_fixed_variable_does_not_count_in_the_mean_step_size() -> None:
    bounds = [(-9, 9), (2, 2), (-9, 9)]
    optimizer = r1nes.Optimizer([0, 2, 0], [0.1, 1e6, 0.4], bounds=bounds, method="snes", rng=1)
    assert optimizer.strategy.sigma == pytest.approx(0.2, rel=1e-12)


def stop_at(generation: int) -> Any:
    def callback(result: Any) -> None:
        if result.nit == generation:
            raise StopIteration

    return callback


def test_another_step_size_is_another_run(tmp_path: Path) -> None:
    def search(sigma0: Any) -> Any:
        return r1nes.minimize(
            rosenbrock, np.ones(6), sigma0, max_evals=60, rng=1, checkpoint=tmp_path / "run"
        )

    search(SIGMAS)
    with pytest.raises(ValueError, match="sigma0 must be as in the checkpoint"):
        search(2 * SIGMAS)


def test_restarts_begin_about_sigma0_away_in_each_variable() -> None:
    starts: list[Any] = []

    def spy(result: Any) -> None:
        if len(starts) < result.restarts:
            starts.append(result.mean)

    r1nes.minimize(
        lambda x: float(np.sum((x / SIGMAS) ** 2)),
        np.zeros(6),
        SIGMAS,
        popsize=4,
        xtol=1.0,
        restarts="ipop:4",
        callback=spy,
        rng=1,
    )
    distances = np.abs(starts) / SIGMAS
    assert len(starts) == 4
    assert (distances.max(0) > 0.1).all()
    assert (distances < 10).all()


def test_the_history_is_in_the_units_of_x() -> None:
    def f(x: Any) -> float:
        return float((x[0] - 3e-3) ** 2 * 1e6 + (x[1] - 4e3) ** 2 * 1e-6)

    result = r1nes.minimize(f, np.zeros(2), [1e-3, 1e3], rng=1)
    history = result.history
    np.testing.assert_allclose(result.x, [3e-3, 4e3], rtol=1e-4)
    assert history["center"][-1] == pytest.approx(4e3, rel=1e-4)
    assert history["mean1"][-1] == pytest.approx(3e-3, rel=1e-4)
    assert np.sqrt(history["var2"][0] / history["var1"][0]) == pytest.approx(1e6, rel=1)


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_the_step_size_does_not_fall_below_its_least(method: Any) -> None:
    settings: dict[str, Any] = {"method": method, "max_evals": 6000, "rng": 1}
    free = r1nes.minimize(lambda x: float(x @ x), np.ones(6), 1.0, **settings)
    kept = r1nes.minimize(lambda x: float(x @ x), np.ones(6), 1.0, min_sigma=0.01, **settings)
    above = int(np.argmax(free.history["sigma"] < 0.01))
    assert above > 0
    np.testing.assert_array_equal(kept.history["median"][:above], free.history["median"][:above])
    assert kept.history["sigma"].min() >= 0.01 * (1 - 1e-12)
    assert not kept.success
    assert kept.stop.keys() <= {"max_evals", "stagnation"}


class Rigid(Ball):
    shrunk = Strategy.shrunk  # as a method of one's own that does not define it


class RigidNES(RoundNES):
    def start(self, mean: Any, sigma: float, rng: Any) -> Rigid:  # noqa: ARG002
        return Rigid(mean, sigma, self.rate_radius)


def test_the_least_step_size_may_be_sigma0() -> None:
    result = r1nes.minimize(lambda x: float(x @ x), np.ones(6), 0.5, min_sigma=0.5, max_evals=400, rng=1)
    assert result.history["sigma"].min() >= 0.5 * (1 - 1e-12)


def test_a_least_step_size_needs_a_method_that_can_be_widened() -> None:
    optimizer = r1nes.Optimizer(np.ones(3), 1.0, method=RigidNES(), min_sigma=0.99, rng=1)
    with pytest.raises(TypeError, match="Rigid must define shrunk"):
        run(optimizer, lambda x: float(x @ x), 30)


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_the_mean_decays_in_each_generation(method: Any) -> None:
    free, decaying = (
        r1nes.Optimizer(np.full(6, 3.0), 0.5, method=method, weight_decay=decay, rng=1) for decay in (0, 0.1)
    )
    run(free, rosenbrock, 1)
    run(decaying, rosenbrock, 1)
    np.testing.assert_allclose(decaying.mean, 0.9 * free.mean)
    np.testing.assert_array_equal(decaying.stds, free.stds)
    assert decaying.result.fun == rosenbrock(decaying.result.x)


def test_decay_bounds_a_mean_that_would_run_away(tmp_path: Path) -> None:
    points = np.random.default_rng(5).standard_normal((60, 6))
    labels = np.sign(points.sum(1) + 2 * np.random.default_rng(6).standard_normal(60))

    def errors(x: Any) -> float:  # the same for x and 2x
        return float(np.mean(points @ x * labels <= 0))

    def search(**more: Any) -> Any:
        settings: dict[str, Any] = {"method": "snes", "max_evals": 3000, "rng": 1}
        return r1nes.minimize(errors, np.zeros(6), 1.0, **settings | more)

    decaying = search(weight_decay=0.2)
    assert np.linalg.norm(decaying.mean) < 0.5 * np.linalg.norm(search().mean)
    search(weight_decay=0.2, checkpoint=tmp_path / "run", callback=stop_at(9))
    assert search(weight_decay=0.2, checkpoint=tmp_path / "run").mean.tobytes() == decaying.mean.tobytes()
