from __future__ import annotations

import math
from typing import Any

import pytest

from r1nes.bench.analysis.statistics import converged_prematurely, own_microseconds, summarize, summary


def record(evaluations: int = 100, stop: str = "ftarget", **other: Any) -> dict[str, Any]:
    solved = stop == "ftarget"
    return {
        "method": "r1nes",
        "function": "f1",
        "dim": 8,
        "evaluations": evaluations,
        "precision": 1e-9 if solved else 0.5,
        "solved": solved,
        "stop": {stop: 1.0},
        "seconds": 0.003,
        "objective_seconds": 0.001,
    } | other


def test_unsolved_runs_count_as_infinite() -> None:
    solved, failed = [record(10), record(30)], record(stop="max_evals")
    assert summary([*solved, failed]).median == 30
    assert summary([*solved, failed, failed]).median == math.inf
    assert summary([record(10), failed, failed]).median == math.inf


def test_the_paper_takes_the_median_of_the_solved_runs() -> None:
    runs = [record(10), record(30)] + [record(stop="max_evals")] * 6
    assert summary(runs).median_solved == 20
    assert summary(runs).solved == 2
    assert summary(runs).runs == 8


@pytest.mark.parametrize(("premature", "left_out"), [(8, False), (9, True)])
def test_the_paper_leaves_out_a_cell_with_nine_tenths_premature(premature: int, left_out: bool) -> None:
    runs = [record(10)] * (10 - premature) + [record(stop="xtol")] * premature
    assert summary(runs).premature == premature
    assert math.isnan(summary(runs).median_solved) == left_out


def test_nothing_solved_has_no_median() -> None:
    runs = [record(stop="max_evals")] * 3
    assert math.isnan(summary(runs).median_solved)
    assert summary(runs).median == math.inf
    assert summary(runs).precision == 0.5


@pytest.mark.parametrize(
    ("stop", "premature"),
    [("ftarget", False), ("max_evals", False), ("xtol", True), ("flat", True), ("stagnation", True)],
)
def test_premature_is_ended_by_itself_short_of_the_target(stop: str, premature: bool) -> None:
    assert converged_prematurely(record(stop=stop)) == premature


def test_own_time_excludes_the_objective() -> None:
    assert own_microseconds(record(100)) == pytest.approx(20.0)


def test_groups_by_method_function_and_dimension() -> None:
    records = [record(10), record(20, dim=4), record(30, method="snes"), record(12)]
    summaries = summarize(records)
    assert list(summaries) == [("r1nes", "f1", 8), ("r1nes", "f1", 4), ("snes", "f1", 8)]
    assert summaries["r1nes", "f1", 8].median == 11
