"""The texts that numba compiles, run by Python itself: they must not need the compiler to be right."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from r1nes.sampling import compact, ziggurat
from r1nes.sampling.compact import STRIP, ShiftedSequence
from r1nes.sampling.gaussian import WARMUP, GaussianNoise


def test_normal_numbers_are_those_of_numpy() -> None:
    """Of 20,000 numbers some 200 lie in slivers and 5 in the tails."""
    noise = GaussianNoise(np.random.SeedSequence(3), 200, np.dtype(np.float64))
    expected, numbers = noise.stream(4).standard_normal((100, 200)), np.empty((100, 200))
    with np.errstate(over="ignore"):  # words wrap around
        ziggurat.fill._source(numbers, noise._words, 4, 0, WARMUP)
    np.testing.assert_array_equal(numbers, expected)
    assert np.abs(numbers).max() > ziggurat.R


@pytest.fixture
def shifts(monkeypatch: pytest.MonkeyPatch) -> ShiftedSequence:
    for name in ("_products", "_points", "_weighted_sums"):
        monkeypatch.setattr(compact, name, SimpleNamespace(fast=getattr(compact, name)._source))
    rng, d = np.random.default_rng(0), STRIP + 52
    signs = rng.choice(np.array([-1, 1], np.int8), d)
    return ShiftedSequence(np.tile(rng.standard_normal(d), 2), signs, np.array([0, 7, STRIP, d - 1]))


def test_points_of_directions_in_compact_form(shifts: ShiftedSequence) -> None:
    rng, Y = np.random.default_rng(1), shifts.rows()
    mean, B, *rest = rng.standard_normal((4, Y.shape[1]))
    V, factor = np.stack(rest), np.array([0.5, -0.2])
    expected = mean + B * (Y + (Y @ V.T * factor) @ V)
    np.testing.assert_allclose(shifts.points(mean, B, V, factor, None), expected, rtol=1e-10, atol=1e-9)
    out = np.empty_like(Y)
    assert shifts.points(mean, B, V, factor, out) is out
    np.testing.assert_allclose(out, expected, rtol=1e-10, atol=1e-9)


def test_weighted_sums_of_directions_in_compact_form(shifts: ShiftedSequence) -> None:
    rng, Y = np.random.default_rng(2), shifts.rows()
    V = rng.standard_normal((2, Y.shape[1]))
    of_mean, w = rng.standard_normal((2, len(Y)))
    rows, squares = shifts.weighted_sums(V, of_mean, w)
    np.testing.assert_allclose(rows[:-1], (Y @ V.T * w[:, None]).T @ Y, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(rows[-1], of_mean @ Y, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(squares, w @ Y**2, rtol=1e-10, atol=1e-9)
