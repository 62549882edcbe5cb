"""Policies as functions to minimise: their returns against a plain loop, wherever they are played."""

from __future__ import annotations

import functools
import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, MultiBinary
from gymnasium.vector import SyncVectorEnv

import r1nes
from r1nes.integrations.gymnasium import Rollouts
from r1nes.integrations.gymnasium.statistics import Statistics, Sums
from r1nes.sampling.keys import Key

WEIGHTS = np.random.default_rng(1)


class Reach(gymnasium.Env[Any, Any]):
    """Move a point on a line to a goal; an episode ends there, or after 12 steps."""

    def __init__(self, scale: float = 1.0, action_space: Any = None) -> None:
        self.observation_space = Box(-np.inf, np.inf, (2,))
        self.action_space = Box(-1.0, 3.0, (1,)) if action_space is None else action_space
        self.scale = scale

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self.place, self.age = self.np_random.uniform(-2, 2), 0
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert action in self.action_space
        self.place += float(np.asarray(action).sum()) - 1
        self.age += 1
        return self._seen(), -abs(self.place), abs(self.place) < 0.05, self.age == 12, {}

    def _seen(self) -> Any:
        return np.array([self.scale * self.place + 100 * (self.scale != 1), self.age], np.float32)


def reach_vector() -> SyncVectorEnv:
    return SyncVectorEnv([Reach] * 3)


def played(env: Any, x: Any, hidden: int, seed: int) -> float:
    """The return of one episode, by the loop that a user would write."""
    inputs = env.observation_space.shape[0]
    discrete = not env.action_space.shape
    outputs = int(env.action_space.n) if discrete else env.action_space.shape[0]
    split = (inputs + 1) * hidden
    A, B = x[:split].reshape(inputs + 1, hidden), x[split:].reshape(hidden + 1, outputs)
    observation, _ = env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        units = np.tanh(observation.astype(float) @ A[:-1] / math.sqrt(inputs) + A[-1])
        output = units @ B[:-1] / math.sqrt(hidden) + B[-1]
        if discrete:
            action = env.action_space.start + output.argmax()
        else:
            low, high = env.action_space.low, env.action_space.high
            action = (low + (high - low) * (1 + np.tanh(output)) / 2).astype(np.float32)
        observation, reward, ended, cut, _ = env.step(action)
        total += float(reward)
        over = ended or cut
    return total


@pytest.mark.parametrize("name", ["CartPole-v1", "Pendulum-v1"])
def test_returns_are_those_of_a_plain_loop(name: str) -> None:
    rollouts, env = Rollouts(name, hidden=(5,)), gymnasium.make(name)
    x = WEIGHTS.standard_normal(rollouts.x0.size)
    expected = [played(env, x, 5, seed) for seed in range(4)]
    np.testing.assert_allclose(rollouts.returns(x, range(4)), expected, rtol=1e-5)


def test_a_vector_environment_plays_the_same_episodes() -> None:
    apart, together = Rollouts(Reach, episodes=2), Rollouts(reach_vector, episodes=2)
    X = WEIGHTS.standard_normal((4, apart.x0.size))
    np.testing.assert_array_equal(apart(X, Key(1, 7)), together(X, Key(1, 7)))


def test_a_value_is_minus_the_mean_return_and_the_key_selects_the_episodes() -> None:
    rollouts = Rollouts(Reach, episodes=3)
    X = WEIGHTS.standard_normal((5, rollouts.x0.size))
    values = rollouts(X, Key(1, 7))
    np.testing.assert_array_equal(values, [rollouts(x, Key(1, 7)) for x in X])
    seeds = [int(word) for word in np.random.SeedSequence(7).generate_state(3)]
    np.testing.assert_allclose(values, [-rollouts.returns(x, seeds).mean() for x in X])
    assert (values != rollouts(X, Key(2, 8))).all()
    np.testing.assert_array_equal(rollouts(X), rollouts(X))


def test_it_acts_as_it_played() -> None:
    rollouts, env = Rollouts("Pendulum-v1", hidden=()), gymnasium.make("Pendulum-v1")
    x = WEIGHTS.standard_normal(rollouts.x0.size)
    (observation, _), total = env.reset(seed=3), 0.0
    for _ in range(200):
        observation, reward, *_ = env.step(rollouts.act(x, observation))
        total += float(reward)
    assert total == pytest.approx(rollouts.returns(x, [3])[0], rel=1e-6)


