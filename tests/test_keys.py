"""The key of a generation: the same wherever, whenever and in whatever form its points are evaluated."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import r1nes
from r1nes.sampling.keys import Key, key_of
from support.runs import same


def shaken(x: Any, key: Key) -> float:
    """A function whose minimum is elsewhere in each generation."""
    centre = np.random.default_rng(key.seed).normal(0, 0.1, len(x)) / key.generation
    return float(np.sum((x - centre) ** 2))


def shaken_rows(X: Any, key: Key) -> Any:
    return np.array([shaken(x, key) for x in X])


def run(**settings: Any) -> Any:
    fun = shaken_rows if settings.get("vectorized") else shaken
    return r1nes.minimize(fun, np.ones(4), 0.5, **{"keyed": True, "max_evals": 200, "rng": 1} | settings)


def in_threads(function: Any, points: Any) -> list[Any]:
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(function, points))


@pytest.mark.parametrize(
    "settings",
    [{"vectorized": True}, {"workers": 2}, {"workers": "threads:2"}, {"workers": in_threads}],
    ids=["vectorized", "processes", "threads", "a map"],
)
def test_runs_are_the_same_wherever_points_are_evaluated(settings: dict[str, Any]) -> None:
    assert run(**settings).x.tobytes() == run().x.tobytes()


def test_ask_and_tell_has_the_same_keys() -> None:
    optimizer = r1nes.Optimizer(np.ones(4), 0.5, max_evals=200, rng=1)
    while not optimizer.stop():
        X = optimizer.ask()
        optimizer.tell(X, shaken_rows(X, optimizer.key))
    assert optimizer.result.x.tobytes() == run().x.tobytes()


def test_a_resumed_run_repeats_its_keys(tmp_path: Path) -> None:
    run(checkpoint=tmp_path / "run", max_evals=96)
    assert run(checkpoint=tmp_path / "run").x.tobytes() == run().x.tobytes()


def test_keys_count_generations_and_differ_between_generations_runs_and_restarts() -> None:
    keys: list[Key] = []

    def listening(x: Any, key: Key) -> float:
        keys.append(key)
        return float(x @ x)

    settings: dict[str, Any] = {"keyed": True, "xtol": 0.1, "restarts": 2, "max_evals": 2000}
    result = r1nes.minimize(listening, np.ones(4), rng=1, **settings)
    assert result.restarts > 0
    first = [key for i, key in enumerate(keys) if i == 0 or key != keys[i - 1]]
    assert len({key.seed for key in first}) == len(first) == result.nit
    assert {key.seed for key in first}.isdisjoint(
        {key_of(np.random.SeedSequence(2), g).seed for g in range(99)}
    )
    assert [key.generation for key in first[:3]] == [1, 2, 3]
    assert sum(key.generation == 1 for key in first) == 1 + result.restarts


def test_a_function_that_takes_no_key_is_refused() -> None:
    with pytest.raises(TypeError, match="keyed=True needs a fun that takes the keyword argument key"):
        r1nes.minimize(np.sum, np.ones(4), keyed=True)


def test_asynchronous_runs_have_no_keys() -> None:
    with pytest.raises(ValueError, match="keyed must be False with asynchronous=True"):
        run(asynchronous=True, workers=2)
    with pytest.raises(ValueError, match="key needs asynchronous=False"):
        _ = r1nes.Optimizer(np.ones(4), asynchronous=True).key


class Counting:
    """A function with a state: every generation lies a little further away than the last."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, X: Any) -> Any:
        self.calls += 1
        return np.sum((X - self.calls / 100) ** 2, axis=1)

    def get_state(self) -> dict[str, Any]:
        return {"calls": self.calls}

    def set_state(self, state: dict[str, Any]) -> None:
        self.calls = state["calls"]


def test_a_checkpoint_keeps_the_state_of_a_function_that_has_one(tmp_path: Path) -> None:
    def counted(**settings: Any) -> Any:
        return r1nes.minimize(Counting(), np.ones(4), 0.5, vectorized=True, rng=1, **settings)

    counted(checkpoint=tmp_path / "run", max_evals=96)
    resumed = counted(checkpoint=tmp_path / "run", max_evals=200)
    assert resumed.x.tobytes() == counted(max_evals=200).x.tobytes()


class Drifting(Counting):
    """A function of one point with a state: every call counts."""

    def __init__(self, fails_at: int = 0) -> None:
        super().__init__()
        self._ahead = fails_at

    def __call__(self, x: Any) -> Any:
        self._ahead -= 1
        if self._ahead == 0:
            raise OSError("out of licences")
        return super().__call__(x[None])[0]


@pytest.mark.parametrize("fails_at", [1, 5, 30, 77])
def test_a_generation_that_is_repeated_begins_with_the_state_it_had(fails_at: int, tmp_path: Path) -> None:
    options: dict[str, Any] = {"x0": np.ones(4), "popsize": 9, "max_evals": 200, "rng": 1}
    with pytest.raises(OSError, match="out of licences"):
        r1nes.minimize(Drifting(fails_at), checkpoint=tmp_path / "run", **options)
    resumed = r1nes.minimize(Drifting(), checkpoint=tmp_path / "run", **options)
    same(resumed, r1nes.minimize(Drifting(), **options))


def test_a_state_that_would_be_lost_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="workers must be 1 for a fun with get_state"):
        r1nes.minimize(Counting(), np.ones(4), workers=2)
    r1nes.minimize(Counting(), np.ones(4), vectorized=True, max_evals=96, checkpoint=tmp_path / "run", rng=1)
    with pytest.raises(ValueError, match="fun must have get_state and set_state exactly if"):
        r1nes.minimize(np.sum, np.ones(4), max_evals=200, checkpoint=tmp_path / "run", rng=1)
