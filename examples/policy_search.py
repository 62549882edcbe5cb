"""Policy search: train a small network to act in a Gymnasium environment, without gradients.

    pip install 'r1nes[plot]' 'gymnasium[box2d]'
    python examples/policy_search.py --tasks cartpole,pendulum,lander --methods rknes,snes --seeds 3

A point is the vector of all weights; its value is minus the mean return of one or two episodes. All points
of a generation face the same episodes and so compete on equal terms. Each generation gets new episodes, so
that policies do not overfit to a few. The trained policy is the mean of the distribution, and the learning
curve shows its return on episodes not used in training. ``--workers 4`` simulates in four processes, with
the same result. Repeating the same command resumes runs that were killed.

``--methods pgpe`` adds a public baseline, EvoTorch's PGPE with ClipUp (``pip install evotorch``), with the
population and initial standard deviation of the other methods. Its maximum speed per step is 1/15 of the
initial radius; we chose that value and did not tune it.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import product, repeat
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

import r1nes

Array = NDArray[np.float64]
LARGEST = 5.0  # bound on the weights, without which they can grow until every unit is saturated
UNSEEN = 2**31  # the first seed of the test episodes, which training never uses


@dataclass(frozen=True)
class Task:
    """An environment and its training budget."""

    env: str
    hidden: int  # units of the policy's only hidden layer
    episodes: int  # training budget
    per_point: int  # episodes per evaluation
    sigma0: float
    continuous: bool | None = None  # for environments with both discrete and continuous actions
    popsize: int = 20


TASKS = {
    "cartpole": Task("CartPole-v1", hidden=16, episodes=600, per_point=1, sigma0=0.5),
    "pendulum": Task("Pendulum-v1", hidden=16, episodes=6_000, per_point=2, sigma0=1.0),
    "lander": Task("LunarLander-v3", hidden=16, episodes=4_200, per_point=1, sigma0=0.5, continuous=True),
}
LABELS = {"rknes": "RkNES", "snes": "SNES", "r1nes": "R1-NES", "xnes": "xNES", "pgpe": "PGPE (EvoTorch)"}
COLOURS = ("C0", "C1", "C2", "C3", "C4")


@cache  # one per process
def environment(task: Task) -> gymnasium.Env[Any, Any]:
    """The environment of a task."""
    options = {} if task.continuous is None else {"continuous": task.continuous}
    return gymnasium.make(task.env, disable_env_checker=True, **options)


def shapes(task: Task) -> list[tuple[int, int]]:
    """The shapes of the two weight matrices; the last row of each is the bias."""
    env = environment(task)
    outputs = getattr(env.action_space, "n", None) or env.action_space.shape[0]
    return [(env.observation_space.shape[0] + 1, task.hidden), (task.hidden + 1, int(outputs))]


def episode(task: Task, weights: Array, seed: int) -> float:
    """The return of one episode: the sum of its rewards."""
    env = environment(task)
    first, second = shapes(task)
    A, B = weights[: first[0] * first[1]].reshape(first), weights[first[0] * first[1] :].reshape(second)
    discrete = not env.action_space.shape
    low, high = (None, None) if discrete else (env.action_space.low, env.action_space.high)
    observation, _ = env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        output = np.tanh(observation @ A[:-1] + A[-1]) @ B[:-1] + B[-1]
        action = int(output.argmax()) if discrete else low + (high - low) * (0.5 + 0.5 * np.tanh(output))
        observation, reward, terminated, truncated, _ = env.step(action)
        total += float(reward)
        over = terminated or truncated
    return total


def loss(task: Task, weights: Array, seeds: range) -> float:
    """Minus the mean return over the episodes of these seeds."""
    return -float(np.mean([episode(task, weights, seed) for seed in seeds]))


class Curve:
    """The learning curve of a run: (training episodes, mean return on 50 test episodes)."""

    def __init__(self, task: Task, path: Path) -> None:
        """Append to the curve in the file ``path``."""
        self.task, self.path = task, path
        generations = task.episodes // (task.popsize * task.per_point)
        self.every = max(1, generations // 15)

    def add(self, weights: Array, generation: int, pool: Executor) -> None:
        """Test the weights and record a point, about fifteen times per run at equal intervals."""
        if generation % self.every:
            return
        unseen = [range(UNSEEN + i, UNSEEN + i + 10) for i in range(0, 50, 10)]
        losses = list(pool.map(loss, repeat(self.task), repeat(weights), unseen))
        point = (generation * self.task.popsize * self.task.per_point, round(-float(np.mean(losses)), 2))
        with self.path.open("a") as file:
            file.write(json.dumps(point) + "\n")
        print(f"{self.path.stem}: {point[1]:.0f} after {point[0]:,} episodes", flush=True)

    def points(self) -> Array:
        """The points recorded so far, one per row."""
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        return np.array(sorted({tuple(json.loads(line)) for line in lines})).reshape(-1, 2)


def train(task: Task, method: str, seed: int, curve: Curve, pool: Executor) -> None:
    """Train with a method of r1nes."""
    checkpoint = curve.path.with_suffix(".r1nes")
    d = sum(rows * columns for rows, columns in shapes(task))
    if checkpoint.exists():
        optimizer = r1nes.Optimizer.load(checkpoint)
    else:
        optimizer = r1nes.Optimizer(
            np.zeros(d),
            task.sigma0,
            method=method,
            popsize=task.popsize,
            bounds=[(-LARGEST, LARGEST)] * d,
            rng=seed,
        )
    while optimizer.nfev * task.per_point < task.episodes:
        X = optimizer.ask()
        seeds = episodes_of(task, seed, optimizer.generation)
        optimizer.tell(X, list(pool.map(loss, repeat(task), X, repeat(seeds))))
        curve.add(optimizer.mean, optimizer.generation, pool)
        if optimizer.generation % curve.every == 0:
            optimizer.save(checkpoint)


def train_with_pgpe(task: Task, seed: int, curve: Curve, pool: Executor) -> None:
    """Train with the baseline, which has no checkpoints and so starts over."""
    import evotorch
    import torch
    from evotorch.algorithms import PGPE

    curve.path.unlink(missing_ok=True)
    d = sum(rows * columns for rows, columns in shapes(task))
    generation = 0

    def losses(X: torch.Tensor) -> torch.Tensor:
        points = X.numpy().astype(np.float64)
        return torch.tensor(
            list(pool.map(loss, repeat(task), points, repeat(episodes_of(task, seed, generation))))
        )

    problem = evotorch.Problem(
        "min", losses, solution_length=d, initial_bounds=(0, 0), vectorized=True, seed=seed
    )
    speed = task.sigma0 * np.sqrt(d) / 15
    searcher = PGPE(
        problem,
        popsize=task.popsize,
        center_learning_rate=speed / 2,
        stdev_learning_rate=0.1,
        stdev_init=task.sigma0,
        center_init=torch.zeros(d),
        optimizer_config={"max_speed": speed},
    )
    while generation * task.popsize * task.per_point < task.episodes:
        searcher.step()
        generation += 1
        curve.add(searcher.status["center"].numpy().astype(np.float64), generation, pool)


def episodes_of(task: Task, seed: int, generation: int) -> range:
    """The seeds of a generation's training episodes."""
    first = (10_000 * seed + generation) * task.per_point
    return range(first, first + task.per_point)


