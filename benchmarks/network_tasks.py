"""Networks to train: classifiers of handwritten digits, and policies for control tasks.

A task has a start, a step size and a budget. ``values(X, key)`` is what a method sees of the rows of X: the
loss on a batch, or minus the return of an episode. ``score(x)`` is what counts: the loss over all training
images, or the mean return over test episodes that training never plays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import VectorEnv

from r1nes.arrays import Array
from r1nes.integrations.gymnasium import Rollouts
from r1nes.sampling.keys import Key

BATCH, TRAINED = 64, 1400  # images
TESTED, TESTED_LAST = 20, 100  # episodes, on the way and at the end


@dataclass(frozen=True)
class Task:
    """What a method gets, and how its result is scored."""

    x0: Array
    sigma0: float
    budget: int  # evaluations
    values: Callable[[Array, Key], Array]
    score: Callable[[Array, bool], float]  # of a mean; True for the last one
    higher: bool  # whether a higher score is better


@cache
def digits_data() -> tuple[Array, Array]:
    """Return 1,400 images of 64 pixels with their labels."""
    data = import_module("sklearn.datasets").load_digits()
    order = np.random.default_rng(0).permutation(len(data.target))[:TRAINED]
    return data.data[order] / 16, data.target[order]


def losses(units: list[int], X: Array, rows: Any) -> Array:
    """Return the cross-entropy of the network with each row of weights on its ``rows`` of the images."""
    images, labels = digits_data()
    losses = np.empty(len(X))
    for i, x in enumerate(X):
        batch = rows[i] if rows.ndim == 2 else rows
        signal, stop = images[batch], 0
        for a, b in pairwise(units):
            start, stop = stop, stop + (a + 1) * b
            W = x[start:stop].reshape(a + 1, b)  # the last row is the bias
            signal = (np.tanh(signal) if start else signal) @ W[:-1] + W[-1]
        signal -= signal.max(1, keepdims=True)
        chosen = signal[np.arange(len(batch)), labels[batch]]
        losses[i] = (np.log(np.exp(signal).sum(1)) - chosen).mean()
    return losses


def digits(seed: int, units: list[int], sigma0: float, budget: int, *, each: bool = False) -> Task:
    """Return a classifier; a generation shares a batch, or ``each`` evaluation draws one of its own."""
    rng = np.random.default_rng([seed, 2])
    x0 = np.concatenate(
        [rng.standard_normal((a + 1) * b) * min(0.1, 1 / math.sqrt(a)) for a, b in pairwise(units)]
    )

    def values(X: Array, key: Key) -> Array:
        drawn = rng if each else np.random.default_rng(key.seed)
        rows = drawn.integers(TRAINED, size=(len(X), BATCH) if each else BATCH)
        return losses(units, X, rows)

    def score(x: Array, _: bool) -> float:
        return float(losses(units, x[None], np.arange(TRAINED))[0])

    return Task(x0, sigma0, budget, values, score, higher=False)


def control(_: int, env: Any, budget: int, **options: Any) -> Task:
    """Return a policy with 16 hidden units; weights are not bounded."""
    rollouts = Rollouts(env, hidden=(16,), **options)

    def score(x: Array, last: bool) -> float:
        return float(rollouts.returns(x, range(TESTED_LAST if last else TESTED)).mean())

    return Task(rollouts.x0, 1.0, budget, rollouts, score, higher=True)


class Swing(VectorEnv[Any, Any, Any]):
    """Physics of many episodes at once; every episode lasts as long as the others."""

    inputs: int
    length: int
    highest: float  # action

    def __init__(self, num_envs: int = 64) -> None:
        """Prepare ``num_envs`` episodes."""
        self.num_envs, self.age = num_envs, 0
        self.single_observation_space = Box(-np.inf, np.inf, (self.inputs,), np.float64)
        self.single_action_space = Box(-self.highest, self.highest, (1,), np.float64)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Array, dict[str, Any]]:  # noqa: ARG002
        """Begin episodes that follow from their seeds."""
        self.state, self.age = np.array([self.start(np.random.default_rng(each)) for each in seed]), 0
        return self.observed(), {}

    def step(self, actions: Any) -> tuple[Array, Array, Any, Any, dict[str, Any]]:
        """Take one step in all episodes."""
        reward = self.move(np.clip(actions[:, 0], -self.highest, self.highest))
        self.age += 1
        over = np.full(self.num_envs, self.age == self.length)
        return self.observed(), reward, np.zeros_like(over), over, {}

    def start(self, rng: np.random.Generator) -> Array:
        """Return a first state."""
        raise NotImplementedError

    def move(self, forces: Array) -> Array:
        """Change the states and return the rewards."""
        raise NotImplementedError

    def observed(self) -> Array:
        """Return the observations."""
        raise NotImplementedError


class CartPole(Swing):
    """Swing a pole up and balance it on a cart that stops at the ends of its track.

    Gymnasium's CartPole with a force from −10 to 10 and a pole that hangs at first. The reward is the height
    of the pole's tip, from 0 to 1, for 10 seconds.
    """

    inputs, length, highest = 5, 500, 10.0

    def start(self, rng: np.random.Generator) -> Array:
        """Return place, speed, angle and angular speed."""
        return rng.uniform(-0.1, 0.1, 4) + np.array([0, 0, np.pi, 0])

    def move(self, forces: Array) -> Array:
        """Push for 0.02 seconds; the masses are 1 and 0.1, half of the pole is 0.5 long."""
        place, speed, angle, turn = self.state.T
        sin, cos = np.sin(angle), np.cos(angle)
        pushed = (forces + 0.05 * turn**2 * sin) / 1.1
        turned = (9.8 * sin - cos * pushed) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
        speed, turn = speed + 0.02 * (pushed - 0.05 * turned * cos / 1.1), turn + 0.02 * turned
        place, angle = place + 0.02 * speed, angle + 0.02 * turn
        speed = np.where(abs(place) < 2.4, speed, 0.0)
        self.state = np.stack([np.clip(place, -2.4, 2.4), speed, angle, turn], axis=1)
        return 0.5 + 0.5 * np.cos(angle)

    def observed(self) -> Array:
        """Return place, speed, the direction of the pole and its angular speed."""
        place, speed, angle, turn = self.state.T
        return np.stack([place, speed, np.cos(angle), np.sin(angle), turn / 5], axis=1)


class Pendulum(Swing):
    """Gymnasium's Pendulum-v1, number for number but for float32."""

    inputs, length, highest = 3, 200, 2.0

    def start(self, rng: np.random.Generator) -> Array:
        """Return angle and angular speed, as Pendulum-v1 draws them."""
        return rng.uniform([-np.pi, -1], [np.pi, 1])

    def move(self, forces: Array) -> Array:
        """Turn for 0.05 seconds."""
        angle, turn = self.state.T
        off = (angle + np.pi) % (2 * np.pi) - np.pi
        cost = off**2 + 0.1 * turn**2 + 0.001 * forces**2
        turn = np.clip(turn + (15 * np.sin(angle) + 3 * forces) * 0.05, -8, 8)
        self.state = np.stack([angle + turn * 0.05, turn], axis=1)
        return -cost

    def observed(self) -> Array:
        """Return the direction and the angular speed."""
        angle, turn = self.state.T
        return np.stack([np.cos(angle), np.sin(angle), turn], axis=1)


SMALL, LARGE = [64, 32, 10], [64, 280, 280, 10]  # units: 2,410 and 99,690 weights
TASKS: dict[str, Callable[[int], Task]] = {
    "digits, batch per generation": partial(digits, units=SMALL, sigma0=0.1, budget=20_000),
    "digits, batch per evaluation": partial(digits, units=SMALL, sigma0=0.1, budget=20_000, each=True),
    "digits, 99,690 weights": partial(digits, units=LARGE, sigma0=0.05, budget=5_000),
    "cart-pole swing-up": partial(control, env=CartPole, budget=5_000, episodes=2),
    "pendulum": partial(control, env=Pendulum, budget=5_000, episodes=2),
    "LunarLander-v3": partial(control, env="LunarLander-v3", budget=2_000, continuous=True),
}