def trained(**settings: Any) -> Any:
    rollouts = Rollouts(settings.pop("env", Reach), hidden=(4,), normalize=settings.pop("normalize", False))
    result = rollouts.minimize(**{"max_evals": 120, "rng": 1} | settings)
    return result.mean.tobytes(), [np.asarray(each).tobytes() for each in rollouts.statistics]


@pytest.mark.parametrize("normalize", [False, True])
def test_training_is_the_same_in_processes_threads_and_after_a_resume(
    tmp_path: Path, normalize: bool
) -> None:
    alone = trained(normalize=normalize)
    assert trained(normalize=normalize, workers=2) == alone
    with ThreadPoolExecutor(2) as pool:
        assert trained(normalize=normalize, workers=pool) == alone
    trained(normalize=normalize, checkpoint=tmp_path / "run", max_evals=60)
    assert trained(normalize=normalize, checkpoint=tmp_path / "run") == alone


def test_environments_of_processes_may_be_made_by_partial() -> None:
    env = functools.partial(Reach, scale=2.0)
    assert trained(env=env, normalize=True, workers=2) == trained(env=env, normalize=True)


def test_training_learns_and_normalisation_makes_it_independent_of_the_scale() -> None:
    seeds = range(20)
    for scale in (1.0, 1e4):
        rollouts = Rollouts(functools.partial(Reach, scale=scale), hidden=(4,), episodes=4, normalize=True)
        result = rollouts.minimize(max_evals=1500, rng=1)
        first, last = (rollouts.returns(x, seeds).mean() for x in (rollouts.x0, result.mean))
        assert last > 0.4 * first, (scale, first, last)  # returns are negative


def test_statistics_are_those_of_all_observations() -> None:
    rng = np.random.default_rng(2)
    episodes = [rng.normal(1e3, [1, 5], (length, 2)) for length in (3, 1, 7)]
    sums = Sums(3, np.array([1e3, 0.0]))
    for step in range(7):
        rows = np.array([i for i, episode in enumerate(episodes) if step < len(episode)])
        sums.add(rows, np.array([episodes[i][step] for i in rows]))
    merged = functools.reduce(Statistics.merged, sums.statistics(), Statistics.empty(2))
    everything = np.concatenate(episodes)
    np.testing.assert_allclose(merged.mean, everything.mean(0))
    np.testing.assert_allclose(merged.squares / merged.number, everything.var(0))
    np.testing.assert_allclose(merged.normalized(everything).std(0), 1)


def test_it_can_be_pickled() -> None:
    rollouts = Rollouts(Reach)
    x = WEIGHTS.standard_normal(rollouts.x0.size)
    assert pickle.loads(pickle.dumps(rollouts))(x, Key(1, 2)) == rollouts(x, Key(1, 2))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Rollouts(3), TypeError, "env must be a name or a function"),  # type: ignore[arg-type]
        (lambda: Rollouts(Reach, render_mode=None), TypeError, "render_mode need"),
        (lambda: Rollouts(dict), TypeError, "env must return a gymnasium Env or VectorEnv"),
        (lambda: Rollouts(Reach, episodes=0), ValueError, "episodes must be"),
        (lambda: Rollouts(functools.partial(Reach, action_space=MultiBinary(2))), TypeError, "actions in a"),
        (lambda: Rollouts(Reach).minimize(keyed=False), TypeError, "keyed is not a setting of Rollouts"),
        (lambda: Rollouts(Reach).minimize(sigma=1), TypeError, "sigma is not a keyword.*sigma0"),
        (lambda: Rollouts(Reach, normalize=True).minimize(workers="2"), TypeError, "workers must be"),
    ],
)
def test_what_cannot_work_is_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_observations_that_are_no_box_are_refused() -> None:
    def keyed() -> Any:
        env = Reach()
        env.observation_space = Dict({"place": env.observation_space})
        return env

    with pytest.raises(TypeError, match="FlattenObservation converts others"):
        Rollouts(keyed)


def test_a_run_by_hand_is_that_of_the_helper() -> None:
    rollouts = Rollouts(Reach)
    by_hand = r1nes.minimize(rollouts, rollouts.x0, 1.0, keyed=True, workers=2, max_evals=120, rng=3)
    assert by_hand.mean.tobytes() == rollouts.minimize(max_evals=120, rng=3).mean.tobytes()
