"""A run's progress in TensorBoard or MLflow, by a callback.

    with tensorboard("runs/first") as callback:
        r1nes.minimize(fun, x0, callback=callback)

Both draw the best value, σ, the restarts and how many values were NaN over the number of evaluations.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from scipy.optimize import OptimizeResult

from r1nes.arguments import at_least_zero
from r1nes.extras import needs

Callback = Callable[[OptimizeResult], None]
Log = Callable[[dict[str, float], int], object]  # (values by name, evaluations)


@contextmanager
def tensorboard(folder: str | os.PathLike[str], *, every: float = 1.0) -> Iterator[Callback]:
    """A callback that writes for TensorBoard.

    Args:
        folder: What ``tensorboard --logdir`` is to read.
        every: Seconds between two points of a curve; the last generation is always there.
    """
    with needs("tensorboard", extra="tensorboard"):
        from tensorboard.summary import Writer

    writer = Writer(os.fspath(folder))

    def log(values: dict[str, float], step: int) -> None:
        for name, value in values.items():
            writer.add_scalar(f"r1nes/{name}", value, step)

    try:
        with _now_and_then(log, every) as callback:
            yield callback
    finally:
        writer.close()


@contextmanager
def mlflow(*, every: float = 1.0) -> Iterator[Callback]:
    """A callback that logs to MLflow's active run, or to a new one if there is none.

    Args:
        every: Seconds between two points of a curve; the last generation is always there.
    """
    with needs("mlflow", extra="mlflow"):
        import mlflow

    def log(values: dict[str, float], step: int) -> None:
        mlflow.log_metrics({f"r1nes/{name}": value for name, value in values.items()}, step=step)

    with _now_and_then(log, every) as callback:
        yield callback


@contextmanager
def _now_and_then(log: Log, every: float) -> Iterator[Callback]:
    """A callback that logs at once, then when ``every`` seconds have passed, and at last the latest."""
    every = at_least_zero("every", every)
    due = -float("inf")
    waiting: OptimizeResult | None = None

    def callback(result: OptimizeResult) -> None:
        nonlocal due, waiting
        waiting = result
        if time.monotonic() >= due:
            log(_values(result), result.nfev)
            waiting = None
            due = time.monotonic() + every

    try:
        yield callback
    finally:
        if waiting is not None:
            log(_values(waiting), waiting.nfev)


def _values(result: OptimizeResult) -> dict[str, float]:
    return {
        "best": float(result.fun),
        "sigma": float(result.sigma),
        "restarts": float(result.restarts),
        "nan_count": float(result.nan_count),
    }
