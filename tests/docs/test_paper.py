"""The page about the paper shows the verdicts of the recorded runs."""

from __future__ import annotations

from pathlib import Path

from r1nes.bench.paper.page import markdown
from r1nes.bench.paper.reproduction import FIGURES, grid_cells, recorded

ROOT = Path(__file__).parents[2]


def test_the_verdicts_are_those_of_the_records() -> None:
    table = markdown(recorded(ROOT / "results" / "paper", FIGURES, grid_cells(FIGURES, full=True)))
    assert table == (ROOT / "results" / "paper" / "claims.md").read_text()
    assert table in (ROOT / "docs" / "paper.md").read_text()
