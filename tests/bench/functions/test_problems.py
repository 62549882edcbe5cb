"""The BBOB functions equal ioh's and COCO's; the textbook functions equal their formulas."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from r1nes.arrays import Array
from r1nes.bench.functions import pybrain, textbook
from r1nes.bench.functions.bbob import FUNCTIONS
from r1nes.bench.functions.problems import TEXTBOOK, Problem, problem
from r1nes.bench.functions.transforms import gaussian, oscillate, rotation, skew

BBOB = list(FUNCTIONS)
EVERY = [*BBOB, *pybrain.FUNCTIONS, *TEXTBOOK]
INSTANCES = [1, 2, 71]


def regions(f: Problem, n: int = 50) -> list[Array]:
    """Points inside [−5, 5]^d, far outside, and at 10⁻⁸ to 10⁻¹ from the optimum."""
    rng = np.random.default_rng([f.dim, f.instance])
    steps = 10 ** rng.uniform(-8, -1, (n, 1)) * rng.standard_normal((n, f.dim))
    return [
        rng.uniform(-5, 5, (n, f.dim)),
        rng.uniform(-20, 20, (n, f.dim)),
        f.xopt + steps,
    ]


def assert_same(ours: ArrayLike, theirs: ArrayLike, fopt: float) -> None:
    """Check f − fopt to 10⁻⁹ relative, up to the rounding of f, which is O(fopt)."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    tolerance = 1e-9 * np.abs(theirs - fopt) + 1e-12 * max(1, abs(fopt))
    np.testing.assert_array_less(np.abs(ours - theirs), tolerance)


def ioh_problem(function: str, dim: int, instance: int) -> Any:
    """Return ioh's function."""
    ioh = pytest.importorskip("ioh")
    return ioh.get_problem(int(function[1:]), instance, dim, problem_class=ioh.ProblemClass.BBOB)


def compare_with_ioh(function: str, dim: int, instance: int) -> None:
    """Compare with ioh, except for the two places where it deviates from BBOB."""
    f, reference = problem(function, dim, instance), ioh_problem(function, dim, instance)
    assert f.fopt == reference.optimum.y
    np.testing.assert_allclose(f.xopt, reference.optimum.x, rtol=0, atol=1e-12)
    if function == "f13" and dim > 40:
        return  # see test_ioh_has_more_ridges
    for x in regions(f):
        ours, theirs = np.asarray(f(x)), np.asarray(reference(x))
        same = (theirs != f.fopt) | (function != "f7")  # see test_ioh_has_a_flat_centre
        assert_same(ours[same], theirs[same], f.fopt)


@pytest.mark.parametrize("dim", [2, 3, 8, 32, 128])
@pytest.mark.parametrize("function", BBOB)
def test_equals_ioh(function: str, dim: int) -> None:
    """The values, fopt and xopt are ioh's."""
    for instance in INSTANCES:
        compare_with_ioh(function, dim, instance)


@pytest.mark.slow
@pytest.mark.parametrize("function", BBOB)
def test_equals_ioh_in_512_dimensions(function: str) -> None:
    """The values, fopt and xopt are ioh's in the largest dimension, where rotations are least accurate."""
    compare_with_ioh(function, 512, 1)


@pytest.mark.parametrize("dim", [2, 3, 5, 10, 20, 40])
@pytest.mark.parametrize("function", BBOB)
def test_equals_coco(function: str, dim: int) -> None:
    """The values and fopt are those of COCO's bbob suite."""
    cocoex = pytest.importorskip("cocoex")
    for instance in INSTANCES:
        f, number = problem(function, dim, instance), int(function[1:])
        suite = cocoex.Suite(
            "bbob", f"instances: {instance}", f"dimensions: {dim} function_indices: {number}"
        )
        reference = suite.get_problem(0)
        assert reference.id == f"bbob_f{number:03}_i{instance:02}_d{dim:02}"
        assert f.fopt == cocoex.BareProblem("bbob", number, dim, instance).best_value()
        for x in regions(f):
            assert_same(f(x), [reference(row) for row in x], f.fopt)


