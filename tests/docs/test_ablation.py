"""The ablation of the note is that of the recorded runs."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import median

import pytest

from r1nes.bench.runner.records import read_records

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("dim", "parts", "instances"), [(32, 19, 11), (128, 4, 5)])
def test_the_table_has_the_medians_and_successes_of_the_records(dim: int, parts: int, instances: int) -> None:
    table = (ROOT / "results" / f"ablation_{dim}.md").read_text()
    assert table in (ROOT / "docs" / "research" / "rknes.md").read_text()
    header, _, *lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]
    assert len(lines) == parts
    runs = [run for run in read_records(ROOT / "results" / "ablation.jsonl") if run["dim"] == dim]
    for part, *cells, _ in lines:
        for function, cell in zip(header[1:-1], cells, strict=True):
            group = [run for run in runs if (run["without"], run["function"]) == (part, function)]
            assert sorted(run["instance"] for run in group) == list(range(1, instances + 1))
            middle = median(run["evaluations"] if run["solved"] else math.inf for run in group)
            text = "–" if math.isinf(middle) else f"{middle:,.0f}"
            solved = sum(run["solved"] for run in group)
            assert cell == (text if solved == instances else f"{text} ({solved}/{instances})")
