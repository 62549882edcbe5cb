"""Environments in which many episodes are played in step: separate ones, or a ``VectorEnv``."""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from r1nes.arrays import Array
from r1nes.extras import needs

TOGETHER = 64  # episodes that separate environments play at a time
KEPT = 4  # stages that a thread keeps open


class Stage(ABC):
    """Plays up to ``size`` episodes at a time; rows of arrays belong to episodes."""

    size: int

    def __init__(self, observation_space: Any, action_space: Any) -> None:
        """Check the spaces of one environment."""
        with needs("gymnasium", extra="gymnasium"):
            from gymnasium.spaces import Box, Discrete
        if not isinstance(observation_space, Box):
            raise TypeError(
                f"env must have observations in a Box, got {observation_space}; "
                "gymnasium.wrappers.FlattenObservation converts others"
            )
        if not isinstance(action_space, Box | Discrete):
            raise TypeError(f"env must have actions in a Box or a Discrete space, got {action_space}")
        self.action_space: Any = action_space
        self.inputs, self.is_discrete = math.prod(observation_space.shape), isinstance(action_space, Discrete)
        self.outputs = int(
            action_space.n if isinstance(action_space, Discrete) else math.prod(action_space.shape)
        )

    def actions(self, outputs: Array) -> Any:
        """Return the actions for the outputs of a network, one per row."""
        space = self.action_space
        if self.is_discrete:
            return outputs.argmax(axis=1) + space.start
        low, high = space.low.ravel(), space.high.ravel()
        bounded = np.isfinite(low) & np.isfinite(high)
        width = np.where(bounded, high, 1.0) - np.where(bounded, low, 0.0)
        squashed = np.where(bounded, low, 0.0) + width * (0.5 + 0.5 * np.tanh(outputs))
        chosen = np.where(bounded, squashed, np.clip(outputs, low, high))
        return chosen.astype(space.dtype).reshape(-1, *space.shape)

    @abstractmethod
    def reset(self, seeds: list[int]) -> Array:
        """Begin an episode for each seed and return the first observations."""

    @abstractmethod
    def step(self, active: Any, actions: Any) -> tuple[Array, Array, Any]:
        """Act in the ``active`` episodes; return observations, rewards and whether each of them is over."""

    @abstractmethod
    def close(self) -> None:
        """Close the environments."""


class SeparateStage(Stage):
    """As many environments as there are episodes at a time."""

    size = TOGETHER

    def __init__(self, make: Callable[[], Any], first: Any) -> None:
        """Begin with the ``first`` environment; others are made when they are needed."""
        super().__init__(first.observation_space, first.action_space)
        self._make, self._envs = make, [first]

    def reset(self, seeds: list[int]) -> Array:
        """Begin an episode for each seed and return the first observations."""
        while len(self._envs) < len(seeds):
            self._envs.append(self._make())
        observations = [env.reset(seed=seed)[0] for env, seed in zip(self._envs, seeds, strict=False)]
        return self._rows(observations)

    def step(self, active: Any, actions: Any) -> tuple[Array, Array, Any]:
        """Act in the ``active`` episodes; return observations, rewards and whether each of them is over."""
        steps = [self._envs[i].step(action) for i, action in zip(active.tolist(), actions, strict=True)]
        observations, rewards, ended, cut, _ = zip(*steps, strict=True)
        return self._rows(observations), np.array(rewards, np.float64), np.array(ended) | np.array(cut)

    def _rows(self, observations: Any) -> Array:
        return np.array(observations, dtype=np.float64).reshape(-1, self.inputs)

    def close(self) -> None:
        """Close the environments."""
        for env in self._envs:
            env.close()


class VectorStage(Stage):
    """A ``VectorEnv``, which steps all of its environments at once."""

    def __init__(self, env: Any) -> None:
        """Use ``env`` for as many episodes at a time as it has environments."""
        super().__init__(env.single_observation_space, env.single_action_space)
        self._env, self.size = env, int(env.num_envs)

    def reset(self, seeds: list[int]) -> Array:
        """Begin an episode for each seed and return the first observations; spare environments repeat one."""
        filled = seeds + seeds[:1] * (self.size - len(seeds))
        return self._rows(self._env.reset(seed=filled)[0])[: len(seeds)]

    def step(self, active: Any, actions: Any) -> tuple[Array, Array, Any]:
        """Act in the ``active`` episodes; the others repeat the first action, and count no more."""
        every = np.repeat(np.asarray(actions)[:1], self.size, axis=0)
        every[active] = actions
        observations, rewards, ended, cut, _ = self._env.step(every)
        over = np.asarray(ended) | np.asarray(cut)
        return self._rows(observations)[active], np.asarray(rewards, np.float64)[active], over[active]

    def _rows(self, observations: Any) -> Array:
        return np.array(observations, dtype=np.float64).reshape(self.size, self.inputs)

    def close(self) -> None:
        """Close the environments."""
        self._env.close()


_open = threading.local()


def stage_of(token: str, env: str | Callable[[], Any], options: dict[str, Any]) -> Stage:
    """Return the stage of this thread for ``token``; it is made by the first call."""
    with needs("gymnasium", extra="gymnasium"):
        import gymnasium
    stages: dict[str, Stage] = _open.__dict__.setdefault("stages", {})
    if token not in stages:

        def make() -> Any:
            return gymnasium.make(env, **options) if isinstance(env, str) else env()

        first = make()
        is_vector = isinstance(first, gymnasium.vector.VectorEnv)
        if not (is_vector or isinstance(first, gymnasium.Env)):
            raise TypeError(f"env must return a gymnasium Env or VectorEnv, got {first!r}")
        while len(stages) >= KEPT:
            stages.pop(next(iter(stages))).close()
        stages[token] = VectorStage(first) if is_vector else SeparateStage(make, first)
    return stages[token]