@pytest.mark.parametrize("function", BBOB)
def test_equals_coco_beyond_its_suite(function: str) -> None:
    """The definition does not change above 40 dimensions; COCO's buffers end at 44."""
    cocoex = pytest.importorskip("cocoex")
    f, reference = problem(function, 44), cocoex.BareProblem("bbob", int(function[1:]), 44, 1)
    for x in regions(f):
        assert_same(f(x), [reference(row) for row in x], f.fopt)


def parts(f: Problem) -> dict[str, Array]:
    """Return the random parts of an instance."""
    return FUNCTIONS[f.id].parts(f.dim, int(f.id[1:]) + 10_000 * f.instance)


@pytest.mark.parametrize("dim", [41, 128, pytest.param(512, marks=pytest.mark.slow)])
def test_ioh_has_more_ridges(dim: int) -> None:
    """Above 40 dimensions ioh's f13 has k = ⌈d/40⌉ long axes; BBOB and COCO keep one."""
    f, reference = problem("f13", dim), ioh_problem("f13", dim, 1)
    x, k = regions(f)[0], -(-dim // 40)
    z = (x - f.xopt) @ parts(f)["QLR"].T
    ridges = (z[:, :k] ** 2).sum(1) / k + 100 * np.sqrt((z[:, k:] ** 2).sum(1) / k)
    assert_same(f.fopt + ridges, reference(x), f.fopt)


@pytest.mark.parametrize("dim", [2, 32])
def test_ioh_has_a_flat_centre(dim: int) -> None:
    """Around xopt, f7 is 0.1 |ẑ₁|/10⁴; ioh rounds ẑ₁ first and has f = fopt there."""
    f, reference = problem("f7", dim), ioh_problem("f7", dim, 1)
    x = f.xopt + 1e-3 * np.random.default_rng(1).standard_normal((20, dim))
    z_hat = (x - f.xopt) @ parts(f)["LR"].T
    np.testing.assert_array_equal(reference(x), f.fopt)
    np.testing.assert_allclose(f(x) - f.fopt, 1e-5 * np.abs(z_hat[:, 0]), rtol=0, atol=1e-12)


@pytest.mark.parametrize("dim", [2, 3, 40, 100])
def test_rotation_is_that_of_gram_and_schmidt(dim: int) -> None:
    """The columns equal those of the textbook process, one by one."""
    columns = list(gaussian(dim * dim, 10_001).reshape(dim, dim))
    for i, column in enumerate(columns):
        for earlier in columns[:i]:
            column -= (column @ earlier) * earlier
        column /= np.sqrt(column @ column)
    np.testing.assert_allclose(rotation(dim, 10_001), np.array(columns).T, rtol=0, atol=1e-12)


def test_transformations_keep_zero() -> None:
    """T_osz and T_asy fix zero; T_osz fixes ±1, T_asy what is negative."""
    np.testing.assert_array_equal(oscillate(np.array([-1.0, 0.0, 1.0])), [-1, 0, 1])
    np.testing.assert_array_equal(skew(np.array([-3.0, 0.0, 4.0]), 0.5), [-3, 0, 16])


@pytest.mark.parametrize("dim", [2, 7, 64])
@pytest.mark.parametrize("function", EVERY)
def test_optimum(function: str, dim: int) -> None:
    """The value at xopt is fopt, and no value is lower."""
    f = problem(function, dim)
    assert f(f.xopt) == pytest.approx(f.fopt, rel=1e-12, abs=1e-12)
    assert min(np.min(f(x)) for x in regions(f)) >= f.fopt


@pytest.mark.parametrize("function", EVERY)
def test_rows_and_batches_agree(function: str) -> None:
    """One point gives a float, n points n of them, no points none; ``x`` stays as it was."""
    f = problem(function, 9)
    x = regions(f)[0]
    before = x.copy()
    values = f(x)
    assert isinstance(values, np.ndarray)
    assert values.shape == (50,)
    assert isinstance(f(x[0]), float)
    digits = 1e-8 if function == "f6-pybrain" else 1e-12  # the sine of a sum of squares, up to 10⁶
    np.testing.assert_allclose(np.array([f(row) for row in x]), values, rtol=digits)
    np.testing.assert_allclose(f(x[0].tolist()), values[0], rtol=digits)
    np.testing.assert_array_equal(np.shape(f(x[:0])), (0,))
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("function", ["f1", "f2", "f5", "f8", *TEXTBOOK])
def test_rows_are_independent_without_rotation(function: str) -> None:
    """Where no matrix product reorders sums, a point's value does not depend on the others."""
    f = problem(function, 37)
    for x in regions(f):
        np.testing.assert_array_equal(np.array([f(row) for row in x]), f(x))


@pytest.mark.parametrize("function", EVERY)
def test_pickles(function: str) -> None:
    """A copy from another process is the same function."""
    f = problem(function, 5)
    copy = pickle.loads(pickle.dumps(f))
    x = regions(f)[0]
    np.testing.assert_array_equal(copy(x), f(x))
    np.testing.assert_array_equal(copy.xopt, f.xopt)
    for attribute in ("id", "name", "dim", "instance", "fopt"):
        assert getattr(copy, attribute) == getattr(f, attribute)


def test_describes_itself() -> None:
    """The attributes say what the function is; xopt cannot be changed by mistake."""
    f = problem("f10", dim=4, instance=3)
    assert (f.id, f.name, f.dim, f.instance) == ("f10", "Rotated ellipsoid", 4, 3)
    g = problem("k_tablet", dim=4)
    assert (g.id, g.name, g.fopt, g.instance) == ("k_tablet", "k-tablet", 0.0, 1)
    with pytest.raises(ValueError, match="read-only"):
        f.xopt[0] = 0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("f3", 4), ValueError, r"function must be one of f1, f2, .*sharp_ridge; got 'f3'"),
        ((10, 4), TypeError, "function must be a string .* got 10"),
        (("f1", 1), ValueError, "dim must be a whole number of at least 2, got 1"),
        (("f1", 4.5), ValueError, "dim must be a whole number of at least 2, got 4.5"),
        (("f1", 4, 0), ValueError, "instance must be a whole number of at least 1, got 0"),
        (("f1", 4, "1"), TypeError, "instance must be a number, got '1'"),
        (("cigar", 4, 2), ValueError, "instance must be 1 for 'cigar', .* got 2"),
    ],
)
def test_refuses(arguments: Any, error: type[Exception], message: str) -> None:
    """A wrong argument is named, with what was given and what is expected."""
    with pytest.raises(error, match=message):
        problem(*arguments)


