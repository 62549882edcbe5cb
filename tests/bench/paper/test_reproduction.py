"""The reproduction of the paper, on a small grid of real runs."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from r1nes.bench.paper import reproduction as paper
from r1nes.bench.paper import timing
from r1nes.bench.paper.claims import CLAIMS
from r1nes.bench.paper.findings import SUITED, UNSUITED
from r1nes.bench.runner.measure import Cell
from r1nes.bench.runner.records import read_records
from r1nes.cli import main


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run everything once on a grid that takes seconds."""
    folder = tmp_path_factory.mktemp("paper")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paper, "QUICK_DIMS", [2, 8])
        patch.setattr(paper, "QUICK_TRIALS", 1)
        patch.setattr(paper, "paper_budget", lambda *_: 8_000)
        patch.setattr(paper, "_measure_timing", _few_timings)
        with pytest.MonkeyPatch.context() as only_run:
            only_run.setattr(paper, "_draw", lambda *_: None)
            assert main(["paper", "--out", str(folder), "--jobs", "2"]) == 0
        before = (folder / "records.jsonl").read_bytes()
        assert main(["paper", "--out", str(folder), "--jobs", "2"]) == 0
        assert (folder / "records.jsonl").read_bytes() == before, "the second call must only draw"
    return folder


def _few_timings() -> list[timing.Timing]:
    return [
        {"method": method, "dim": dim, "microseconds": 0.01 * dim}
        for method, (_, dims) in timing.TIMED_METHODS.items()
        for dim in dims
    ]


class Reader(HTMLParser):
    """Collects the URLs that a browser would fetch and the text that it would show."""

    def __init__(self) -> None:
        super().__init__()
        self.sources: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "a":
            self.sources += [value or "" for name, value in attrs if name in {"src", "href"}]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_every_cell_was_run_once(out: Path) -> None:
    records = read_records(out / "records.jsonl")
    assert len(records) == 12 * 2 * 4  # the paper's methods, and the default of today
    assert len({(r["method"], r["function"], r["dim"], r["trial"]) for r in records}) == len(records)


def test_the_page_is_complete_and_self_contained(out: Path) -> None:
    reader = Reader()
    reader.feed((out / "index.html").read_text())
    figures = [source for source in reader.sources if source.startswith("data:image/svg+xml;base64,")]
    assert len(figures) == len(paper.FIGURES) - 1  # all but the one of the full grid
    assert all(source.startswith("data:") for source in reader.sources)
    text = " ".join(reader.text)
    assert "96 recorded runs" in text
    for claim in CLAIMS:
        assert claim.says in text
    assert text.count("not run") == 1, "everything but Rosenbrock in 512 dimensions was run"
    assert "It is not known which settings and which functions the paper used" in text
    assert "RkNES solves all recorded runs on" in text
    assert re.search(r"f8 Rosenbrock\s+8\s+", text)


def test_every_figure_is_there_in_three_formats(out: Path) -> None:
    for name in set(paper.FIGURES) - {"pybrain"}:
        for suffix in ("svg", "png", "pdf"):
            assert (out / f"{name}.{suffix}").stat().st_size > 5_000


def test_drawing_alone_runs_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["paper", "--no-run", "--out", str(tmp_path)]) == 0
    assert not (tmp_path / "records.jsonl").exists()
    assert (tmp_path / "index.html").read_text().count(">not run<") == len(CLAIMS)
    assert (tmp_path / "gradients.svg").exists()
    assert not (tmp_path / "cigar.svg").exists()
    assert "index.html" in capsys.readouterr().out


def test_the_cigar_figure_alone(tmp_path: Path) -> None:
    assert main(["paper", "--figure", "cigar", "--out", str(tmp_path)]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"cigar.{s}" for s in ("json", "pdf", "png", "svg")
    ]
    runs = json.loads((tmp_path / "cigar.json").read_text())
    assert [run["seed"] for run in runs] == 3 * list(range(11))
    assert {run["method"] for run in runs} == {"r1nes", "r1nes-heuristic", "rknes"}
    assert all(run["solved"] for run in runs)
    first = {suffix: (tmp_path / f"cigar.{suffix}").read_bytes() for suffix in ("svg", "png", "pdf")}
    for label in ("log 1000", "best so far", "λ = log σ", "c = log ‖u‖"):
        assert label.encode() in first["svg"]
    assert main(["paper", "--figure", "cigar", "--no-run", "--out", str(tmp_path)]) == 0
    for suffix, content in first.items():
        assert (tmp_path / f"cigar.{suffix}").read_bytes() == content, "the same data must give the same file"