def draw(out: Path, tasks: list[str], methods: list[str]) -> None:
    """Draw the curve of each seed and the medians in ``out/policy_search.png``."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1, len(tasks), figsize=(4 * len(tasks), 3.2), squeeze=False, layout="constrained"
    )
    for axis, name in zip(axes[0], tasks, strict=True):
        for colour, method in zip(COLOURS, methods, strict=False):
            curves = [
                Curve(TASKS[name], path).points() for path in sorted(out.glob(f"{name}-{method}-*.jsonl"))
            ]
            whole = [c for c in curves if len(c) and c[-1, 0] >= TASKS[name].episodes]
            for points in whole:
                axis.plot(*points.T, color=colour, linewidth=0.6, alpha=0.5)
            if whole:
                median = np.median([points[:, 1] for points in whole], axis=0)
                axis.plot(whole[0][:, 0], median, color=colour, linewidth=2, label=LABELS[method])
        axis.set(title=TASKS[name].env + ", continuous" * bool(TASKS[name].continuous), xlabel="episodes")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("return on unseen episodes")
    axes[0, 0].legend(frameon=False)
    figure.savefig(out / "policy_search.png", dpi=150)


def main() -> None:
    """Train the requested runs that are not yet recorded, then draw all of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", default="cartpole", help=f"comma-separated, from {', '.join(TASKS)}")
    parser.add_argument("--methods", default="rknes", help=f"comma-separated, from {', '.join(LABELS)}")
    parser.add_argument("--seeds", type=int, default=1, help="number of seeds, counted from 1")
    parser.add_argument("--workers", type=int, default=1, help="number of processes")
    parser.add_argument("--out", type=Path, default=Path("policy_search"))
    options = parser.parse_args()
    tasks, methods = options.tasks.split(","), options.methods.split(",")
    for name, given, known in (("--tasks", tasks, TASKS), ("--methods", methods, LABELS)):
        if not set(given) <= set(known):
            parser.error(f"{name} must be from {', '.join(known)}; got {','.join(given)}")
    options.out.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(options.workers) as pool:
        for name, method, seed in product(tasks, methods, range(1, options.seeds + 1)):
            task = TASKS[name]
            curve = Curve(task, options.out / f"{name}-{method}-{seed}.jsonl")
            points = curve.points()
            if len(points) and points[-1, 0] >= task.episodes:
                continue
            if method == "pgpe":
                train_with_pgpe(task, seed, curve, pool)
            else:
                train(task, method, seed, curve, pool)
    draw(options.out, tasks, methods)


if __name__ == "__main__":
    main()
