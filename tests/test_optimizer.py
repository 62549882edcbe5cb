"""Ask and tell: invariances of every method, refused values and failed evaluations."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import Bounds

import r1nes
from r1nes import Optimizer
from r1nes.arrays import Array
from r1nes.strategies import STRATEGIES
from support.ask_tell import run
from support.functions import rosenbrock, sphere

METHODS = sorted(STRATEGIES)


@pytest.mark.parametrize("method", METHODS)
class TestEveryMethod:
    def test_the_same_seed_gives_the_same_run(self, method: str) -> None:
        first, second, third = (Optimizer(np.zeros(5), 0.5, method=method, rng=seed) for seed in (7, 7, 8))
        points = run(first, 30).points
        np.testing.assert_array_equal(points, run(second, 30).points)
        assert not np.array_equal(points, run(third, 30).points)

    def test_the_global_random_state_is_not_touched(self, method: str) -> None:
        np.random.seed(5)  # noqa: NPY002 - the global state is under test
        before = pickle.dumps(np.random.get_state())  # noqa: NPY002
        run(Optimizer(np.zeros(5), 0.5, method=method, rng=1), 5)
        assert pickle.dumps(np.random.get_state()) == before  # noqa: NPY002

    def test_order_of_telling_does_not_matter(self, method: str) -> None:
        straight, shuffled = (Optimizer(np.zeros(5), 0.5, method=method, rng=1) for _ in range(2))
        rng = np.random.default_rng(0)
        for _ in range(20):
            X, Z = straight.ask(), shuffled.ask()
            rng.shuffle(Z)
            straight.tell(X, rosenbrock(X))
            shuffled.tell(Z.tolist(), rosenbrock(Z).tolist())
            np.testing.assert_array_equal(shuffled.strategy.mean, straight.strategy.mean)
            np.testing.assert_array_equal(shuffled.result.x, straight.result.x)

    @pytest.mark.parametrize("transform", [np.arctan, lambda f: f**3, lambda f: 1e-9 * f - 1])
    def test_only_the_order_of_values_matters(self, method: str, transform: Callable[[Array], Array]) -> None:
        plain, bent = (Optimizer(np.zeros(5), 0.5, method=method, rng=1) for _ in range(2))
        points = run(plain, 40).points
        np.testing.assert_array_equal(points, run(bent, 40, lambda X: transform(rosenbrock(X))).points)

    def test_translation_moves_the_run_and_nothing_else(self, method: str) -> None:
        shift = np.array([1.0, -2.0, 4.0, 0.5, 8.0])
        plain, moved = (Optimizer(x0, 0.5, method=method, rng=1) for x0 in (np.zeros(5), shift))
        points = run(plain, 40).points
        np.testing.assert_allclose(
            run(moved, 40, lambda X: rosenbrock(X - shift)).points - shift, points, rtol=0, atol=1e-10
        )

    def test_on_a_constant_function_the_mean_stays_and_the_step_size_doubles(self, method: str) -> None:
        optimizer = Optimizer(np.ones(4), 0.5, method=method, rng=1)
        run(optimizer, 10, lambda X: np.full(len(X), 3.0))
        np.testing.assert_array_equal(optimizer.strategy.mean, np.ones(4))
        assert optimizer.strategy.sigma == pytest.approx(0.5 * 2**10, rel=1e-13)

    def test_a_copy_continues_alike(self, method: str) -> None:
        optimizer = Optimizer(np.zeros(5), 0.5, method=method, rng=1)
        run(optimizer, 5)
        twins = copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))
        points = run(optimizer, 10).points
        for twin in twins:
            np.testing.assert_array_equal(run(twin, 10).points, points)

    def test_the_best_point_ever_is_kept(self, method: str) -> None:
        """With random values the best comes early; later generations must not replace it."""
        rng = np.random.default_rng(0)
        optimizer = Optimizer(np.zeros(4), 0.5, method=method, rng=1)
        seen: list[tuple[float, Array]] = []
        for _ in range(30):
            X = optimizer.ask()
            values = rng.random(len(X))
            seen += zip(values, X.copy(), strict=True)
            optimizer.tell(X, values)
        value, point = min(seen, key=lambda pair: pair[0])
        assert optimizer.result.fun == value
        np.testing.assert_array_equal(optimizer.result.x, point)
        assert optimizer.result.nfev == len(seen)
        assert optimizer.result.nit == 30


class TestTell:
    def test_asking_again_returns_the_same_points_even_if_they_were_overwritten(self) -> None:
        optimizer = Optimizer(np.zeros(5), 0.5, rng=1)
        first = optimizer.ask()
        kept = first.copy()
        first[:] = 0
        np.testing.assert_array_equal(optimizer.ask(), kept)

    def test_an_exception_between_ask_and_tell_loses_nothing(self) -> None:
        smooth, broken = (Optimizer(np.zeros(5), 0.5, rng=1) for _ in range(2))
        for generation in range(10):
            X = broken.ask()
            if generation == 4:
                with pytest.raises(ZeroDivisionError):
                    broken.tell(X, [1 / 0 for _ in X])
                X = broken.ask()
            broken.tell(X, rosenbrock(X))
        run(smooth, 10)
        np.testing.assert_array_equal(broken.strategy.mean, smooth.strategy.mean)

    @pytest.mark.parametrize(
        ("change", "error", "message"),
        [
            (lambda X, f: (X[:-1], f[:-1]), ValueError, r"X must be of shape \(10, 8\).*got \(9, 8\)"),
            (lambda X, f: (X, f[:-1]), ValueError, r"values must hold one number per point, 10, got .*9"),
            (lambda X, f: (X[:, :-1], f), ValueError, "X must be of shape"),
            (lambda X, f: (np.clip(X, -0.5, 0.5), f), ValueError, "rows of the last ask unchanged; row"),
            (lambda X, f: (X + 1e-13, f), ValueError, "row 0 is not one of them"),
            (lambda X, f: (X[:, ::-1], f), ValueError, "is not one of them"),
            (lambda X, f: (np.vstack([X[:-1], X[:1]]), f), ValueError, "is not one of them"),
            (
                lambda X, f: (X, f.astype(complex)),
                TypeError,
                "values must hold real numbers, got dtype complex",
            ),
            (
                lambda X, f: (X, [None for _ in f]),
                TypeError,
                "values must hold real numbers, got dtype object",
            ),
        ],
    )
    def test_points_other_than_the_last_ask_are_refused_and_change_nothing(
        self, change: Callable[[Array, Array], Any], error: type[Exception], message: str
    ) -> None:
        optimizer = Optimizer(np.zeros(8), 0.5, rng=1)
        run(optimizer, 3)
        X = optimizer.ask()
        values = sphere(X)
        before = optimizer.strategy, optimizer.nfev, optimizer.generation
        with pytest.raises(error, match=message):
            optimizer.tell(*change(X.copy(), values))
        assert (optimizer.strategy, optimizer.nfev, optimizer.generation) == before
        optimizer.tell(X, values)

    def test_telling_twice_or_unasked_is_refused(self) -> None:
        optimizer = Optimizer(np.zeros(3), 0.5)
        with pytest.raises(RuntimeError, match="call ask first"):
            optimizer.tell(np.zeros((5, 3)), np.zeros(5))
        X = optimizer.ask()
        optimizer.tell(X, sphere(X))
        with pytest.raises(RuntimeError, match="call ask first"):
            optimizer.tell(X, sphere(X))

    def test_columns_of_values_and_integers_are_accepted(self) -> None:
        column, integers = (Optimizer(np.zeros(3), 0.5, rng=1) for _ in range(2))
        X = column.ask()
        integers.ask()
        column.tell(X, np.arange(len(X), dtype=float)[:, None])
        integers.tell(X, np.arange(len(X)))
        np.testing.assert_array_equal(column.strategy.mean, integers.strategy.mean)


class TestFailures:
    def test_nan_is_counted_and_never_the_best(self) -> None:
        optimizer = Optimizer(np.ones(4), 0.5, rng=1)
        for _ in range(50):
            X = optimizer.ask()
            values = sphere(X)
            values[::3] = np.nan
            optimizer.tell(X, values)
        assert optimizer.nan_count == optimizer.result.nan_count == 50 * len(values[::3])
        assert optimizer.result.fun < 1

    def test_a_third_of_failures_does_not_prevent_convergence(self) -> None:
        rng = np.random.default_rng(0)
        result = r1nes.minimize(
            lambda X: np.where(rng.random(len(X)) < 1 / 3, np.nan, sphere(X)),
            np.ones(8),
            ftarget=1e-8,
            vectorized=True,
            rng=1,
        )
        assert result.success

    def test_ten_generations_of_nan_raise_and_leave_the_state_intact(self) -> None:
        optimizer = Optimizer(np.ones(4), 0.5, rng=1)
        run(optimizer, 5, sphere)
        before = optimizer.strategy.mean.copy(), optimizer.strategy.cov(), optimizer.result
        run(optimizer, 9, lambda X: np.full(len(X), np.nan))
        with pytest.raises(FloatingPointError, match="only NaN in 10 generations"):
            run(optimizer, 1, lambda X: np.full(len(X), np.nan))
        np.testing.assert_array_equal(optimizer.strategy.mean, before[0])
        np.testing.assert_array_equal(optimizer.strategy.cov(), before[1])
        np.testing.assert_array_equal(optimizer.result.x, before[2].x)
        run(optimizer, 200, sphere)
        assert optimizer.best < 1e-3

    def test_generations_of_nan_raise_only_if_consecutive(self) -> None:
        optimizer = Optimizer(np.ones(4), 0.5, rng=1)
        for generation in range(40):
            X = optimizer.ask()
            blank = generation % 8 != 0
            optimizer.tell(X, np.full(len(X), np.nan) if blank else sphere(X))

    def test_infinity_ranks_before_nan(self) -> None:
        optimizer = Optimizer(np.ones(4), 0.5, rng=1)
        X = optimizer.ask()
        optimizer.tell(X, [np.nan, np.inf, *range(len(X) - 2)])
        assert optimizer.best == 0
        np.testing.assert_array_equal(optimizer.ranked[-2:], [np.inf, np.nan])


class TestOut:
    @pytest.mark.parametrize("bounds", [None, Bounds(-0.3, 0.3)])
    @pytest.mark.parametrize("method", METHODS)
    def test_points_are_written_to_the_given_array(self, method: str, bounds: Bounds | None) -> None:
        plain, reusing = (Optimizer(np.zeros(5), 0.5, method=method, bounds=bounds, rng=1) for _ in range(2))
        X = None
        for _ in range(5):
            before, X = X, reusing.ask(out=X)
            assert before is None or X is before
            np.testing.assert_array_equal(X, plain.ask())
            reusing.tell(X, rosenbrock(X))
            plain.tell(X, rosenbrock(X))

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("bounds", [None, Bounds(-0.3, 0.3)])
    def test_the_array_may_have_any_layout(self, method: str, bounds: Bounds | None, tmp_path: Path) -> None:
        optimizer = Optimizer(np.zeros(5), 0.5, method=method, bounds=bounds, popsize=6, rng=1)
        mapped = np.memmap(tmp_path / "points", np.float64, "w+", shape=(6, 5))
        for out in (np.empty((5, 6)).T, np.empty((12, 10))[::2, ::-2], mapped):
            assert optimizer.ask(out=out) is out
            np.testing.assert_array_equal(out, optimizer.ask())

    @pytest.mark.parametrize(
        ("out", "error", "message"),
        [
            (np.empty((7, 5)), ValueError, r"out must be of shape \(6, 5\), one row per point, got \(7, 5\)"),
            (np.empty((6, 4)), ValueError, r"out must be of shape \(6, 5\), one row per point, got \(6, 4\)"),
            (np.empty(30), ValueError, r"out must be of shape \(6, 5\), one row per point, got \(30,\)"),
            (np.empty((6, 5), np.float32), TypeError, "out must be a NumPy array of float64, got .*float32"),
            (np.empty((6, 5), int), TypeError, "out must be a NumPy array of float64, got .*int64"),
            ([[0.0] * 5] * 6, TypeError, "out must be a NumPy array of float64, got list"),
            (np.ma.zeros((6, 5)), TypeError, "out must be a NumPy array of float64, got MaskedArray"),
            (np.broadcast_to(0.0, (6, 5)), ValueError, "out must be writable, got a read-only array"),
        ],
    )
    @pytest.mark.parametrize("bounds", [None, Bounds(-0.3, 0.3)])
    def test_other_arrays_are_refused(
        self, out: Any, error: type[Exception], message: str, bounds: Bounds | None
    ) -> None:
        optimizer = Optimizer(np.zeros(5), 0.5, bounds=bounds, popsize=6, rng=1)
        with pytest.raises(error, match=message):
            optimizer.ask(out=out)
        X = optimizer.ask()
        optimizer.tell(X, sphere(X))

    def test_an_asynchronous_point_is_a_row(self) -> None:
        plain, reusing = (Optimizer(np.zeros(5), 0.5, asynchronous=True, rng=1) for _ in range(2))
        with pytest.raises(ValueError, match=r"out must be of shape \(1, 5\)"):
            reusing.ask(out=np.empty((plain.popsize, 5)))
        np.testing.assert_array_equal(reusing.ask(out=np.empty((1, 5))), plain.ask())

    def test_a_stream_takes_no_array(self) -> None:
        optimizer = Optimizer(np.zeros(5), 0.5, popsize=6)
        with pytest.raises(ValueError, match="out must be None with streaming=True"):
            optimizer.ask(out=np.empty((6, 5)), streaming=True)  # type: ignore[call-overload]