@pytest.mark.parametrize("shape", [(), (3,), (5, 3), (2, 2, 4)])
def test_refuses_points_of_another_shape(shape: tuple[int, ...]) -> None:
    """Points of another dimension are an error, not broadcast."""
    with pytest.raises(ValueError, match=r"x must have shape \(n, 4\) or \(4,\), got"):
        problem("f1", 4)(np.zeros(shape))


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (textbook.sphere, 4 + 1 + 9 + 1),
        (textbook.cigar, 4 + 1e6 * (1 + 9 + 1)),
        (textbook.tablet, 4e6 + 1 + 9 + 1),
        (textbook.ellipsoid, 4 + 1e2 * 1 + 1e4 * 9 + 1e6 * 1),
        (textbook.cigar_tablet, 4 + 1e4 * (1 + 9) + 1e8 * 1),
        (textbook.k_tablet, 4 + 1e4 * (1 + 9 + 1)),
        (textbook.rosenbrock, 100 * (5**2 + 2**2 + 8**2) + (1 + 4 + 4)),
        (textbook.different_powers, 2**2 + 1 + 3 ** (2 + 20 / 3) + 1),
        (textbook.sharp_ridge, 4 + 100 * np.sqrt(1 + 9 + 1)),
    ],
)
def test_textbook_values(function: Callable[[Array], Array], value: float) -> None:
    """Each formula, worked out by hand at (2, −1, 3, 1)."""
    x = np.array([2.0, -1.0, 3.0, 1.0])
    np.testing.assert_allclose(function(x), value, rtol=1e-14)
    np.testing.assert_allclose(function(np.stack([x, x])), [value, value], rtol=1e-14)
