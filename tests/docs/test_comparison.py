"""The tables of the documentation are those of the recorded runs."""

from __future__ import annotations

import re
from pathlib import Path

from r1nes.bench.analysis.comparison import markdown
from r1nes.bench.analysis.statistics import summarize
from r1nes.bench.runner.grid import grid, recorded
from r1nes.cli.main import _parser

ROOT = Path(__file__).parents[2]


def test_the_comparison_is_that_of_its_command_and_records() -> None:
    page = (ROOT / "docs" / "choose.md").read_text()
    command = re.search(r"^    r1nes (bench .*--out results/comparison)$", page, re.MULTILINE)
    assert command
    options = _parser().parse_args(command[1].split())
    cells = grid(options.methods, options.functions, options.dims, options.trials, options.budget)
    table = markdown(summarize(recorded(cells, ROOT / "results/comparison/records.jsonl")))
    assert table in page
    assert table == (ROOT / "results" / "comparison" / "comparison.md").read_text()
