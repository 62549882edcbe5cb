"""Success can be believed: runs that collapsed, met a plateau or got stuck do not claim it."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import r1nes
from r1nes import Optimizer
from r1nes.arrays import Array
from r1nes.bench.functions.problems import problem
from support.functions import sphere

METHODS = ["r1nes", "rknes", "snes", "xnes"]


def solve(fun: Callable[[Array], Array], x0: Array, sigma0: float = 2.0, **options: Any) -> Any:
    return r1nes.minimize(fun, x0, sigma0=sigma0, vectorized=True, **{"rng": 1, **options})


def start(d: int, seed: int) -> Array:
    return np.random.default_rng(seed).uniform(-4, 4, d)


def integer_ellipsoid(X: Array) -> Array:
    return (10 ** (4 * np.linspace(0, 1, X.shape[1])) * np.round(X) ** 2).sum(axis=1)


def cone(X: Array) -> Array:
    return np.sqrt(sphere(X - 0.3))


def affine(a: float, b: float, X: Array) -> Array:
    return a * sphere(X) + b


def disturbed(noise: np.random.Generator, X: Array) -> Array:
    return sphere(X) + 0.1 * noise.random(len(X))


def evaluated(f: Any, X: Array) -> Array:
    return np.asarray(f(X))


class TestTheSharpRidge:
    @pytest.mark.parametrize("trial", [1, 2, 3])
    def test_is_no_success_where_the_steps_collapse(self, trial: int) -> None:
        result = solve(problem("f13", 8, trial).formula, start(8, trial), rng=trial, method="snes")
        assert result.fun > 1e-3
        assert "collapsed" in result.stop
        assert not result.success
        assert "larger popsize" in result.message

    @pytest.mark.parametrize("target", [None, 1e-8])
    @pytest.mark.parametrize("trial", [1, 2, 3])
    def test_is_solved_by_slower_rates(self, trial: int, target: float | None) -> None:
        """RkNES at its usual rates stops short of 1e-3 in each of them."""
        fun = problem("f13", 32, trial).formula
        result = solve(fun, start(32, trial), rng=trial, ftarget=target, max_evals=50_000)
        assert result.success, result.message
        assert result.fun <= 1e-8

    @pytest.mark.parametrize("d", [2, 8, 32])
    def test_but_a_sharp_minimum_is(self, d: int) -> None:
        result = solve(cone, start(d, d))
        assert result.success
        assert result.fun < 1e-9

    def test_the_check_survives_a_checkpoint(self, tmp_path: Any) -> None:
        """Saved and loaded in every generation."""
        whole, parts = (Optimizer(start(3, 1), 2.0, rng=1) for _ in range(2))
        while not whole.stop():
            for optimizer in (whole, parts):
                X = optimizer.ask()
                optimizer.tell(X, cone(X))
            parts.save(tmp_path / "run")
            parts = Optimizer.load(tmp_path / "run")
            assert parts.stop() == whole.stop()
        assert parts.stopping.sharpness.doubt is not None
        assert parts.strategy.mean.tobytes() == whole.strategy.mean.tobytes()


def test_a_stuck_run_ends_early_enough_to_restart() -> None:
    """Griewank-Rosenbrock: a single run creeps along a valley that does not lead to the target."""
    ioh = pytest.importorskip("ioh")
    for seed in (31, 32, 33):
        f = ioh.get_problem(19, 1, 5, problem_class=ioh.ProblemClass.BBOB)
        fopt = f.optimum.y
        x0 = np.random.default_rng(1000 * seed + 5).uniform(-4, 4, 5)
        result = solve(partial(evaluated, f), x0, rng=seed, ftarget=fopt + 1e-8)
        assert result.nfev < 8000
        assert not result.success


class TestScale:
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("scale", [2.0**-300, 1e-14, 1e-3, 1e14, 2.0**300])
    def test_of_the_values_changes_nothing(self, method: str, scale: float) -> None:
        """Not even where the run ends."""
        usual, scaled = (solve(partial(affine, a, 0.0), start(4, 1), method=method) for a in (1, scale))
        assert scaled.nfev == usual.nfev
        assert list(scaled.stop) == list(usual.stop)
        assert scaled.x.tobytes() == usual.x.tobytes()
        assert scaled.success

    def test_nor_does_an_offset(self) -> None:
        """Up to the digits that the offset leaves."""
        usual, moved = (solve(partial(affine, 1.0, b), start(4, 1), ftol=1e-6) for b in (0.0, 100.0))
        assert moved.nfev == usual.nfev
        assert list(moved.stop) == list(usual.stop) == ["ftol"]

    def test_with_a_target_that_scales_along(self) -> None:
        ends = [solve(partial(affine, a, a), start(4, 1), ftarget=0.5 * a) for a in (1.0, 2.0**-60)]
        assert ends[0].nfev == ends[1].nfev
        assert not ends[0].success


class TestPlateaus:
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("value", [4.0, math.inf])
    def test_a_constant_is_no_success(self, method: str, value: float) -> None:
        result = solve(lambda X: np.full(len(X), value), start(3, 1), method=method)
        assert result.stop == {"flat": value}
        assert not result.success
        assert result.sigma > 1e3  # it looked further

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("step", [0.1, 1.0, 10.0])
    def test_a_rounded_objective_is_no_success(self, method: str, step: float) -> None:
        result = solve(lambda X: step * np.round(sphere(X) / step), start(3, 1), method=method)
        assert not result.success, result.message

    def test_a_distant_slope_is_found(self) -> None:
        """The first step size is far too small to leave the plateau."""
        result = solve(lambda X: np.maximum(sphere(X - 50) - 5000, 0), np.zeros(3), 1e-3, ftarget=0)
        assert result.fun == 0
        top = solve(lambda X: np.minimum(sphere(X - 50), 5000), np.zeros(3), 1e-3, ftarget=1e-8)
        assert top.success

    def test_an_integer_ellipsoid_is_solved(self) -> None:
        solved = 0
        for seed in range(1, 6):
            x0 = np.random.default_rng(seed).uniform(-20, 20, 32)
            solved += solve(integer_ellipsoid, x0, 5.0, rng=seed, ftarget=0, max_evals=20_000).success
        assert solved >= 4

    def test_the_step_ellipsoid_is_solved(self) -> None:
        needed = []
        for seed in range(1, 34):
            f = problem("f7", 8, seed).formula
            x0 = np.random.default_rng(1000 * seed + 8).uniform(-4, 4, 8)
            result = solve(f, x0, rng=seed, ftarget=1e-8, max_evals=20_000)
            needed.append(result.nfev if result.success else math.inf)
        assert np.isfinite(needed).sum() >= 27
        assert np.median(needed) < 4000

    def test_widening_survives_a_checkpoint_and_bounds(self, tmp_path: Any) -> None:
        options: dict[str, Any] = {"bounds": [(-3, 5)] * 4, "rng": 1}
        whole, parts = (Optimizer(np.full(4, 2.2), 1.0, **options) for _ in range(2))
        for _ in range(60):
            for optimizer in (whole, parts):
                X = optimizer.ask()
                optimizer.tell(X, integer_ellipsoid(X))
            parts.save(tmp_path / "run")
            parts = Optimizer.load(tmp_path / "run")
        assert parts.strategy.mean.tobytes() == whole.strategy.mean.tobytes()
        assert parts.strategy.sigma == whole.strategy.sigma

    def test_mirrored_points_that_tie_in_pairs_widen_nothing(self) -> None:
        result = solve(sphere, np.zeros(2), 1.0, max_evals=400)
        assert result.sigma < 1


def test_noise_is_no_success() -> None:
    for seed in range(5):
        noise = np.random.default_rng(seed)
        result = solve(partial(disturbed, noise), start(4, seed), rng=seed)
        assert not result.success, result.message
