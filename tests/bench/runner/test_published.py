from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from r1nes import Optimizer, minimize
from r1nes.bench.functions.textbook import rosenbrock
from r1nes.bench.runner.grid import run
from r1nes.bench.runner.measure import Cell, measure_cell
from r1nes.bench.runner.published import PublishedOptimizer


def test_ties_leave_sigma_alone() -> None:
    """A constant function has no natural gradient; minimize widens σ there."""
    for kind, widens in ((Optimizer, True), (PublishedOptimizer, False)):
        optimizer = kind(np.ones(4), 0.5, method="r1nes", rng=1)
        for _ in range(3):
            optimizer.tell(optimizer.ask(), np.zeros(optimizer.popsize))
        assert (optimizer.strategy.sigma > 0.51) == widens
        assert (optimizer.strategy.sigma == 0.5) == (not widens)


def test_stagnation_does_not_end_a_run() -> None:
    optimizer = PublishedOptimizer(np.ones(2), 0.5, method="snes", rate_sigma=0.0, rate_mean=0.0, rng=1)
    plain = Optimizer(np.ones(2), 0.5, method="snes", rate_sigma=0.0, rate_mean=0.0, rng=1)
    for _ in range(600):
        for each in (optimizer, plain):
            X = each.ask()
            each.tell(X, (X**2).sum(axis=1))
    assert "stagnation" in plain.stop()
    assert not optimizer.stop()


@pytest.mark.parametrize("method", ["r1nes", "r1nes-heuristic", "snes", "xnes"])
def test_without_ties_a_run_is_that_of_minimize(method: str) -> None:
    cell = Cell(method, "f1", 4, 1, 20_000)
    ours, published = measure_cell(cell), measure_cell(cell, as_published=True)
    same = ["evaluations", "precision", "trajectory", "popsize", "seed"]
    assert [ours[name] for name in same] == [published[name] for name in same]
    assert published["as_published"] is True
    assert "as_published" not in ours


def test_the_step_ellipsoid_differs_and_the_record_says_so(tmp_path: Path) -> None:
    cells = [Cell(method, "f7", 2, 1, 5_000) for method in ("snes", "rknes")]
    records, failures = run(cells, tmp_path / "records.jsonl", as_published=True)
    assert not failures
    assert [record.get("as_published", False) for record in records] == [True, False]
    assert records[0]["evaluations"] != measure_cell(cells[0])["evaluations"]


def test_the_loop_is_the_one_of_minimize() -> None:
    """Ask and tell, bit for bit, where nothing ties."""
    options = {"method": "xnes", "max_evals": 500, "ftol": 0, "xtol": 0, "rng": 2}
    result = minimize(rosenbrock, -np.ones(5), 0.3, vectorized=True, **options)  # type: ignore[arg-type]
    optimizer = PublishedOptimizer(-np.ones(5), 0.3, **options)  # type: ignore[arg-type]
    while not optimizer.stop():
        X = optimizer.ask()
        optimizer.tell(X, rosenbrock(X))
    np.testing.assert_array_equal(optimizer.result.x, result.x)
