"""Threads of BLAS: one in a step, as many as before in the objective, a share of the cores in workers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import r1nes
from r1nes.arrays import Array
from r1nes.arrays.threads import cores, one_thread, share_cores
from r1nes.learning import learnt

threadpoolctl = pytest.importorskip("threadpoolctl")


def threads() -> set[int]:
    return {each["num_threads"] for each in threadpoolctl.threadpool_info() if each["user_api"] == "blas"}


@pytest.mark.parametrize(("d", "within"), [(8, 2), (200, 1)])
def test_a_large_step_uses_one_thread_and_restores_the_others(
    d: int, within: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, set[int]] = {}

    def step(*args: Any) -> Any:
        seen["step"] = threads()
        return learnt(*args)

    def fun(X: Array) -> Array:
        seen["fun"] = threads()
        return (X**2).sum(axis=1)

    monkeypatch.setattr("r1nes.optimizer.learnt", step)
    with threadpoolctl.threadpool_limits(2, "blas"):
        r1nes.minimize(fun, np.ones(d), 1.0, max_evals=40, vectorized=True, rng=1)
        assert seen == {"step": {within}, "fun": {2}}
        assert threads() == {2}


def test_a_step_that_fails_restores_the_threads_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("r1nes.optimizer.learnt", fail)
    optimizer = r1nes.Optimizer(np.ones(200), 1.0, rng=1)
    X = optimizer.ask()
    with threadpoolctl.threadpool_limits(2, "blas"):
        with pytest.raises(MemoryError):
            optimizer.tell(X, (X**2).sum(axis=1))
        assert threads() == {2}


def test_steps_in_several_threads_restore_the_number_when_the_last_one_ends() -> None:
    first, second = one_thread(20, 200), one_thread(20, 200)
    with threadpoolctl.threadpool_limits(2, "blas"):
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert threads() == {1}
        second.__exit__(None, None, None)
        assert threads() == {2}


@pytest.mark.parametrize(("before", "processes", "after"), [(3, 2, 2), (1, 2, 1), (4, 8, 1), (3, 1, 3)])
def test_a_process_has_its_share_of_four_cores(
    before: int, processes: int, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("r1nes.arrays.threads.cores", lambda: 4)
    with threadpoolctl.threadpool_limits(before):
        share_cores(processes)
        assert threads() == {after}


def test_workers_do_not_use_more_threads_than_there_are_cores() -> None:
    def fun(_: Array) -> float:
        return float(max(threads()))

    workers = max(2, cores())  # a single one would run in this process
    with threadpoolctl.threadpool_limits(2 * workers):
        result = r1nes.minimize(fun, np.zeros(3), 1.0, max_evals=14, workers=workers, noise=False, rng=1)
    assert result.fun == 1
