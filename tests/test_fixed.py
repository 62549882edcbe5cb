"""Variables whose bounds are equal: a run is that of the other variables, and its points are completed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import Bounds

import r1nes
from r1nes import Optimizer
from r1nes.arrays import Array
from r1nes.storage import checkpoint
from r1nes.strategies import STRATEGIES
from support.functions import rosenbrock, sphere

FREE = np.array([0, 2, 3, 5])  # of six variables
VALUES = np.array([0.25, -4.0])  # of the other two
LOW, HIGH = np.array([-2.0, 0.25, -1.0, -np.inf, -4.0, -1.0]), np.array([2.0, 0.25, np.inf, 1.5, -4.0, 1.0])
START = np.array([0.5, 0.25, -0.5, 1.0, -4.0, 0.0])
METHODS = sorted(STRATEGIES)


def box(of: Array | slice = slice(None)) -> Bounds:
    return Bounds(LOW[of], HIGH[of])


def pair(**settings: Any) -> tuple[Optimizer, Optimizer]:
    """The same search twice: with two fixed variables, and with the other four alone."""
    settings = {"sigma0": 0.4, "rng": 3, **settings}
    return Optimizer(START, bounds=box(), **settings), Optimizer(START[FREE], bounds=box(FREE), **settings)


def check_points(whole: Array, alone: Array) -> None:
    np.testing.assert_array_equal(whole[..., FREE], alone)
    np.testing.assert_array_equal(whole[..., [1, 4]], np.broadcast_to(VALUES, (*whole.shape[:-1], 2)))


@pytest.mark.parametrize("method", METHODS)
class TestEveryMethod:
    def test_a_run_is_that_of_the_free_variables(self, method: str) -> None:
        whole, alone = pair(method=method)
        for _ in range(60):
            X, Z = whole.ask(), alone.ask()
            check_points(X, Z)
            whole.tell(X, rosenbrock(Z))
            alone.tell(Z, rosenbrock(Z))
            assert whole.stop() == alone.stop()
        check_points(whole.result.x, alone.result.x)
        check_points(whole.mean, alone.mean)
        assert whole.result.sigma == alone.result.sigma
        assert whole.strategy.condition() == alone.strategy.condition()
        np.testing.assert_array_equal(whole.stds[FREE], alone.stds)
        np.testing.assert_array_equal(whole.stds[[1, 4]], 0)

    def test_it_converges(self, method: str) -> None:
        """As reported for SNES: bounds that fix one variable ended the run after two generations."""
        result = r1nes.minimize(
            lambda x: float(sphere(x - 0.3)),
            [1.0, 2.0, 0.5],
            bounds=[(-5, 5), (2, 2), (-5, 5)],
            method=method,
            rng=1,
        )
        assert result.success, result.message
        np.testing.assert_allclose(result.x, [0.3, 2, 0.3], atol=1e-5)

    def test_single_precision(self, method: str) -> None:
        """Bounds that differ by less than single precision resolves fix a variable, too."""
        optimizer = Optimizer(
            np.ones(4, np.float32), 0.5, bounds=[(0, 2), (1, 1 + 1e-12), (0, 2), (0, 2)], method=method, rng=1
        )
        for _ in range(20):
            X = optimizer.ask()
            assert X.dtype == np.float32
            assert (X[:, 1] == 1).all()
            optimizer.tell(X, sphere(X))


def test_streamed_points_are_completed() -> None:
    whole, alone = pair(popsize=12)
    for _ in range(12):  # generation 8 evaluates points again
        streams = whole.ask(streaming=True), alone.ask(streaming=True)
        X, Z = (np.array([x.copy() for x in stream]) for stream in streams)
        check_points(X, Z)
        whole.tell(streams[0], rosenbrock(Z))
        alone.tell(streams[1], rosenbrock(Z))
    check_points(whole.result.x, alone.result.x)


def test_asynchronous_points_are_completed() -> None:
    whole, alone = pair(asynchronous=True)
    for _ in range(100):
        X, Z = whole.ask(), alone.ask()
        check_points(X, Z)
        whole.tell(X, rosenbrock(Z))
        alone.tell(Z, rosenbrock(Z))
    assert whole.generation == alone.generation > 0


def test_restarts_keep_the_value() -> None:
    seen: list[Array] = []

    def flat(x: Array) -> float:
        seen.append(x)
        return 1.0

    r1nes.minimize(flat, START, bounds=box(), restarts=2, rng=1)
    np.testing.assert_array_equal(np.array(seen)[:, [1, 4]], np.broadcast_to(VALUES, (len(seen), 2)))


def test_a_resumed_run_continues_bit_for_bit(tmp_path: Path) -> None:
    run: dict[str, Any] = {"x0": START, "bounds": box(), "vectorized": True, "rng": 2}
    straight = r1nes.minimize(rosenbrock, max_evals=600, **run)
    kept = {**run, "checkpoint": tmp_path / "run.r1nes"}
    r1nes.minimize(rosenbrock, max_evals=300, **kept)
    resumed = r1nes.minimize(rosenbrock, max_evals=600, **kept)
    np.testing.assert_array_equal(resumed.x, straight.x)
    assert resumed.nfev == straight.nfev


def test_a_saved_optimizer_continues_bit_for_bit(tmp_path: Path) -> None:
    whole, _ = pair()
    for _ in range(9):
        X = whole.ask()
        whole.tell(X, sphere(X))
    whole.save(tmp_path / "state")
    np.testing.assert_array_equal(Optimizer.load(tmp_path / "state").ask(), whole.ask())


def test_a_file_whose_distribution_has_the_fixed_variables_is_refused(tmp_path: Path) -> None:
    """Earlier versions wrote such files."""
    state, other = pair()[0].state(), Optimizer(START, 0.4, method="rknes", popsize=8).state()
    checkpoint.write(tmp_path / "old", {**state, "strategy": other["strategy"]})
    with pytest.raises(ValueError, match=r"must be an array of shape \(4,\), got an array of shape \(6,\)"):
        Optimizer.load(tmp_path / "old")


def test_points_are_written_to_the_given_array() -> None:
    whole, _ = pair()
    out = np.empty((whole.popsize, START.size))
    assert whole.ask(out=out) is out
    np.testing.assert_array_equal(out, whole.ask())


def test_the_population_and_the_method_suit_the_free_variables() -> None:
    whole, alone = pair()
    assert whole.popsize == alone.popsize
    one_left = Optimizer([0.0, 1.0], bounds=[(-1, 1), (1, 1)])
    assert repr(one_left).startswith("<Optimizer: snes, 2 variables, of which 1 is free")
    with pytest.raises(ValueError, match=r"needs at least 2 free variables, got 1; use 'snes'"):
        Optimizer([0.0, 1.0], bounds=[(-1, 1), (1, 1)], method="rknes")


def test_a_start_beside_the_value_is_refused() -> None:
    with pytest.raises(ValueError, match=r"x0 must lie within bounds, got x0\[1\] = 1.5 outside"):
        Optimizer([0.0, 1.5], bounds=[(-1, 1), (1, 1)])


def test_all_variables_fixed_is_refused() -> None:
    with pytest.raises(ValueError, match="bounds must leave a variable free, got low = high for all 2"):
        Optimizer([0.0, 1.0], bounds=[(0, 0), (1, 1)])


def test_two_variables_of_which_one_is_fixed_can_be_plotted() -> None:
    pytest.importorskip("matplotlib")
    result = r1nes.minimize(sphere, [0.5, 1.0], bounds=[(-1, 1), (1, 1)], max_evals=100, rng=1)
    assert "mean1" not in result.history
    result.plot()
    with pytest.raises(ValueError, match="contour needs a run with 2 variables, none of them fixed"):
        result.plot(contour=lambda x: float(sphere(x)))
