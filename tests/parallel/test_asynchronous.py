"""Asynchronous runs: values in any portions and any order, and no worker that waits."""

from __future__ import annotations

import os
import random
import signal
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import r1nes
from r1nes import Optimizer
from r1nes.arrays import Array
from r1nes.strategies import STRATEGIES
from support.functions import cigar, rastrigin, rosenbrock, sphere


@pytest.mark.parametrize("method", STRATEGIES)
def test_told_in_the_order_of_asking_it_is_the_synchronous_run(method: str) -> None:
    new = partial(Optimizer, np.zeros(6), 0.5, method=method, noise=False, rng=1)
    synchronous, asynchronous = new(), new(asynchronous=True)
    for _ in range(30):
        X = synchronous.ask()
        synchronous.tell(X, rosenbrock(X))
        while asynchronous.generation < synchronous.generation:
            x = asynchronous.ask()
            assert len(x) == 1
            asynchronous.tell(x, rosenbrock(x))
        # Matrix products round differently for one row than for all, so points differ in their last bits.
        np.testing.assert_allclose(asynchronous.strategy.mean, synchronous.strategy.mean, rtol=0, atol=1e-12)
        np.testing.assert_allclose(asynchronous.result.x, synchronous.result.x, rtol=0, atol=1e-12)
        assert asynchronous.nfev == synchronous.nfev


@pytest.mark.parametrize("method", STRATEGIES)
def test_values_may_come_in_any_portions(method: str) -> None:
    rng = random.Random(0)
    optimizer = Optimizer(np.ones(6), 0.5, method=method, asynchronous=True, ftarget=1e-6, rng=1)
    waiting: list[Array] = []
    told = 0
    while not optimizer.stop():
        while len(waiting) < 10:
            waiting.extend(optimizer.ask())
        rng.shuffle(waiting)
        n = rng.randint(1, 5)
        portion, waiting = np.array(waiting[:n]), waiting[n:]
        told += len(portion)
        optimizer.tell(portion, cigar(portion))
        assert optimizer.nfev == told
        if told > 20_000:
            break
    assert list(optimizer.stop()) == ["ftarget"]


class TestCoincidingPoints:
    """Two points under way may be the same, bit for bit; each is told once."""

    @pytest.mark.parametrize("method", STRATEGIES)
    @pytest.mark.parametrize(
        "start",
        [
            {"x0": np.full(3, 1e17), "sigma0": 1.0},  # neighbouring numbers are 16 apart
            {"x0": np.full(3, 1e8, np.float32), "sigma0": 0.1},
            {"x0": np.ones(3), "bounds": [(1, np.nextafter(1, 2))] * 3},
        ],
        ids=["a large offset", "float32", "flat bounds"],
    )
    def test_where_rounding_leaves_few(self, method: str, start: dict[str, Any]) -> None:
        optimizer = Optimizer(**start, method=method, asynchronous=True, rng=1)
        n = 3 * optimizer.popsize
        X = np.vstack([optimizer.ask() for _ in range(n)])
        assert len(np.unique(X, axis=0)) < n
        optimizer.tell(X, np.arange(n, dtype=float))
        assert (optimizer.nfev, optimizer.generation) == (n, 3)
        with pytest.raises(ValueError, match="row 0 is not one of them"):
            optimizer.tell(X[:1], [0.0])

    def test_a_whole_run(self) -> None:
        solve = partial(r1nes.minimize, sphere, workers="threads:3", asynchronous=True, rng=1)
        result = solve(np.full(3, 1e17), sigma0=1.0, max_evals=200)
        assert result.stop
        assert result.fun == sphere(result.x)

    def test_one_too_many_is_refused(self) -> None:
        optimizer = Optimizer(np.full(2, 1e17), 1.0, asynchronous=True, rng=1)
        x = optimizer.ask()
        with pytest.raises(ValueError, match="row 0 is not one of them"):
            optimizer.tell(np.vstack([x, x]), [1.0, 2.0])
        optimizer.tell(x, [1.0])


class TestRefusals:
    def test_points_that_were_not_asked_or_are_told_twice_change_nothing(self) -> None:
        optimizer = Optimizer(np.ones(4), 0.5, method="snes", asynchronous=True, rng=1)
        first, second = optimizer.ask(), optimizer.ask()
        optimizer.tell(first, [1.0])
        for wrong in (first, second + 1e-9, np.vstack([second, second])):
            with pytest.raises(ValueError, match="X must hold points asked and not yet told; row"):
                optimizer.tell(wrong, np.zeros(len(wrong)))
        assert optimizer.nfev == 1
        optimizer.tell(second, [0.5])
        assert optimizer.best == 0.5

    def test_shapes(self) -> None:
        optimizer = Optimizer(np.ones(4), 0.5, method="snes", asynchronous=True, rng=1)
        x = optimizer.ask()
        with pytest.raises(ValueError, match=r"X must be of shape \(1, 4\)"):
            optimizer.tell(x[:, :2], [1.0])
        with pytest.raises(ValueError, match="values must hold one number per point, 1"):
            optimizer.tell(x, [1.0, 2.0])

    @pytest.mark.parametrize("options", [{}, {"workers": map}, {"vectorized": True}])
    def test_it_needs_workers(self, options: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match="asynchronous=True needs workers that take one point each"):
            r1nes.minimize(sphere, np.ones(3), asynchronous=True, **options)


