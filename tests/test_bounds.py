"""Box bounds: the fold, and optima on faces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import Bounds

import r1nes
from r1nes.bounds import Box, as_edges

number = st.floats(-1e6, 1e6)


def box_of(pair: tuple[float | None, float | None], sigma: float = 1.0) -> Box:
    edges = as_edges([pair], np.array([pair[0] if pair[0] is not None else pair[1] or 0.0]))
    assert edges is not None
    return Box(*edges, sigma)


def fold(box: Box, z: float) -> float:
    return float(box.fold(np.array([[z]]))[0, 0])


scales = st.floats(1e-6, 1e6)


@given(number, st.floats(1e-9, 1e6), scales, st.floats(-1e9, 1e9))
def test_fold_maps_into_the_box_and_keeps_inner_points(
    low: float, width: float, sigma: float, z: float
) -> None:
    assume(low < low + width)
    box = box_of((low, low + width), sigma)
    x = fold(box, z)
    assert low <= x <= low + width
    if low + 0.06 * width < z < low + 0.94 * width:
        assert x == z


@given(number, st.floats(1e-3, 1e3), scales, st.floats(0, 1))
def test_unfold_inverts_fold(low: float, width: float, sigma: float, t: float) -> None:
    x = min(low + t * width, low + width)
    box = box_of((low, low + width), sigma)
    z = float(box.unfold(np.array([x]))[0])
    assert fold(box, z) == pytest.approx(x, abs=1e-9 * (1 + abs(low)))
    assert abs(z - x) <= 0.05 * width + 1e-9 * (1 + abs(low))


@pytest.mark.parametrize("pair", [(0.0, 1.0), (0.0, None), (None, 1.0), (None, None)])
def test_fold_is_smooth_and_turns_at_the_faces(pair: tuple[float | None, float | None]) -> None:
    """It has no jumps, no slope above 1 and no kinks: the slope changes as slowly as the margin allows."""
    box = box_of(pair, sigma=0.2)
    z = np.linspace(-4, 4, 80_001)
    x = box.fold(z[:, None])[:, 0]
    step = z[1] - z[0]
    slope = np.diff(x) / step
    assert np.abs(slope).max() <= 1 + 1e-9
    assert np.abs(np.diff(slope)).max() <= step / (2 * 0.05) + 1e-9
    if pair == (0.0, 1.0):
        np.testing.assert_allclose(box.fold(z[:, None] + 2 * (1 + 0.1))[:, 0], x, atol=1e-12)
        assert x.min() < 1e-6
        assert x.max() > 1 - 1e-6


@pytest.mark.parametrize("side", [(2.0, None), (None, 2.0)])
def test_one_sided_bounds_reflect_only_at_their_face(side: tuple[float | None, float | None]) -> None:
    sign, box = (1 if side[0] is not None else -1), box_of(side, sigma=0.2)
    assert fold(box, 2 + sign * 1e9) == 2 + sign * 1e9
    assert fold(box, 2 - sign * 3.0) == pytest.approx(2 + sign * (3.0 - 2 * 0.1))  # mirrored at 2 ∓ 0.1


@pytest.mark.parametrize("method", ["r1nes", "snes", "xnes"])
def test_finds_an_optimum_on_the_bounds(method: str) -> None:
    """Find the point of the box nearest to a point outside: half of its coordinates are on a face."""
    target = np.array([2.0, -3.0, 0.5, 0.25, -0.75, 7.0])
    nearest = np.clip(target, -1, 1)
    evaluated: list[np.ndarray] = []

    def distance(x: np.ndarray) -> float:
        evaluated.append(x)
        return float(((x - target) ** 2).sum())

    result = r1nes.minimize(
        distance,
        np.zeros(6),
        method=method,
        bounds=[(-1, 1)] * 6,
        ftarget=((nearest - target) ** 2).sum() + 1e-6,
        max_evals=50_000,
        rng=1,
    )
    assert result.success, result.message
    np.testing.assert_allclose(result.x, nearest, atol=1e-3)
    assert np.abs(evaluated).max() <= 1


def test_step_at_a_face_is_about_sigma0() -> None:
    """This holds where the fold is flattest, and for any width of the box."""
    optimizer = r1nes.Optimizer(np.zeros(200), 0.01, bounds=[(0, 1000)] * 200, popsize=50, rng=1)
    assert 0.003 < optimizer.ask().mean() < 0.03


@pytest.mark.parametrize("d", [300, pytest.param(1000, marks=pytest.mark.slow)])
def test_many_variables_with_the_optimum_in_a_corner(d: int) -> None:
    result = r1nes.minimize(
        lambda X: X.sum(axis=1),
        np.full(d, 0.5),
        method="snes",
        bounds=Bounds(0, 1),
        ftarget=d / 1000,
        max_evals=200_000,
        vectorized=True,
        rng=1,
    )
    assert result.success, result.message


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ([(0, 1)], "bounds must be .* for each of 2 variables, got 1 pairs"),
        ((0, 1), "bounds must be"),
        ([(0, 1), (3, 2)], r"low ≤ high, got \(3.0, 2.0\) for variable 1"),
        ([(0, 1), (float("nan"), 2)], "for variable 1"),
        ([(0, 1), (np.inf, np.inf)], r"low ≤ high, got \(inf, inf\) for variable 1"),
        ([(-np.inf, -np.inf), (0, 1)], r"low ≤ high, got \(-inf, -inf\) for variable 0"),
        ([(0.5, 0.5), (0.5, 0.5)], "bounds must leave a variable free"),
        ([(0, 1), (0.6, 2)], r"x0 must lie within bounds, got x0\[1\] = 0.5 outside"),
        (Bounds([0, 0, 0], [1, 1, 1]), "bounds must match the 2 variables of x0"),
    ],
)
def test_invalid_bounds_are_refused(bounds: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        r1nes.Optimizer([0.5, 0.5], 1.0, bounds=bounds)  # type: ignore[arg-type]


def test_a_start_on_a_face_is_within_the_bounds() -> None:
    optimizer = r1nes.Optimizer([0.0, 1.0], 0.1, bounds=[(0, 1)] * 2)
    np.testing.assert_allclose(optimizer.mean, [0, 1], atol=1e-12)
    with pytest.raises(ValueError, match="x0 must lie within bounds"):
        r1nes.Optimizer([0.0, 1.1], 0.1, bounds=[(0, 1)] * 2)


def test_the_widest_useful_standard_deviation_is_a_third_of_the_box() -> None:
    """Three of them then reach from face to face."""
    np.testing.assert_allclose(box_of((-1.0, 5.0)).limits, [2.0])
    assert box_of((0.0, None)).limits == [np.inf]


def test_default_sigma0_depends_on_the_box() -> None:
    optimizer = r1nes.Optimizer([0.5, 0.5, 2.0], bounds=[(0, 1), (0, 10), (2, 2)])
    assert optimizer.strategy.sigma == pytest.approx(0.3)
    assert r1nes.Optimizer([0.5, 0.5], bounds=[(0, 1), (0, None)]).strategy.sigma == 1.0


def test_mean_is_inside_the_box() -> None:
    """The minimum is in a corner, so about half of the distribution lies outside the box."""
    optimizer = r1nes.Optimizer(np.full(5, 0.3), bounds=[(0, 1)] * 5, max_evals=600, rng=1)
    outside = 0
    while not optimizer.stop():
        X = optimizer.ask()
        optimizer.tell(X, X.sum(axis=1))
        outside += bool((optimizer.strategy.mean < 0).any())
        assert ((optimizer.mean >= 0) & (optimizer.mean <= 1)).all()
    assert outside
    np.testing.assert_allclose(optimizer.mean, 0, atol=0.01)


def test_without_bounds_mean_is_a_copy_of_the_distribution_mean() -> None:
    optimizer = r1nes.Optimizer(np.ones(5), 0.5, rng=1)
    X = optimizer.ask()
    optimizer.tell(X, X.sum(axis=1))
    np.testing.assert_array_equal(optimizer.mean, optimizer.strategy.mean)
    optimizer.mean[:] = 0  # a copy
    assert optimizer.mean.any()
