"""Ask and tell: what is honoured, what is refused, what comes out bit for bit."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import r1nes
from r1nes import SNES, Optimizer, RkNES
from r1nes.arrays import Array
from support.functions import rosenbrock, sphere

METHODS = ["r1nes", "rknes", "snes", "xnes"]


def steps(optimizer: Optimizer, count: int, fun: Callable[[Array], Array] = rosenbrock) -> Array:
    """The points of ``count`` generations."""
    asked = []
    for _ in range(count):
        X = optimizer.ask()
        asked.append(X.copy())
        optimizer.tell(X, fun(X))
    return np.array(asked)


@pytest.mark.parametrize("method", METHODS)
class TestEveryMethod:
    def test_the_same_seed_gives_the_same_run(self, method: str) -> None:
        first, second, third = (Optimizer(np.zeros(5), 0.5, method=method, rng=seed) for seed in (7, 7, 8))
        points = steps(first, 30)
        np.testing.assert_array_equal(points, steps(second, 30))
        assert not np.array_equal(points, steps(third, 30))

    def test_the_global_random_state_is_not_touched(self, method: str) -> None:
        np.random.seed(5)  # noqa: NPY002 - the very thing under test
        before = np.random.get_state()[1].copy()  # type: ignore[index]  # noqa: NPY002
        steps(Optimizer(np.zeros(5), 0.5, method=method, rng=1), 5)
        np.testing.assert_array_equal(np.random.get_state()[1], before)  # type: ignore[index]  # noqa: NPY002

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
        points = steps(plain, 40)
        np.testing.assert_array_equal(points, steps(bent, 40, lambda X: transform(rosenbrock(X))))

    def test_translation_moves_the_run_and_nothing_else(self, method: str) -> None:
        shift = np.array([1.0, -2.0, 4.0, 0.5, 8.0])
        plain, moved = (Optimizer(x0, 0.5, method=method, rng=1) for x0 in (np.zeros(5), shift))
        points = steps(plain, 40)
        np.testing.assert_allclose(
            steps(moved, 40, lambda X: rosenbrock(X - shift)) - shift, points, rtol=0, atol=1e-10
        )

    def test_a_constant_function_does_not_walk(self, method: str) -> None:
        optimizer = Optimizer(np.ones(4), 0.5, method=method, rng=1)
        steps(optimizer, 10, lambda X: np.full(len(X), 3.0))
        np.testing.assert_array_equal(optimizer.strategy.mean, np.ones(4))
        assert optimizer.strategy.sigma == pytest.approx(0.5, rel=1e-14)

    def test_a_copy_goes_on_alike(self, method: str) -> None:
        optimizer = Optimizer(np.zeros(5), 0.5, method=method, rng=1)
        steps(optimizer, 5)
        twins = copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))
        points = steps(optimizer, 10)
        for twin in twins:
            np.testing.assert_array_equal(steps(twin, 10), points)

    def test_the_best_point_ever_is_kept(self, method: str) -> None:
        """Random values: the best comes early, and later generations must not replace it."""
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
    def test_asking_again_gives_the_same_points_whatever_was_done_to_them(self) -> None:
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
        steps(smooth, 10)
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
                "values must be real numbers, got dtype complex",
            ),
            (lambda X, f: (X, [None for _ in f]), TypeError, "values must be real numbers, got dtype object"),
        ],
    )
    def test_what_is_not_the_last_ask_is_refused_and_changes_nothing(
        self, change: Callable[[Array, Array], Any], error: type[Exception], message: str
    ) -> None:
        optimizer = Optimizer(np.zeros(8), 0.5, rng=1)
        steps(optimizer, 3)
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

    def test_columns_of_values_and_integers_are_welcome(self) -> None:
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

    def test_nothing_but_nan_raises_after_a_while_with_the_state_intact(self) -> None:
        optimizer = Optimizer(np.ones(4), 0.5, rng=1)
        steps(optimizer, 5, sphere)
        before = optimizer.strategy.mean.copy(), optimizer.strategy.cov(), optimizer.result
        steps(optimizer, 9, lambda X: np.full(len(X), np.nan))
        with pytest.raises(FloatingPointError, match="only NaN in 10 generations"):
            steps(optimizer, 1, lambda X: np.full(len(X), np.nan))
        np.testing.assert_array_equal(optimizer.strategy.mean, before[0])
        np.testing.assert_array_equal(optimizer.strategy.cov(), before[1])
        np.testing.assert_array_equal(optimizer.result.x, before[2].x)
        steps(optimizer, 200, sphere)
        assert optimizer.best < 1e-3

    def test_blank_generations_must_come_in_a_row_to_raise(self) -> None:
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


class TestStart:
    @pytest.mark.parametrize(
        "x0",
        [
            [1, 2, 3],
            (1.0, 2.0, 3.0),
            np.array([1, 2, 3]),
            np.array([1.0, 0, 2, 0, 3, 0])[::2],
            np.array([1, 2, 3], dtype=np.float16),
            np.array([1, 2, 3], dtype=">f8"),
        ],
    )
    def test_any_vector_of_numbers(self, x0: Any) -> None:
        optimizer = Optimizer(x0, 0.5, rng=1)
        points = steps(optimizer, 5, sphere)
        assert points.dtype == np.float64
        np.testing.assert_array_equal(points, steps(Optimizer([1.0, 2.0, 3.0], 0.5, rng=1), 5, sphere))

    def test_the_callers_array_is_never_changed(self) -> None:
        x0 = np.ones(4)
        frozen = np.ones(4)
        frozen.flags.writeable = False
        for start in (x0, frozen):
            steps(Optimizer(start, 0.5, rng=1), 5)
            np.testing.assert_array_equal(start, np.ones(4))

    @pytest.mark.parametrize("method", METHODS)
    def test_float32_stays_float32(self, method: str) -> None:
        optimizer = Optimizer(np.ones(6, np.float32), 0.5, method=method, bounds=[(-9, 9)] * 6, rng=1)
        assert steps(optimizer, 5).dtype == np.float32
        assert optimizer.strategy.mean.dtype == np.float32
        assert optimizer.result.x.dtype == np.float32

    @pytest.mark.parametrize("method", ["snes", "xnes"])
    def test_one_variable(self, method: str) -> None:
        result = r1nes.minimize(lambda x: (x[0] - 3) ** 2, 0.0, method=method, ftarget=1e-10, rng=1)
        assert result.success
        assert result.x == pytest.approx([3], abs=1e-4)

    def test_r1nes_refuses_one_variable_and_says_what_to_use(self) -> None:
        with pytest.raises(ValueError, match="at least 2 variables, got 1; use 'snes' or 'xnes'"):
            Optimizer([1.0], 0.5, method="r1nes")

    def test_the_default_is_rknes_and_snes_for_one_variable(self) -> None:
        methods = [Optimizer(np.ones(d), 0.5).settings.method for d in (1, 2, 100)]
        assert methods == [SNES(), RkNES(), RkNES()]

    @pytest.mark.parametrize(
        ("options", "error", "message"),
        [
            ({"x0": []}, ValueError, r"x0 must be a vector .* got shape \(0,\)"),
            ({"x0": np.zeros((2, 2))}, ValueError, r"x0 must be a vector .* got shape \(2, 2\)"),
            ({"x0": [1, np.nan]}, ValueError, r"x0 must be finite, got x0\[1\] = nan"),
            ({"x0": [1j, 2]}, TypeError, "x0 must hold real numbers, got dtype complex"),
            ({"x0": ["a", "b"]}, TypeError, "x0 must hold real numbers"),
            ({"sigma0": 0}, ValueError, "sigma0 must be finite and above 0, got 0"),
            ({"sigma0": math.inf}, ValueError, "sigma0 must be finite and above 0, got inf"),
            ({"sigma0": "1"}, TypeError, "sigma0 must be a number, got '1'"),
            ({"sigma0": [1, 2]}, TypeError, "sigma0 must be a number"),
            ({"method": "cma"}, ValueError, "method must be one of r1nes, rknes, snes, xnes, got 'cma'"),
            ({"popsize": 1}, ValueError, "popsize must be a whole number of at least 2, got 1"),
            ({"popsize": 7.5}, ValueError, "popsize must be a whole number of at least 2, got 7.5"),
            ({"max_evals": 3}, ValueError, "max_evals must be a whole number of at least 6, got 3"),
            ({"max_seconds": -1}, ValueError, "max_seconds must be finite and above 0, got -1"),
            ({"ftarget": math.nan}, TypeError, "ftarget must be a number, got nan"),
            ({"xtol": -1e-9}, ValueError, "xtol must be finite and not below 0"),
            ({"ftol": None}, TypeError, "ftol must be a number, got None"),
            (
                {"utilities": [1, 2, 3]},
                ValueError,
                r"utilities must hold one weight per rank, 6, got .*\(3,\)",
            ),
            ({"utilities": [1, 2, 3, 4, 5, 6]}, ValueError, "utilities must be finite and fall"),
            ({"utilities": [1, 1, 1, 1, 1, 1]}, ValueError, "utilities must be finite and fall"),
            ({"rate_size": 1}, TypeError, r"rate_size is not a keyword; did you mean rate_\w+\?"),
            ({"rate_mean": -1}, ValueError, "rate_mean must be finite and not below 0, got -1"),
            ({"rng": "x"}, TypeError, "rng must be None, an int"),
        ],
    )
    def test_bad_settings_are_refused_by_name(
        self, options: dict[str, Any], error: type[Exception], message: str
    ) -> None:
        with pytest.raises(error, match=message):
            Optimizer(**{"x0": [1.0, 2.0], "sigma0": 0.5, **options})

    def test_snes_has_no_rate_for_a_shape(self) -> None:
        with pytest.raises(
            TypeError, match="rate_shape is not a setting of SNES; it has rate_mean, rate_sigma"
        ):
            Optimizer([1.0, 2.0], 0.5, method="snes", rate_shape=0.1)

    @pytest.mark.parametrize("method", METHODS)
    def test_settings_are_honoured(self, method: str) -> None:
        utilities = [3.0, 1.0, -1.0, -3.0]
        optimizer = Optimizer(
            np.ones(3),
            0.25,
            method=method,
            popsize=4,
            utilities=utilities,
            rate_mean=0.5,
            rate_sigma=0.0,
            rng=1,
        )
        X = optimizer.ask()
        assert X.shape == (4, 3)
        optimizer.tell(X, [0, 1, 2, 3])
        expected = 1 + 0.5 * (np.array(utilities) @ (X - 1))
        np.testing.assert_allclose(optimizer.strategy.mean, expected, rtol=1e-12)
        assert optimizer.strategy.sigma == pytest.approx(0.25, rel=1e-15)
        steps(optimizer, 20)
        assert optimizer.strategy.sigma == pytest.approx(0.25, rel=1e-15)

    def test_too_large_a_population_says_so(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def no_memory(*_: object) -> None:
            raise MemoryError

        optimizer = Optimizer(np.ones(1000), 0.5, popsize=100)
        monkeypatch.setattr(type(optimizer._noise), "rows", no_memory)
        with pytest.raises(MemoryError, match="100 points of 1000 variables do not fit"):
            optimizer.ask()

    def test_a_generator_and_its_seed_reproduce_the_run(self) -> None:
        optimizer = Optimizer(np.ones(3), 0.5, rng=np.random.default_rng(4))
        again = Optimizer(np.ones(3), 0.5, rng=optimizer.result.seed)
        unseeded = Optimizer(np.ones(3), 0.5)
        np.testing.assert_array_equal(steps(optimizer, 3), steps(again, 3))
        replay = Optimizer(np.ones(3), 0.5, rng=np.random.SeedSequence(unseeded.seed.entropy))
        np.testing.assert_array_equal(steps(unseeded, 3), steps(replay, 3))
