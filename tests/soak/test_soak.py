"""The soak itself: its runs are repeatable, some of them pass, and what is wrong does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import r1nes
from soak.attempts import soak
from soak.configurations import OF_DISK, OF_DRIVER, OF_WORKER, Configuration, configuration
from soak.promises import BrokenError

CALM: dict[str, Any] = {
    "x0": np.full(3, 0.1),
    "bounds": [(-1, 2)] * 3,
    "max_evals": 200,
    "asynchronous": False,
    "rng": 1,
}


def calm(**changes: Any) -> Configuration:
    setup = Configuration(CALM, "rosenbrock", "plain", False, "serial", "", (0.3, 0.4), 0.0)
    return replace(setup, **changes)


def test_seed_and_number_determine_a_run() -> None:
    assert str(configuration(3, 8)) == str(configuration(3, 8))
    assert str(configuration(3, 8)) != str(configuration(3, 9))
    np.testing.assert_array_equal(configuration(3, 8).options["x0"], configuration(3, 8).options["x0"])


@pytest.mark.parametrize("fault", ["", *OF_DRIVER, *OF_DISK])
def test_a_run_keeps_its_promises_whatever_strikes(fault: str, tmp_path: Path) -> None:
    times = {"": 0, "full disk": 1, "broken disk": 1}.get(fault, 2)  # a disk that fails once ends no run
    assert soak(calm(fault=fault), tmp_path) == times


@pytest.mark.parametrize("fault", [fault for fault in OF_WORKER if fault != "worker SIGSTOP"])
def test_a_run_survives_its_workers(fault: str, tmp_path: Path) -> None:
    assert soak(calm(fault=fault, evaluator="processes"), tmp_path) >= 1


def _outside(result: Any) -> None:
    result.x = np.full(3, 0.3)


def _miscounted(result: Any) -> None:
    result.nfev += 1


def _not_the_best(result: Any) -> None:
    result.fun *= 1.5


def _forgetful(result: Any) -> None:
    result.history["best"] = result.history["best"][:-1]


@pytest.mark.parametrize("change", [_outside, _miscounted, _not_the_best])
def test_a_wrong_result_is_noticed(
    change: Callable[[Any], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _change_results(change, monkeypatch)
    with pytest.raises(BrokenError):
        soak(calm(), tmp_path)


@pytest.mark.parametrize("change", [_outside, _miscounted, _not_the_best, _forgetful])
def test_a_resumed_run_that_differs_is_noticed(
    change: Callable[[Any], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _change_results(change, monkeypatch, only_with_file=True)
    with pytest.raises(BrokenError):
        soak(calm(fault="callback"), tmp_path)


def _change_results(
    change: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch, *, only_with_file: bool = False
) -> None:
    honest = r1nes.minimize

    def dishonest(fun: Any, **keywords: Any) -> Any:
        result = honest(fun, **keywords)
        if keywords["checkpoint"] is not None or not only_with_file:
            change(result)
        return result

    monkeypatch.setattr(r1nes, "minimize", dishonest)
