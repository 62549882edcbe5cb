"""Products of a step use one thread, and the objective has its own number of threads again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import r1nes
from r1nes.arrays import Array
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
