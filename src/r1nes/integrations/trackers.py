"""Callbacks that log the progress of a run to TensorBoard or MLflow.

    with tensorboard("runs/first") as callback:
        r1nes.minimize(fun, x0, callback=callback)

Both log the best value, σ, the restarts and the number of NaN values against the number of evaluations.
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
    """Yield a callback that writes event files for TensorBoard.

    Args:
        folder: The folder for ``tensorboard --logdir``.
        every: Seconds between two points of a curve; the last generation is always logged.
    """
    with needs("tensorboard", extra="tensorboard"):
        from tensorboard.summary import Writer

    writer = Writer(os.fspath(folder))

    def log(values: dict[str, float], step: int) -> None:
        for name, value in values.items():
            writer.add_scalar(f"r1nes/{name}", value, step)

    try:
        with _throttled(log, every) as callback:
            yield callback
    finally:
        writer.close()


@contextmanager
def mlflow(*, every: float = 1.0) -> Iterator[Callback]:
    """Yield a callback that logs to MLflow's active run, or to a new run if none is active.

    Args:
        every: Seconds between two points of a curve; the last generation is always logged.
    """
    with needs("mlflow", extra="mlflow"):
        import mlflow

    def log(values: dict[str, float], step: int) -> None:
        mlflow.log_metrics({f"r1nes/{name}": value for name, value in values.items()}, step=step)

    with _throttled(log, every) as callback:
        yield callback


@contextmanager
def _throttled(log: Log, every: float) -> Iterator[Callback]:
    """Yield a callback that logs the first result, then one every ``every`` seconds, and the last."""
    every = at_least_zero("every", every)
    due = -float("inf")
    pending: OptimizeResult | None = None

    def callback(result: OptimizeResult) -> None:
        nonlocal due, pending
        pending = result
        if time.monotonic() >= due:
            log(_values(result), result.nfev)
            pending = None
            due = time.monotonic() + every

    try:
        yield callback
    finally:
        if pending is not None:
            log(_values(pending), pending.nfev)


def _values(result: OptimizeResult) -> dict[str, float]:
    return {
        "best": float(result.fun),
        "sigma": float(result.sigma),
        "restarts": float(result.restarts),
        "nan_count": float(result.nan_count),
    }
