"""Noise that the device of the points draws itself: reproducible, standard normal, orthogonal."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("array_api_compat")
pytest.importorskip("torch")
pytest.importorskip("jax")

from r1nes import Optimizer
from r1nes.sampling.on_device import DeviceDirections
from r1nes.sampling.orthogonal import OrthogonalDirections
from support.libraries import (
    START,
    ellipsoid,
    every_method,
    every_other,
    every_width,
    maker,
    plain,
    run,
    started,
)

pytestmark = pytest.mark.arrays


@every_method
@every_other
@every_width
def test_the_seed_determines_it(method: str, library: str, width: str) -> None:
    settings = {"method": method, "sampling": "device"}
    first, second = started(library, width, **settings), started(library, width, **settings)
    other = started(library, width, rng=2, **settings)
    np.testing.assert_array_equal(run(first, 5), run(second, 5))
    assert not np.array_equal(run(first, 1), run(other, 1))


@every_other
@pytest.mark.parametrize("method", ["r1nes", "snes", "xnes"])
def test_it_is_standard_normal(method: str, library: str) -> None:
    optimizer = Optimizer(
        maker(library)(np.zeros(50)), 0.5, method=method, popsize=200, sampling="device", rng=1
    )
    rows = plain(optimizer._points.noise.rows(1, 0, 200))
    assert abs(rows.mean()) < 0.05
    assert abs(rows.std() - 1) < 0.05
    correlations = np.asarray(np.corrcoef(rows))[np.triu_indices(200, 1)]
    assert abs(correlations).max() < 0.8
    np.testing.assert_array_equal(plain(optimizer._points.noise.rows(1, 77, 79)), rows[77:79])


@every_other
@pytest.mark.parametrize(
    ("d", "popsize", "width"),
    [
        (2, 30, "float64"),
        (5, 6, "float32"),
        (9, 12, "float64"),
        (20, 13, "float64"),
        (64, 10, "float32"),
        (200, 12, "float64"),
        (201, 12, "float32"),
    ],
)
def test_directions_are_orthogonal(library: str, width: str, d: int, popsize: int) -> None:
    optimizer = Optimizer(maker(library)(np.zeros(d), width), 0.5, popsize=popsize, sampling="device", rng=1)
    host = Optimizer(np.zeros(d), 0.5, popsize=popsize, rng=1)
    drawn, sent = optimizer._points.noise, host._points.noise
    assert isinstance(drawn, DeviceDirections)
    assert isinstance(sent, OrthogonalDirections)
    pairs = drawn.pairs
    assert pairs == sent.pairs
    fresh = popsize - pairs
    generations = 2 * d // fresh + 2
    rows = np.concatenate(
        [plain(optimizer._points.noise.rows(g + 1, 0, popsize)) for g in range(generations)]
    )
    np.testing.assert_array_equal(rows[fresh:popsize], -rows[:pairs])
    rows = rows.reshape(generations, popsize, d)[:, :fresh].reshape(-1, d)
    block = rows[:d].astype(np.float64)
    gram = block @ block.T
    close = 1e-9 if width == "float64" else 1e-3
    off = gram - np.diag(np.diag(gram))
    assert abs(off).max() < close * d
    if pairs > d:
        lengths = (rows * rows).sum(axis=1)
        assert lengths.std() > 0.1
        assert abs(lengths.mean() / d - 1) < 0.3
    else:
        np.testing.assert_allclose(np.diag(gram), d, rtol=close)
    assert abs(rows.mean(axis=0)).max() < 1.0


@every_method
@every_other
def test_a_run_converges_as_well(method: str, library: str) -> None:
    optimizer = started(library, method=method, sampling="device")
    run(optimizer, 100)
    assert optimizer.best < 0.05 * float(ellipsoid(START))
