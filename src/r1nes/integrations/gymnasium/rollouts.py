"""Policy search: train the weights of a small network to act in a Gymnasium environment.

    rollouts = Rollouts("Pendulum-v1", hidden=(16,), episodes=2)
    result = rollouts.minimize(max_evals=2_000, rng=1)
    print(rollouts.returns(result.mean, seeds=range(50)).mean())

A point is the vector of all weights; its value is minus the mean return of its episodes. All points of a
generation play the same episodes, and each generation plays new ones.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import ExitStack
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np

from r1nes.arguments import count
from r1nes.arrays import Array
from r1nes.integrations.gymnasium.stage import Stage, stage_of
from r1nes.integrations.gymnasium.statistics import Statistics, Sums
from r1nes.minimize import minimize
from r1nes.result import Result
from r1nes.sampling.keys import Key

Play = tuple[Array, list[Statistics]]  # a number per row, and statistics of the observations if they matter


class Rollouts:
    """An environment and a network that acts in it, as a function to minimise.

    Values depend on the weights and the seeds of the episodes alone, and the object can be pickled, so points
    can be evaluated anywhere.

    Args:
        env: The name of an environment, or a function that returns an ``Env`` or a ``VectorEnv``. The
            ``reset`` of a ``VectorEnv`` must accept a list of seeds.
        hidden: The units of each hidden layer; ``()`` makes the policy linear.
        episodes: Episodes per evaluation.
        normalize: Whether observations are normalised by the statistics of all earlier generations.
            ``Rollouts.minimize`` collects these.
        **options: Further arguments of ``gymnasium.make``, if ``env`` is a name.

    Attributes:
        x0: The point to start from: all weights are 0.
        statistics: The statistics of the observations, if these are normalised.

    A layer divides its inputs by the root of their number, so that σ₀ = 1 suits every layer. Hidden units are
    tanh. A tanh also maps outputs to the range of a bounded action; the largest output chooses a discrete
    action.
    """

    def __init__(
        self,
        env: str | Callable[[], Any],
        hidden: Sequence[int] = (16,),
        *,
        episodes: int = 1,
        normalize: bool = False,
        **options: Any,
    ) -> None:
        """Make the environment, to see its observations and actions."""
        if not (isinstance(env, str) or callable(env)):
            raise TypeError(f"env must be a name or a function that returns an environment, got {env!r}")
        if options and not isinstance(env, str):
            raise TypeError(f"{', '.join(options)} need the name of an environment as env, got {env!r}")
        self.env, self.options, self.normalize = env, options, normalize
        self.episodes = count("episodes", episodes)
        self._token = uuid.uuid4().hex
        stage = self._stage()
        units = [count("hidden", units) for units in hidden]
        self.layers = list(pairwise([stage.inputs, *units, stage.outputs]))
        self.x0 = np.zeros(sum((a + 1) * b for a, b in self.layers))
        self.statistics = Statistics.empty(stage.inputs)

    def _stage(self) -> Stage:
        return stage_of(self._token, self.env, self.options)

    def __call__(self, x: Array, key: Key | None = None) -> Any:
        """Return minus the mean return of the point ``x``, or of each row of an (n, d) array.

        The ``key`` of a generation determines its episodes; without one they are always the same.
        """
        X = np.asarray(x)
        values, _ = self.evaluate(np.atleast_2d(X), key)
        return values if X.ndim == 2 else float(values[0])

    def returns(self, x: Array, seeds: Iterable[int]) -> Array:
        """Return the sum of the rewards of an episode per seed, with the weights ``x``."""
        seeds = [int(seed) for seed in seeds]
        return self._play(np.broadcast_to(x, (len(seeds), len(x))), seeds)[0]

    def act(self, x: Array, observation: Any) -> Any:
        """Return the action that the policy with the weights ``x`` takes after an ``observation``."""
        row = np.array(observation, dtype=np.float64).reshape(1, -1)
        return self._stage().actions(self._outputs(np.asarray(x)[None], row))[0]

    def minimize(self, sigma0: Any = 1.0, *, workers: Any = 1, **settings: Any) -> Result:
        """Train with ``r1nes.minimize``, from ``x0`` on; use ``result.mean``, because returns are noisy.

        Args:
            sigma0: The standard deviation of the first weights.
            workers: As for ``r1nes.minimize``; with ``normalize``, a number of processes or an Executor.
            **settings: Any other keyword of ``r1nes.minimize`` but ``x0``, ``keyed`` and ``vectorized``.
        """
        for name in ("x0", "keyed", "vectorized"):
            if name in settings:
                raise TypeError(f"{name} is not a setting of Rollouts.minimize, which sets it itself")
        settings |= {"x0": self.x0, "sigma0": sigma0, "keyed": True}
        if not self.normalize:
            return minimize(self, workers=workers, vectorized=_is_one(workers), **settings)
        with ExitStack() as stack:
            if not (_is_one(workers) or isinstance(workers, Executor)):
                workers = stack.enter_context(ProcessPoolExecutor(count("workers", workers)))
            return minimize(_Normalizing(self, workers), vectorized=True, **settings)

    def evaluate(self, X: Array, key: Key | None) -> Play:
        """Return the value of each row of X, and statistics of the observations of each if they matter."""
        n, m = len(X), self.episodes
        words = np.random.SeedSequence(0 if key is None else key.seed).generate_state(m)
        totals, seen = self._play(np.repeat(X, m, axis=0), [int(word) for word in words] * n)
        merged = [reduce(Statistics.merged, seen[i : i + m]) for i in range(0, len(seen), m)]
        return -totals.reshape(n, m).mean(axis=1), merged

    def _play(self, X: Array, seeds: list[int]) -> Play:
        """Return the return of each row of X in the episode of its seed."""
        stage = self._stage()
        totals: list[Array] = []
        seen: list[Statistics] = []
        for start in range(0, len(X), stage.size):
            rows = slice(start, start + stage.size)
            total, statistics = self._play_together(stage, X[rows], seeds[rows])
            totals.append(total)
            seen += statistics
        return np.concatenate(totals), seen

    def _play_together(self, stage: Stage, X: Array, seeds: list[int]) -> Play:
        """Play the episodes in step, until all are over."""
        totals, active = np.zeros(len(X)), np.arange(len(X))
        sums = Sums(len(X), self.statistics.mean)
        observations = stage.reset(seeds)
        while active.size:
            if self.normalize:
                sums.add(active, observations)
            actions = stage.actions(self._outputs(X[active], observations))
            observations, rewards, over = stage.step(active, actions)
            totals[active] += rewards
            active, observations = active[~over], observations[~over]
        return totals, sums.statistics() if self.normalize else []

    def _outputs(self, X: Array, observations: Array) -> Array:
        """Return the outputs of the network with each row of weights for its observation."""
        signal, stop = self.statistics.normalized(observations), 0
        for i, (a, b) in enumerate(self.layers):
            start, stop = stop, stop + (a + 1) * b
            W = X[:, start:stop].reshape(-1, a + 1, b)  # the last row is the bias
            signal = np.tanh(signal) if i else signal
            signal = (signal[:, None] @ W[:, :-1])[:, 0] / math.sqrt(a) + W[:, -1]
        return signal


class _Normalizing:
    """The rollouts as a vectorised function whose observations are normalised, and which counts them.

    A generation is normalised by the statistics of all generations before it. Those of its own episodes wait
    until another generation begins, so that a generation that is evaluated again gives the same values.
    """

    def __init__(self, rollouts: Rollouts, workers: Any) -> None:
        rollouts.statistics = Statistics.empty(rollouts.layers[0][0])
        self.rollouts, self.workers = rollouts, workers
        self._waiting, self._key = rollouts.statistics, Key(0, 0)

    def __call__(self, X: Array, key: Key) -> Array:
        if key != self._key:
            self.rollouts.statistics = self.rollouts.statistics.merged(self._waiting)
        parts = self._parts(X, key)
        seen = [each for _, statistics in parts for each in statistics]
        self._waiting, self._key = reduce(Statistics.merged, seen), key
        return np.concatenate([values for values, _ in parts])

    def _parts(self, X: Array, key: Key) -> list[Play]:
        if not isinstance(self.workers, Executor):
            return [self.rollouts.evaluate(X, key)]
        tasks = np.array_split(X, min(len(X), getattr(self.workers, "_max_workers", len(X))))
        return list(self.workers.map(self.rollouts.evaluate, tasks, [key] * len(tasks)))

    def get_state(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        return {
            "statistics": tuple(self.rollouts.statistics),
            "waiting": tuple(self._waiting),
            "key": tuple(self._key),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore what ``get_state`` returned."""
        self.rollouts.statistics = Statistics(*state["statistics"])
        self._waiting, self._key = Statistics(*state["waiting"]), Key(*state["key"])


def _is_one(workers: Any) -> bool:
    return isinstance(workers, int) and workers == 1
