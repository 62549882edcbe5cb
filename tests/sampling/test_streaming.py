"""Streams of points: the same run as whole generations, one point in memory at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from r1nes import Optimizer
from r1nes.strategies import STRATEGIES
from support.functions import rosenbrock

METHODS = sorted(STRATEGIES)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("bounds", "settings"), [(None, {}), ([(-1.5, 2.5)] * 6, {}), (None, {"popsize": 5})]
)
def test_a_stream_gives_the_same_run(method: str, bounds: Any, settings: dict[str, Any]) -> None:
    x0 = np.linspace(-1, 2, 6)
    close = 1e-7 if method == "rknes" else 1e-10  # rknes magnifies rounding
    whole, streamed = (Optimizer(x0, 0.5, method=method, bounds=bounds, rng=1, **settings) for _ in range(2))
    for _ in range(60):
        X = whole.ask()
        whole.tell(X, rosenbrock(X))
        stream = streamed.ask(streaming=True)
        points = [x.copy() for x in stream]
        assert len(points) == len(stream) == streamed.popsize
        np.testing.assert_allclose(sorted(map(tuple, points)), sorted(map(tuple, X)), rtol=close, atol=close)
        streamed.tell(stream, [rosenbrock(x) for x in stream])
        np.testing.assert_allclose(streamed.strategy.mean, whole.strategy.mean, rtol=close, atol=close)
        assert streamed.best == pytest.approx(rosenbrock(streamed.result.x), rel=1e-12)
    assert streamed.best == pytest.approx(whole.best, rel=10 * close)


def test_tell_accepts_only_the_last_stream() -> None:
    optimizer = Optimizer(np.zeros(4), 0.5, rng=1)
    first, last = optimizer.ask(streaming=True), optimizer.ask(streaming=True)
    values = np.arange(len(last))
    for wrong in (first, [x.copy() for x in last]):
        with pytest.raises(ValueError, match="X must be the return value of the last ask"):
            optimizer.tell(wrong, values)
    optimizer.tell(last, values)
    assert optimizer.generation == 1


def test_a_whole_generation_may_be_asked_for_after_a_stream() -> None:
    optimizer, other = (Optimizer(np.zeros(4), 0.5, rng=1) for _ in range(2))
    optimizer.ask(streaming=True)
    np.testing.assert_array_equal(optimizer.ask(), other.ask())
