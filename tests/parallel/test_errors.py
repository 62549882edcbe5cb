"""Failures of the objective have types of their own inside the package; users get their own exceptions."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import r1nes
from r1nes.arrays import Array
from r1nes.minimize import solve
from r1nes.parallel.errors import EvaluationsLost, ObjectiveError
from r1nes.result import Result
from r1nes.settings import RunSettings


def search(fun: Any, x0: Array, **keywords: Any) -> Result:
    return solve(fun, RunSettings(x0, **keywords))


class ModelError(Exception):
    pass


def raising(_: Array) -> float:
    raise ModelError("no such parameter")


def wordy(_: Array) -> str:
    return "four"


def raising_at_once(X: Array) -> Array:
    raise ModelError(f"{len(X)} rows")


def crashing(_: Array) -> float:
    os._exit(3)


@pytest.mark.parametrize(
    "options",
    [{}, {"workers": 2}, {"workers": "threads:2"}, {"workers": 2, "asynchronous": True}],
    ids=str,
)
@pytest.mark.parametrize(("fun", "error"), [(raising, ModelError), (wordy, TypeError)])
def test_only_the_package_sees_objective_errors(
    options: dict[str, Any], fun: Any, error: type[Exception]
) -> None:
    with pytest.raises(ObjectiveError, match=error.__name__) as wrapped:
        search(fun, np.ones(3), **options)
    assert type(wrapped.value.cause) is error
    with pytest.raises(error) as raised:
        r1nes.minimize(fun, np.ones(3), **options)
    assert type(raised.value) is error


def test_a_vectorized_objective_too() -> None:
    with pytest.raises(ObjectiveError):
        search(raising_at_once, np.ones(3), vectorized=True)
    with pytest.raises(ModelError, match="7 rows"):
        r1nes.minimize(raising_at_once, np.ones(3), vectorized=True, popsize=7)


def test_the_exception_is_the_very_object_and_keeps_its_context() -> None:
    original = ModelError("first")

    def fun(_: Array) -> float:
        try:
            raise KeyError("parameter")
        except KeyError:
            raise original  # noqa: B904 - without a cause

    with pytest.raises(ModelError) as raised:
        r1nes.minimize(fun, np.ones(3))
    assert raised.value is original
    assert isinstance(original.__context__, KeyError)
    assert original.__cause__ is None


@pytest.mark.parametrize("asynchronous", [False, True])
def test_lost_evaluations_have_a_type(asynchronous: bool) -> None:
    with pytest.raises(EvaluationsLost, match="were lost 4 times in a row"):
        r1nes.minimize(crashing, np.ones(3), workers=2, asynchronous=asynchronous)


def test_other_exceptions_are_left_alone() -> None:
    def callback(_: Any) -> None:
        raise ModelError("of the callback")

    with pytest.raises(ModelError, match="of the callback"):
        search(lambda x: float(x @ x), np.ones(3), callback=callback)
