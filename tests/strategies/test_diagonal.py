"""SNES against the normal density, coordinate by coordinate."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from r1nes.strategies.diagonal import SNES
from support import oracles


@pytest.mark.parametrize("d", [1, 2, 3, 8, 33])
def test_one_step_equals_the_oracle(d: int) -> None:
    rng = np.random.default_rng(d)
    strategy = SNES().start(rng.standard_normal(d), 1.0, rng)
    strategy = replace(strategy, scales=np.exp(rng.standard_normal(d)))
    for zero_sum in (True, False):
        noise = rng.standard_normal((11, d))
        w = rng.permutation(oracles.log_utilities(11, zero_sum=zero_sum))
        mean, sigmas = oracles.separable_step(
            strategy.mean,
            strategy.scales,
            strategy.sample(noise),
            w,
            rate_mean=strategy.rate_mean,
            rate_sigma=strategy.rate_sigma,
        )
        updated = strategy.update(noise, w)
        np.testing.assert_allclose(updated.mean, mean, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(updated.scales, sigmas, rtol=1e-12)


def test_defaults_are_the_papers() -> None:
    strategy = SNES().start(np.zeros(32), 1.0, np.random.default_rng(0))
    assert strategy.rate_sigma == pytest.approx((3 + math.log(32)) / (5 * math.sqrt(32)))
    assert [SNES().default_popsize(d) for d in (1, 2, 32, 512)] == [4, 6, 14, 22]
    np.testing.assert_allclose(
        SNES().default_utilities(14, 32), oracles.log_utilities(14, zero_sum=True), atol=1e-15
    )
