"""The functions in the form of R1-NES's authors, against values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from r1nes.arrays import Array
from r1nes.bench.functions import bbob, pybrain
from r1nes.bench.functions.problems import problem
from r1nes.bench.runner.grid import grid
from r1nes.bench.runner.measure import Cell, _start, measure_cell

ZERO, IDENTITY = np.zeros(3), np.eye(3)
SWAP = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # exchanges the first two coordinates


def at(formula: object, x: list[float], **parts: Array) -> float:
    return float(formula(np.array([x]), **parts)[0])  # type: ignore[operator]


def test_the_waves_are_of_x_itself() -> None:
    """sin 1 + sin 0.79 = 1.551824; sin 10 + sin 7.9 = 0.454920; sin 1.1 + sin 0.62 = 1.472242."""
    x = np.array([0.1, 1.0, -0.2, 0.0])
    expected = [0.1 * math.exp(0.0760394), math.exp(0.0222911), -0.2 * math.exp(-0.0721399), 0.0]
    np.testing.assert_allclose(pybrain.wave(x), expected, rtol=1e-6)
    tiny = np.array([1e-9, -1e-9])
    np.testing.assert_allclose(pybrain.wave(tiny), tiny, rtol=1e-8)  # COCO's oscillates at every scale


def test_ellipsoids_and_tablet() -> None:
    x, one, tenth = [0.1, -0.2, 1.0], math.exp(2 * 0.0222911), 0.01 * math.exp(2 * 0.0760394)
    fifth = 0.04 * math.exp(-2 * 0.0721399)
    assert at(pybrain.f2, x, xopt=ZERO) == pytest.approx(tenth + 1e3 * fifth + 1e6 * one, rel=1e-6)
    turned = at(pybrain.f10, x, xopt=ZERO, R=SWAP)
    assert turned == pytest.approx(fifth + 1e3 * tenth + 1e6 * one, rel=1e-6)
    assert at(pybrain.f11, x, xopt=ZERO, R=SWAP) == pytest.approx(1e6 * fifth + tenth + one, rel=1e-6)


def test_attractive_sector_has_one_rotation() -> None:
    """z = (0.01, −0.2, 0.1), of which only z₂ has the sign of xopt: S = 10⁻⁴ + 20² + 10⁻²."""
    xopt = np.array([-1.0, -2.0, -3.0])
    x = [-1.0 - 0.2, -2.0 + 0.01, -3.0 + 0.1]
    S = 400.0101
    waves = math.sin(10 * S) + math.sin(7.9 * S)
    assert at(pybrain.f6, x, xopt=xopt, R=SWAP) == pytest.approx((S * math.exp(0.049 * waves)) ** 0.9)


@pytest.mark.parametrize(
    ("x", "value"),
    [
        ([0.6, 0.0, 0.0], 0.1 * 1.0),  # above ½: to integers
        ([-0.6, 0.0, 0.0], 0.1 * 0.36),  # below −½, where COCO's rounds to −1: to tenths
        ([0.0, 0.44, 2.6], 0.1 * (10 * 0.16 + 100 * 9.0)),
        ([0.049, -0.049, 0.0], 0.0),  # exactly flat around the optimum
        ([7.0, 0.0, 0.0], 0.1 * 49 + 4),  # the penalty
    ],
)
def test_step_ellipsoid(x: list[float], value: float) -> None:
    parts = {"xopt": ZERO, "QLR": IDENTITY, "T": IDENTITY}
    assert at(pybrain.f7, x, **parts) == pytest.approx(value, abs=1e-15)


def test_rosenbrock_has_no_scale_factor() -> None:
    """z = (2, 1, 3): 100 (3² + 2²) + 1² + 0²; the same in 3 dimensions and in any other."""
    xopt = np.array([4.0, 4.0, 4.0])
    assert at(pybrain.f8, [5.0, 4.0, 6.0], xopt=xopt) == 1301
    assert at(pybrain.f9, [4.0, 5.0, 6.0], xopt=xopt, R=SWAP) == 1301
    wide = np.ones((1, 1024))
    assert pybrain.f8(wide - 1, xopt=np.ones(1024))[0] == 1023  # z = 0; COCO's z is 1 − 4


def test_bent_cigar_has_two_rotations() -> None:
    """z = SWAP T_asy(4, −3, 4), where T_asy changes the last to 4^(1 + ½·2) = 16 and leaves the first."""
    value = at(pybrain.f12, [4.0, -3.0, 4.0], xopt=ZERO, R=IDENTITY, Q=SWAP)
    assert value == pytest.approx(9 + 1e6 * (16 + 256))


def test_different_powers_are_integers_without_a_root() -> None:
    """In 3 dimensions 2, 4, 6; in 6, ⌊4i/5⌋ = 0, 0, 1, 2, 3, 4."""
    assert at(pybrain.f14, [1.0, -2.0, 2.0], xopt=ZERO, R=SWAP) == 4 + 1 + 64
    assert at(pybrain.f14, [2.0] * 6, xopt=np.zeros(6), R=np.eye(6)) == 4 + 4 + 8 + 16 + 32 + 64
    assert at(bbob.f14, [1.0, -2.0, 2.0], xopt=ZERO, R=SWAP) == math.sqrt(69)


def test_an_instance_is_theirs() -> None:
    """The optimum is 0, and lies where PyBrain's shift and rotation put it."""
    for function in pybrain.FUNCTIONS:
        f = problem(function, 6, instance=3)
        assert f.fopt == 0
        assert f(f.xopt) == pytest.approx(0, abs=1e-20)
        assert not np.array_equal(f.xopt, problem(function, 6, instance=4).xopt)
    shift = pybrain.FUNCTIONS["f1-pybrain"].parts(10_000, 1)["xopt"]
    assert 4.89 < np.abs(shift).max() <= 4.9
    valley = problem("f8-pybrain", 10_000).xopt
    assert -3.9 <= valley.min() < -3.8
    assert 5.8 < valley.max() <= 5.9


@pytest.mark.parametrize("d", [2, 3, 40, 499, 500, 501])
def test_rotations_are_orthogonal_and_sparse_from_500(d: int) -> None:
    Q = pybrain.orthogonal(d, np.random.default_rng(d))
    np.testing.assert_allclose(Q @ Q.T, np.eye(d), atol=1e-12)
    per_row = np.count_nonzero(Q, axis=1)
    if d < 500:
        assert (per_row == d).all()
        assert abs(Q[:, 0].sum()) > 0.9 * math.sqrt(d)  # close to the diagonal (1, …, 1)/√d
    else:
        assert per_row.max() == 4
        signs = {np.linalg.det(pybrain.sparse(2, np.random.default_rng(seed))).round() for seed in range(9)}
        assert signs == {-1, 1}


def start_of(trial: int) -> Array:
    x0, sigma0 = _start(Cell("snes", "f14-pybrain", 400, trial, 22))
    assert sigma0 == 1.0
    return x0


def test_runs_start_as_theirs_and_records_name_the_form() -> None:
    (cell,) = grid(["snes"], ["f1-pybrain"], [400], trials=1, max_evals=22)
    record = measure_cell(cell)
    assert (record["function"], record["sigma0"], record["instance"]) == ("f1-pybrain", 1.0, 1)
    assert measure_cell(Cell("snes", "f1", 400, 1, 22))["sigma0"] == 2.0
    starts = [start_of(trial) for trial in (1, 2)]
    for x0 in starts:
        assert np.std(x0) == pytest.approx(1, abs=0.1)
        assert abs(np.mean(x0)) < 0.15
    assert (starts[0] != starts[1]).all()
