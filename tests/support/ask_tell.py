"""Runs by ask and tell that record what was asked and where the mean went."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from r1nes import Optimizer
from r1nes.arrays import Array
from support.functions import rosenbrock


class Run(NamedTuple):
    points: Array  # of shape (generations, n, d)
    means: Array  # after each generation, of shape (generations, d)


def run(optimizer: Optimizer, generations: int, fun: Callable[[Array], Any] = rosenbrock) -> Run:
    """Run ``generations`` generations of ``optimizer`` on ``fun``."""
    points, means = [], []
    for _ in range(generations):
        X = optimizer.ask()
        points.append(X.copy())
        optimizer.tell(X, fun(X))
        means.append(optimizer.strategy.mean)
    return Run(np.array(points), np.array(means))
