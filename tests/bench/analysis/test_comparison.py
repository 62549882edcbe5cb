from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import matplotlib.figure
import numpy as np
import pytest

from r1nes.bench.analysis.comparison import Look, _counts, _line, draw, markdown, table
from r1nes.bench.analysis.statistics import Summary
from r1nes.cli import main


def summary(median: float, solved: int = 3) -> Summary:
    return Summary(3, solved, 0, median, median, 0.25, 12.34)


def test_methods_stand_side_by_side() -> None:
    text = table(
        {
            ("r1nes", "f1", 8): summary(1234),
            ("snes", "f1", 8): summary(float("inf"), solved=1),
            ("r1nes", "f12", 32): summary(56789, solved=2),
        }
    )
    assert text.splitlines()[:3] == [
        "function   d   r1nes         µs       snes         µs",
        "f1         8   1,234  3/3  12.3  (2.5e-01)  1/3  12.3",
        "f12       32  56,789  2/3  12.3",
    ]


@pytest.mark.parametrize("functions", [1, 5])
@pytest.mark.parametrize("median", [1234.0, float("inf")])
def test_a_figure_of_any_number_of_functions(functions: int, median: float, tmp_path: Path) -> None:
    names = ["f1", "f2", "cigar", "f8", "f9"][:functions]
    draw({("snes", name, d): summary(median) for name in names for d in (8, 32)}, tmp_path / "figure")
    assert {file.suffix for file in tmp_path.iterdir()} == {".svg", ".png", ".pdf"}
    assert "snes" in (tmp_path / "figure.svg").read_text()


def test_markers_are_hollow_where_runs_are_few_or_failed() -> None:
    def run(solved: int, runs: int) -> Summary:
        return replace(summary(1000.0, solved), runs=runs, quartiles=(900.0, 1200.0))

    figure = matplotlib.figure.Figure()
    panel = figure.subplots()
    given = [run(5, 5), run(4, 5), run(3, 3), run(20, 20)]
    _line(panel, [2, 4, 8, 16], [1000.0] * 4, given, color="black", label="snes", marker="o", ls="-")
    filled, hollow = panel.get_lines()
    assert filled.get_markevery() == [0, 3]
    assert np.array_equal(hollow.get_xdata(), [4, 8])
    assert hollow.get_markerfacecolor() == "white"
    (quartiles,) = panel.collections
    assert [segment[:, 1].tolist() for segment in quartiles.get_segments()] == [[900, 1200]] * 4  # type: ignore[attr-defined]


def test_the_runs_of_one_method_are_counted_below_the_lines() -> None:
    figure = matplotlib.figure.Figure()
    panel = figure.subplots()
    _counts(panel, 10.0, "black", {8: summary(1234.0), 32: summary(1.0, solved=2)})
    assert [(text.get_position(), text.get_text()) for text in panel.texts] == [
        ((8, 10.0), "3/3"),
        ((32, 10.0), "2/3"),
    ]


def test_lines_have_the_looks_and_the_order_that_were_asked_for(tmp_path: Path) -> None:
    looks = {
        name: Look(name.upper(), color, (0, ()), "o")
        for name, color in (("a", "#123456"), ("b", "#654321"), ("c", "#abcdef"))
    }
    found = {(method, "f1", d): summary(9.0) for method in ("b", "a") for d in (2, 4)}
    draw(found, tmp_path / "figure", looks=looks, counted="a")
    svg = (tmp_path / "figure.svg").read_text()
    assert svg.index("#123456") < svg.index("#654321")
    assert "#abcdef" not in svg, "no runs, no line"
    assert "3/3" in svg


def test_the_command_runs_only_missing_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = f"bench --methods snes --functions f1 --dims 2 --budget 5000 --jobs 2 --out {tmp_path}".split()
    assert main([*command, "--trials", "1"]) == 0
    first = (tmp_path / "records.jsonl").read_text()
    assert main([*command, "--trials", "2"]) == 0
    assert (tmp_path / "records.jsonl").read_text().startswith(first)
    assert "2/2" in capsys.readouterr().out
    assert (tmp_path / "comparison.png").exists()
    (tmp_path / "comparison.png").unlink()
    recorded = (tmp_path / "records.jsonl").read_text()
    assert main([*command, "--trials", "3", "--no-run"]) == 0
    assert (tmp_path / "records.jsonl").read_text() == recorded
    assert "2/2" in capsys.readouterr().out
    assert (tmp_path / "comparison.png").exists()


def test_the_table_counts_runs_where_they_differ_or_failed() -> None:
    given = {"a": summary(10.0), "b": replace(summary(20.0, 1), runs=1), "c": summary(30.0, 2)}
    row = markdown({(name, "f1", 8): entry for name, entry in given.items()}).splitlines()[-1]
    assert row.endswith("| **10** | 20 1/1 | 30 2/3 |")


@pytest.mark.parametrize("wrong", [["--methods", "nes"], ["--functions", "f3"], ["--dims", "1"]])
def test_an_unknown_name_is_reported_in_one_line(
    wrong: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *wrong, "--out", str(tmp_path)]) == 2
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1
    assert wrong[1] in errors


def test_a_failed_run_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = f"bench --methods snes --functions f1 --dims 2 --trials 1 --budget 1 --out {tmp_path}"
    assert main(command.split()) == 1
    assert "snes on f1, d = 2, trial 1 failed: ValueError: max_evals" in capsys.readouterr().err


def test_the_best_entries_of_the_markdown_table_are_bold() -> None:
    text = markdown(
        {
            ("rknes", "f1", 8): summary(1234.0),
            ("snes", "f1", 8): summary(4321.0, solved=2),
            ("rknes", "f1", 32): summary(float("inf"), solved=0),
            ("rknes", "sphere", 8): summary(5.0),
        }
    )
    assert text.splitlines() == [
        "| function | d | rknes | snes |",
        "|---|---|---|---|",
        "| f1 Sphere | 8 | **1,234** | 4,321 2/3 |",
        "|  | 32 | **(0.25)** |  |",
        "| sphere | 8 | **5** |  |",
    ]
