"""SciPy's contract for custom methods, called through SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, basinhopping, minimize, rosen, rosen_der

import r1nes
from r1nes.arrays import Array


def solve(fun: Any = rosen, x0: Any = (0.0, 0.0, 0.0), **arguments: Any) -> OptimizeResult:
    options: Any = {"rng": 1, **arguments.pop("options", {})}  # SciPy's stubs allow only its own options
    method: Any = r1nes.scipy_method  # and declare a result type that does not exist at run time
    found: OptimizeResult = minimize(fun, x0, method=method, options=options, **arguments)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_it_solves_rosenbrock(seed: int) -> None:
    result = solve(options={"rng": seed, "ftarget": 1e-10})
    assert result.success
    np.testing.assert_allclose(result.x, 1, atol=1e-3)


def test_it_gives_the_same_run_as_minimize() -> None:
    result = solve(x0=np.full(4, 0.5), options={"sigma0": 0.3, "method": "snes", "max_evals": 500})
    same = r1nes.minimize(rosen, np.full(4, 0.5), sigma0=0.3, method="snes", max_evals=500, rng=1)
    assert result.fun == same.fun
    np.testing.assert_array_equal(result.x, same.x)


@pytest.mark.parametrize("bounds", [Bounds([-1, 0, 0], 0.5), [(-1, 0.5), (0, 0.5), (None, 0.5)]])
def test_bounds_in_both_forms(bounds: Any) -> None:
    seen: list[Array] = []

    def bowl(x: Array) -> float:  # convex: the minimum is unique
        seen.append(x.copy())
        return float(np.sum((x - [1, -2, 3]) ** 2) + np.sum(x) ** 2)

    result = solve(bowl, bounds=bounds, tol=1e-9)
    assert np.max(seen) <= 0.5
    assert np.min(seen, axis=0)[1] >= 0
    reference = minimize(bowl, np.zeros(3), bounds=bounds, method="L-BFGS-B", tol=1e-12)
    np.testing.assert_allclose(result.x, reference.x, atol=1e-4)


def test_args_reach_the_function() -> None:
    assert solve(lambda x, a, b: float((x - a) @ (x - a)) + b, args=(2.0, 3.0)).fun == pytest.approx(3)
    assert solve(lambda x, a: float((x - a) @ (x - a)), args=2.0).x == pytest.approx([2, 2, 2], abs=1e-4)


def test_callback_in_both_forms() -> None:
    results: list[OptimizeResult] = []
    points: list[Array] = []

    def by_result(intermediate_result: OptimizeResult) -> None:
        results.append(intermediate_result)

    first = solve(callback=by_result, options={"max_evals": 300})
    second = solve(callback=points.append, options={"max_evals": 300})
    assert len(results) == len(points) == first.nit == second.nit
    for result, point in zip(results, points, strict=True):
        np.testing.assert_array_equal(result.x, point)
    assert results[-1].fun == first.fun


def test_callback_can_end_the_run() -> None:
    calls = []

    def callback(xk: Array) -> None:
        calls.append(xk)
        if len(calls) == 3:
            raise StopIteration

    result = solve(callback=callback)
    assert result.nit == 3
    assert not result.success
    assert "StopIteration" in result.message


def test_tol_is_the_default_of_both_tolerances() -> None:
    rough, fine = solve(tol=1e-2), solve(tol=1e-10)
    assert rough.success
    assert fine.success
    assert rough.nfev < fine.nfev
    set_apart = solve(tol=1e-2, options={"xtol": 1e-10, "ftol": 1e-10})
    assert set_apart.nfev == fine.nfev


def test_maxiter_and_disp(capsys: pytest.CaptureFixture[str]) -> None:
    result = solve(options={"maxiter": 4, "disp": True})
    assert result.nit == 4
    assert not result.success
    assert list(result.stop) == ["maxiter"]
    assert "maxiter = 4" in capsys.readouterr().out
    with pytest.raises(ValueError, match=r"maxiter must be a whole number of at least 1, got 0"):
        solve(options={"maxiter": 0})


def test_unsupported_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="constraints must be empty"):
        solve(constraints=LinearConstraint(np.ones(3), 0, 1))
    with pytest.raises(ValueError, match="constraints must be empty"):
        solve(constraints={"type": "ineq", "fun": lambda x: x[0]})
    with pytest.raises(TypeError, match="maxfev is not a keyword; did you mean max_evals"):
        solve(options={"maxfev": 100})
    with pytest.warns(RuntimeWarning, match="does not use jac"):
        solve(jac=rosen_der, options={"max_evals": 100})


def test_a_gradient_returned_with_the_value_is_ignored() -> None:
    with pytest.warns(RuntimeWarning, match="does not use jac"):
        result = solve(lambda x: (rosen(x), rosen_der(x)), jac=True, options={"ftarget": 1e-8})
    assert result.success


def test_it_works_in_scipys_global_optimisers() -> None:
    def ripples(x: Array) -> float:
        return float(x @ x + 10 * np.sum(1 - np.cos(2 * np.pi * x)))

    local: Any = {"method": r1nes.scipy_method, "options": {"sigma0": 0.2, "rng": 1}}
    found = basinhopping(
        ripples,
        np.full(2, 2.0),
        niter=15,
        stepsize=1.5,
        minimizer_kwargs=local,
        rng=np.random.default_rng(1),
    )
    assert found.fun < 1e-6
