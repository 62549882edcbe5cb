from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from r1nes.bench.analysis import targets
from r1nes.bench.runner.grid import cell_of
from r1nes.bench.runner.measure import Cell, measure_cell
from r1nes.bench.runner.records import Record
from r1nes.cli import main


def records(**changes: Any) -> list[Record]:
    """Return a record that just meets its target for each run, with ``changes`` to those of f9 at d = 512."""
    made: list[Record] = []
    for cell in targets.cells("rknes"):
        record = {
            "method": "rknes",
            "function": cell.function,
            "dim": cell.dim,
            "trial": cell.trial,
            "budget": cell.budget,
            "restarts": cell.restarts,
            "evaluations": targets.TARGETS["rknes"][cell.function][cell.dim],
            "precision": 1e-9,
            "solved": True,
            "stop": {"ftarget": 1e-9},
            "seconds": 1.0,
            "objective_seconds": 0.5,
            "restarted": 0,
            "at_limit": 0.05,
        }
        made.append(record | (changes if cell.function == "f9" and cell.dim == 512 else {}))
    return made


def test_just_good_enough_is_good_enough() -> None:
    assert targets.missed(records()) == []


@pytest.mark.parametrize(
    ("changes", "shortfall"),
    [
        ({"evaluations": 1_543_401}, "rknes on f9, d = 512: median 1,543,401, target 1,543,400"),
        ({"at_limit": 0.06}, "rknes on f9, d = 512: some direction at its limit in 6% of a run"),
    ],
)
def test_missed_targets_are_listed(changes: Record, shortfall: str) -> None:
    assert targets.missed(records(**changes)) == [shortfall]


def test_every_run_has_to_succeed() -> None:
    made = records()
    last = max(i for i, record in enumerate(made) if (record["function"], record["dim"]) == ("f9", 32))
    made[last] |= {"solved": False}
    assert targets.missed(made) == ["rknes on f9, d = 32: 10 of 11 solved"]
    assert targets.missed(made[:last] + made[last + 1 :]) == ["rknes on f9, d = 32: 10 of 11 solved"]


def test_the_command_reads_the_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "records.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records(evaluations=10**7)))
    assert main(["bench", "--targets", "rknes", "--out", str(tmp_path)]) == 1
    shown = capsys.readouterr()
    assert shown.err.splitlines() == [
        "r1nes: rknes on f9, d = 512: median 10,000,000, target 1,543,400",
    ]
    assert shown.out.splitlines()[1].split() == ["f1", "8", "690", "690", "690", "11/11", "0"]
    assert main(["bench", "--targets", "sgd", "--out", str(tmp_path)]) == 2


def test_restarts_are_counted() -> None:
    """A single run ends on a plateau of f7; restarts continue the search, and their evaluations count."""
    single = measure_cell(Cell("snes", "f7", 8, 1, 30_000))
    cell = Cell("snes", "f7", 8, 1, 30_000, restarts=9)
    again = measure_cell(cell)
    assert again["restarted"] > single["restarted"] == 0
    assert again["evaluations"] > single["evaluations"]
    assert cell_of(again) == cell
    assert cell_of({name: value for name, value in single.items() if name != "restarts"}).restarts == 0