def test_an_unknown_figure_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["paper", "--figure", "7"]) == 2
    error = capsys.readouterr().err
    assert (
        error
        == "r1nes: --figure must be one of suited, unsuited, pybrain, runtime, cigar, gradients, "
        + ("parameterisations; got '7'\n")
    )


def test_the_full_grid_is_the_papers() -> None:
    cells = paper.paper_cells(SUITED + UNSUITED, full=True)
    others = [cell for cell in cells if not cell.method.startswith("rknes-")]
    assert len(others) == 12 * 20 * (9 + 9 + 6 + 2 * 9)  # the paper's, R1-NES with another preset, and RkNES
    full = {(cell.function, cell.dim) for cell in set(cells) - set(others)}
    assert full == {("f10", 512), ("f13", 512), ("f14", 512)} | {("f7", 2**k) for k in range(1, 10)}
    assert {cell.dim for cell in cells if cell.method == "xnes"} == {2, 4, 8, 16, 32, 64}
    assert Cell("r1nes", "f8", 512, 20, paper.paper_budget(512)) in cells
    assert paper.paper_budget(128) > 2.5e6


def test_the_authors_functions_are_in_the_full_grid_alone() -> None:
    assert not paper.paper_cells(paper.PYBRAIN, full=False)
    cells = paper.paper_cells(paper.PYBRAIN, full=True)
    assert len(cells) == 5 * 20 * (9 * 4 + 6)
    assert {"f6-pybrain", "f8-pybrain", "f9-pybrain", "f13-pybrain", "f14-pybrain"} == {
        cell.function for cell in cells
    }


def test_a_part_of_the_grid_is_run_and_everything_recorded_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(paper, "paper_budget", lambda *_: 8_000)
    drawn: list[set[tuple[str, str, int]]] = []
    monkeypatch.setattr(paper, "_draw", lambda _, findings, __: drawn.append(set(findings.summaries)))
    command = ["paper", "--full", "--figure", "pybrain", "--jobs", "1", "--out", str(tmp_path)]
    assert main([*command, "--methods", "r1nes-heuristic", "--dims", "2", "--trials", "2"]) == 0
    assert main([*command, "--methods", "snes,r1nes", "--dims", "4", "--trials", "1"]) == 0
    records = read_records(tmp_path / "records.jsonl")
    expected = {(name, trial, 2) for name in ("r1nes-heuristic",) for trial in (1, 2)}
    expected |= {(name, 1, 4) for name in ("snes", "r1nes")}
    assert {(r["method"], r["trial"], r["dim"]) for r in records} == expected
    assert {r["function"] for r in records} == set(paper.PYBRAIN)
    assert len(records) == 5 * len(expected)
    assert drawn[1] == {(r["method"], r["function"], r["dim"]) for r in records}
    single = ["--methods", "snes", "--functions", "f6-pybrain", "--dims", "2", "--trials", "1"]
    assert main([*command, *single]) == 0
    (last,) = read_records(tmp_path / "records.jsonl")[len(records) :]
    assert (last["method"], last["function"], last["dim"]) == ("snes", "f6-pybrain", 2)
    capsys.readouterr()
    assert main([*command, "--methods", "cma"]) == 2
    assert main([*command, "--functions", "f1"]) == 2
    assert main([*command, "--dims", "3"]) == 2
    assert capsys.readouterr().err == (
        "r1nes: --methods must be among r1nes, r1nes-heuristic, snes, xnes, rknes; got 'cma'\n"
        f"r1nes: --functions must be among {', '.join(paper.PYBRAIN)}; got 'f1'\n"
        "r1nes: --dims must be among 2, 4, 8, 16, 32, 64, 128, 256, 512; got 3\n"
    )
