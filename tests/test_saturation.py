"""The warning for runs that saturate, and its silence for all others."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import r1nes
from support.functions import rosenbrock


def saturating(x: Any) -> float:
    """Falls from 1 to 0 along a ray, and is flat but for 1e-6 beyond."""
    along = float(x.sum()) / 200
    return 1 - np.tanh(max(along, 0)) + 1e-6 * float(np.sin(x @ np.arange(1, len(x) + 1)))


@pytest.mark.parametrize("method", ["snes", "xnes", "r1nes"])  # RkNES limits its steps there
def test_a_run_that_saturates_warns_once(method: str) -> None:
    with pytest.warns(RuntimeWarning, match="large variables seem to saturate the objective") as caught:
        r1nes.minimize(saturating, np.zeros(6), 1.0, method=method, max_evals=6000, rng=1)
    assert len(caught) == 1


@pytest.mark.parametrize("sigma0", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("method", ["rknes", "snes"])
def test_a_run_that_converges_far_away_does_not(method: str, sigma0: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for f in (lambda x: float(np.sum((x - 500) ** 2)), lambda x: float(rosenbrock(x / 500))):
            r1nes.minimize(f, np.zeros(6), sigma0, method=method, max_evals=8000, rng=1)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("value", [math.inf, 1e308])
def test_values_beyond_the_arithmetic_do_not_warn(value: float, sign: float) -> None:
    r1nes.minimize(lambda x: value * math.copysign(1.0, sign * x[0]), [0.1, 0.2], max_evals=60, rng=1)
    r1nes.minimize(lambda _: value, [0.1, 0.2], max_evals=60, rng=1)
