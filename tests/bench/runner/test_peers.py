from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from r1nes.bench.functions.problems import problem
from r1nes.bench.runner.measure import BENCH_METHODS, Cell, measure_cell
from r1nes.bench.runner.peers import PEERS
from r1nes.bench.runner.watch import FLAT, Ended, Watched

# With pypop7's defaults LMMAES learns at the rate 2 popsize / d, so it needs more than 28 variables.
DIMS = {name: 32 if name == "pypop7-lmmaes" else 8 for name in PEERS}


def spied(name: str, d: int, budget: int) -> tuple[Watched, list[Any]]:
    """Return an objective and the list of all points it is called with."""
    seen: list[Any] = []
    function = problem(name, dim=d)

    def formula(X: Any) -> Any:
        seen.extend(X.copy())
        return function.formula(X)

    return Watched(replace(function, formula=formula), budget), seen


def solve(name: str, f: Watched, x0: Any, sigma0: float) -> dict[str, float]:
    peer = PEERS[name]
    try:
        return peer.run(peer.load(), f, x0, sigma0, 1)
    except Ended as ended:
        return ended.stop


@pytest.mark.parametrize("name", PEERS)
def test_solves_the_sphere_and_every_evaluation_is_counted(name: str) -> None:
    f, seen = spied("sphere", DIMS[name], 20_000)
    assert list(solve(name, f, np.full(DIMS[name], 2.0), 1.0)) == ["ftarget"]
    assert f.solved
    assert f.evaluations == len(seen)


@pytest.mark.parametrize("name", PEERS)
def test_never_exceeds_the_budget(name: str) -> None:
    f, seen = spied("rosenbrock", DIMS[name], 201)
    assert list(solve(name, f, np.zeros(DIMS[name]), 0.1)) == ["max_evals"]
    assert f.popsize is not None
    assert 201 - f.popsize < len(seen) == f.evaluations <= 201


@pytest.mark.parametrize("name", PEERS)
def test_starts_at_x0_with_sigma0(name: str) -> None:
    d = DIMS[name]
    x0, sigma0 = np.linspace(-3, 3, d), 1e-3
    f, seen = spied("ellipsoid", d, 100)
    solve(name, f, x0, sigma0)
    first = np.array(seen[1 : f.popsize])  # RMES also evaluates the start
    width = float(np.sqrt(np.mean((first - x0) ** 2)))
    assert 0.7 * sigma0 < width < 1.5 * sigma0
    np.testing.assert_array_equal(x0, np.linspace(-3, 3, d))


@pytest.mark.parametrize("name", BENCH_METHODS)
def test_the_cell_determines_the_record(name: str) -> None:
    cell = Cell(name, "f8", 8, trial=2, budget=600)
    one, two = measure_cell(cell), measure_cell(cell)
    for record in (one, two):
        del record["seconds"], record["objective_seconds"]
    assert one == two
    assert one["instance"] == 2
    assert one["popsize"] > 4
    assert set(one["versions"]) >= {"r1nes", "numpy"}


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "crfmnes", None)
    with pytest.raises(ModuleNotFoundError, match=r"crfmnes is not installed; pip install 'r1nes\[bench\]'"):
        measure_cell(Cell("crfmnes", "f1", 8, 1, 1000))


def test_a_peer_that_stops_by_itself_reports_the_reason() -> None:
    f = Watched(problem("sphere", dim=8), 1000)
    stop = solve("cma", f, np.full(8, 1e18), 1.0)  # a step of 1 is lost in rounding there
    assert stop == dict.fromkeys(["noeffectcoord", "noeffectaxis"], f.evaluations)


def test_a_numerical_error_is_a_reason_to_stop() -> None:
    def divide_by_zero(*_: Any) -> dict[str, float]:
        raise ZeroDivisionError

    peer = replace(PEERS["crfmnes"], solve=divide_by_zero)
    f = Watched(problem("sphere", dim=8), 1000)
    assert peer.run(None, f, np.zeros(8), 1.0, 1) == {"ZeroDivisionError": 0}


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(ValueError, match="method must be one of r1nes, "):
        measure_cell(Cell("nes", "f1", 8, 1, 1000))


class TestWatched:
    def test_values_are_above_the_optimum(self) -> None:
        function = problem("f1", dim=3)
        f = Watched(function, 10)
        X = function.xopt + np.array([[1.0, 0, 0], [0, 2.0, 0]])
        np.testing.assert_allclose(f(X), [1, 4], rtol=1e-12)
        assert f.value(function.xopt + 1) == pytest.approx(3)
        assert f.evaluations == 3

    def test_the_trajectory_names_the_first_evaluation_within_a_generation(self) -> None:
        f = Watched(problem("sphere", dim=2), 10)
        f(np.array([[20.0, 0], [9.0, 0], [1.0, 0], [1.0, 0]]))
        assert f.trajectory == [[2, 100.0], [3, 31.6], [3, 10.0], [3, 3.16], [3, 1.0]]

    def test_nothing_is_evaluated_after_the_target(self) -> None:
        f = Watched(problem("sphere", dim=2), 10)
        f(np.zeros((2, 2)))
        with pytest.raises(Ended) as ended:
            f.value(np.ones(2))
        assert ended.value.stop == {"ftarget": 0.0}
        assert f.evaluations == 2

    def test_a_generation_beyond_the_budget_is_not_evaluated(self) -> None:
        f = Watched(problem("sphere", dim=2), 10)
        f(np.ones((8, 2)))
        with pytest.raises(Ended) as ended:
            f(np.ones((3, 2)))
        assert ended.value.stop == {"max_evals": 8}

    def test_ends_a_search_that_has_shrunk_to_a_point(self) -> None:
        f = Watched(problem("sphere", dim=2), 10 * FLAT)
        for _ in range(FLAT // 100 + 1):
            f(np.ones((100, 2)))
        with pytest.raises(Ended) as ended:
            f(np.ones((100, 2)))
        assert ended.value.stop == {"flat": 2.0}

    def test_nan_counts_and_never_improves(self) -> None:
        f = Watched(problem("sphere", dim=2), 100)
        f(np.array([[np.nan, 0], [1.0, 0]]))
        f(np.full((2, 2), np.nan))
        assert f.best == 1.0
        assert f.evaluations == 4
