"""The dense xNES takes the same steps, and exponents are fitted correctly."""

from __future__ import annotations

import numpy as np
import pytest

from r1nes.bench.paper import timing


def test_the_dense_xnes_takes_the_same_steps() -> None:
    ours, dense = timing._ours("xnes", 9), timing._dense(9)
    assert isinstance(dense.strategy, timing.DenseGaussian)
    for _ in range(20):
        for optimizer in (ours, dense):
            X = optimizer.ask()
            optimizer.tell(X, (X**4).sum(axis=1))
    assert isinstance(dense.strategy, timing.DenseGaussian)
    np.testing.assert_allclose(dense.strategy.mean, ours.strategy.mean, rtol=1e-10)
    np.testing.assert_allclose(dense.strategy.cov(), ours.strategy.cov(), rtol=1e-10)


def test_exponents_are_fitted_from_the_given_dimension_on() -> None:
    costs = {2: 100.0, 4: 1.0, 8: 8.0, 16: 64.0, 32: 1.0}  # per generation
    timings: list[timing.Timing] = [
        {"method": "snes", "dim": d, "microseconds": c / timing.popsize_of("snes", d)}
        for d, c in costs.items()
    ]
    assert timing.exponent(timings, "snes", 4, last=16) == pytest.approx(3)
    assert np.isnan(timing.exponent(timings, "snes", 32))


def test_each_method_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    small = {method: (make, [2, 8]) for method, (make, _) in timing.TIMED_METHODS.items()}
    monkeypatch.setattr(timing, "TIMED_METHODS", small)
    timings = timing.measure(repeats=1)
    assert [(t["method"], t["dim"]) for t in timings] == [(m, d) for m in small for d in (2, 8)]
    assert all(float(t["microseconds"]) > 0 for t in timings)
