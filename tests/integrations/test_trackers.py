"""Curves as TensorBoard and MLflow read them back."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import r1nes
from r1nes.integrations.trackers import mlflow, tensorboard

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # in the code of the trackers
    mlflow_package: Any = importlib.import_module("mlflow")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

NAMES = ("best", "sigma", "restarts", "nan_count")


def run(callback: Any, max_evals: int = 400) -> Any:
    return r1nes.minimize(lambda x: float(x @ x), np.ones(4), max_evals=max_evals, rng=1, callback=callback)


def drawn(folder: Path) -> dict[str, list[tuple[int, float]]]:
    events = EventAccumulator(str(folder), size_guidance={"tensors": 0})  # all of them
    events.Reload()
    read = {name: events.Tensors(f"r1nes/{name}") for name in NAMES}
    return {
        name: [(event.step, float(event.tensor_proto.float_val[0])) for event in curve]
        for name, curve in read.items()
    }


def test_tensorboard_gets_every_generation(tmp_path: Path) -> None:
    with tensorboard(tmp_path, every=0) as callback:
        result = run(callback)
    curves = drawn(tmp_path)
    history = result.history
    assert [step for step, _ in curves["best"]] == history["nfev"].tolist()
    np.testing.assert_allclose([value for _, value in curves["best"]], history["best"], rtol=1e-6)
    np.testing.assert_allclose([value for _, value in curves["sigma"]], history["sigma"], rtol=1e-6)


def test_the_last_generation_is_always_logged(tmp_path: Path) -> None:
    with tensorboard(tmp_path, every=1000) as callback:
        result = run(callback)
    assert [step for step, _ in drawn(tmp_path)["best"]] == [result.history["nfev"][0], result.nfev]


def test_a_failed_run_keeps_its_curve(tmp_path: Path) -> None:
    def fails_later(x: Any) -> float:
        calls.append(x)
        if len(calls) == 100:
            raise RuntimeError("out of order")
        return float(x @ x)

    calls: list[Any] = []
    with pytest.raises(RuntimeError, match="out of order"), tensorboard(tmp_path, every=1000) as callback:
        r1nes.minimize(fails_later, np.ones(4), callback=callback, rng=1)
    assert [step for step, _ in drawn(tmp_path)["best"]] == [8, 96]


@pytest.fixture
def tracking(tmp_path: Path) -> Iterator[None]:
    before = mlflow_package.get_tracking_uri()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mlflow_package.set_tracking_uri(f"sqlite:///{tmp_path / 'runs.db'}")
        yield
        mlflow_package.set_tracking_uri(before)


@pytest.mark.usefixtures("tracking")
def test_mlflow_gets_every_generation() -> None:
    with mlflow_package.start_run() as active, mlflow(every=0) as callback:
        result = run(callback, max_evals=48)
    history = result.history
    for name, column in {"best": "best", "sigma": "sigma"}.items():
        curve = mlflow_package.MlflowClient().get_metric_history(active.info.run_id, f"r1nes/{name}")
        assert [point.step for point in curve] == history["nfev"].tolist()
        np.testing.assert_allclose([point.value for point in curve], history[column])


def test_a_wrong_interval_is_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match="every must be finite and not below 0"),
        tensorboard(tmp_path, every=-1),
    ):
        pass