def first_is_slow(x: Array, notes: Path) -> float:
    """The evaluation that comes first takes until the third generation is over."""
    try:
        (notes / "first").touch(exist_ok=False)
    except FileExistsError:
        return float(sphere(x))
    for _ in range(3000):
        if (notes / "third generation").exists():
            return float(sphere(x))
        time.sleep(0.01)
    raise TimeoutError("everybody waited for me")


@pytest.mark.parametrize("workers", [3, "threads:3"])
def test_no_worker_waits_for_the_slowest(workers: Any, tmp_path: Path) -> None:
    def callback(intermediate_result: Any) -> None:
        if intermediate_result.nit == 3:
            (tmp_path / "third generation").touch()

    result = r1nes.minimize(
        first_is_slow,
        np.ones(5),
        args=(tmp_path,),
        workers=workers,
        asynchronous=True,
        callback=callback,
        ftarget=1e-3,
        max_evals=2000,
        rng=1,
    )
    assert result.success
    assert len(result.history["nfev"]) == result.nit


def test_the_budget_is_kept(tmp_path: Path) -> None:
    result = r1nes.minimize(
        marked, np.ones(5), args=(tmp_path,), workers=3, asynchronous=True, max_evals=100, rng=1
    )
    assert 100 - result.history["nfev"][0] < result.nfev <= 100
    assert result.nfev <= len(list(tmp_path.iterdir())) <= 100
    assert list(result.stop) == ["max_evals"]


def marked(x: Array, notes: Path) -> float:
    (notes / x.tobytes().hex()).touch()
    return float(sphere(x))


def test_restarts_bounds_and_targets() -> None:
    result = r1nes.minimize(
        rastrigin,
        np.full(3, 2.2),
        bounds=[(-5, 5)] * 3,
        restarts=6,
        ftarget=1e-6,
        max_evals=200_000,
        ftol=1e-8,
        workers="threads:2",
        asynchronous=True,
        rng=1,
    )
    assert result.success
    assert (np.diff(result.history["nfev"]) > 0).all()
    assert result.fun == rastrigin(result.x)


def dying(x: Array, marker: Path) -> float:
    if random.Random(x.tobytes()).random() < 0.2:
        mark = marker / x.tobytes().hex()
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
    return float(sphere(x))


def test_lost_evaluations_are_done_again(tmp_path: Path) -> None:
    result = r1nes.minimize(
        dying, np.ones(4), args=(tmp_path,), ftarget=1e-3, workers=2, asynchronous=True, rng=1
    )
    assert result.success
    assert len(list(tmp_path.iterdir())) > 1
    assert result.nan_count == 0


@pytest.mark.parametrize("method", STRATEGIES)
def test_a_file_keeps_the_values_of_an_incomplete_generation(method: str, tmp_path: Path) -> None:
    """Nothing is under way when it is saved, so the loaded one continues bit for bit."""
    optimizer = Optimizer(np.ones(5), 0.5, method=method, asynchronous=True, rng=1)
    n = optimizer.popsize

    def tell(one: Optimizer, number: int) -> None:
        for _ in range(number):
            x = one.ask()
            one.tell(x, rosenbrock(x))

    tell(optimizer, 2 * n - 1)
    optimizer.save(tmp_path / "f")
    loaded = Optimizer.load(tmp_path / "f")
    for one in (optimizer, loaded):
        assert (one.nfev, one.generation) == (2 * n - 1, 1)
        tell(one, 1)
        assert (one.nfev, one.generation) == (2 * n, 2)
    assert loaded.strategy.mean.tobytes() == optimizer.strategy.mean.tobytes()


def test_it_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    solve = partial(
        r1nes.minimize, sphere, np.ones(4), workers="threads:2", asynchronous=True, ftarget=1e-9, rng=1
    )
    first = solve(max_evals=100, checkpoint=tmp_path / "f")
    assert not first.success
    second = solve(max_evals=20_000, checkpoint=tmp_path / "f")
    assert second.success
    assert second.history["nfev"][0] == first.history["nfev"][0]
    assert second.nfev > first.nfev
