"""Reproduce the paper's evaluation: run its grid, draw its figures, check its claims, write one page."""

from __future__ import annotations

import json
import math
import multiprocessing
from collections.abc import Callable, Collection
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from r1nes.bench.analysis import comparison
from r1nes.bench.analysis.comparison import Look
from r1nes.bench.analysis.statistics import Summary, summarize
from r1nes.bench.functions.problems import titled
from r1nes.bench.paper import cigar, illustrations, timing
from r1nes.bench.paper.findings import AUTHORS, FORM, NAMES, SUITED, UNSUITED, Findings
from r1nes.bench.paper.leads import LEADS
from r1nes.bench.paper.page import Section, Table, write
from r1nes.bench.runner import grid
from r1nes.bench.runner.measure import Cell
from r1nes.bench.runner.records import read_records
from r1nes.display.style import BLACK, BLUE, GREY, ORANGE
from r1nes.strategies.rank_k.strategy import LARGEST_FULL

# The paper's methods and the default of today; in the full grid also what may explain their results.
QUICK_METHODS = ["r1nes", "snes", "xnes", "rknes"]
FULL_METHODS = ["r1nes", "r1nes-heuristic", "snes", "xnes", "rknes", "rknes-full", "rknes-10d"]
XNES_UP_TO = 64  # as in the paper, where larger runs took hours
FULL_BASE = {"f10", "f13", "f14"}  # what RkNES solves over a full base, its default up to LARGEST_FULL

QUICK_DIMS, QUICK_TRIALS = [2, 4, 8, 16, 32], 3
FULL_DIMS, FULL_TRIALS = [2**k for k in range(1, 10)], 20

# Functions on which a claim may depend on the form; only in the full grid.
PYBRAIN = [function + FORM for function in AUTHORS]
LOOKS = {
    "r1nes": Look(NAMES["r1nes"], BLUE, (0, ()), "o"),
    "r1nes-heuristic": Look(NAMES["r1nes-heuristic"], BLUE, (0, (4, 2)), "s"),
    "snes": Look(NAMES["snes"], GREY, (0, (1, 1)), "D"),
    "xnes": Look(NAMES["xnes"], BLACK, (0, (6, 2, 1, 2)), "^"),
    "rknes": Look(NAMES["rknes"], ORANGE, (0, ()), "v", lw=1.8),
    "rknes-full": Look(NAMES["rknes-full"], ORANGE, (0, (1, 1)), "*"),
    "rknes-10d": Look(NAMES["rknes-10d"], ORANGE, (0, (4, 2)), "X"),
}
GRIDS = {"suited": SUITED, "unsuited": UNSUITED, "pybrain": PYBRAIN}
COLUMNS = {"suited": 4, "unsuited": 2, "pybrain": 3}  # panels in a row
FIGURES = [*GRIDS, "runtime", "cigar", "gradients", "parameterisations"]


def paper_budget(dim: int) -> int:
    """Return the evaluations allowed per run; a run that exhausts them has failed.

    The most that R1-NES needs where it succeeds is about 150 d², on Rosenbrock's function.
    """
    return 100_000 + 10_000 * dim + 300 * dim * dim


# Failing runs of RkNES that would take hours are cut; with 512 variables its base is a diagonal, and rotating
# them is what takes most of the time.
CUT = {("rknes", function, 512): 3_000_000 for function in ("f6", "f7", "f13")}
CUT |= {("rknes", function, 512): 1_000_000 for function in ("f10", "f14")}
CUT["rknes", "f7", 256] = 3_000_000


def paper_cells(functions: list[str], *, full: bool) -> list[Cell]:
    """Return the paper's grid with further methods, or a small grid with half of the budget."""
    dims, trials = (FULL_DIMS, FULL_TRIALS) if full else (QUICK_DIMS, QUICK_TRIALS)
    share = 1 if full else 2
    if not full:
        functions = [function for function in functions if function not in PYBRAIN]
    return [
        Cell(method, function, dim, trial, CUT.get((method, function, dim), paper_budget(dim)) // share)
        for function in functions
        for dim in dims
        for method in (FULL_METHODS if full else QUICK_METHODS)
        for trial in range(1, trials + 1)
        if _belongs(method, function, dim)
    ]


def _belongs(method: str, function: str, dim: int) -> bool:
    """Return whether the grid has runs of ``method`` on the function."""
    if method == "rknes-full":
        return dim > LARGEST_FULL and function in FULL_BASE
    if method == "rknes-10d":
        return function == "f7"  # plateaus
    return method != "xnes" or dim <= XNES_UP_TO


class Part(NamedTuple):
    """The part of the grid to run now; None stands for all."""

    methods: Collection[str] | None = None
    functions: Collection[str] | None = None
    dims: Collection[int] | None = None
    trials: int | None = None  # the first ones

    def of(self, cells: list[Cell]) -> list[Cell]:
        """Return the ``cells`` of this part; every method, function and dimension must occur in them."""
        for flag, names, known in (
            ("--methods", self.methods, {cell.method: None for cell in cells}),
            ("--functions", self.functions, {cell.function: None for cell in cells}),
            ("--dims", self.dims, {cell.dim: None for cell in cells}),
        ):
            for name in names or ():
                if cells and name not in known:
                    raise ValueError(f"{flag} must be among {', '.join(map(str, known))}; got {name!r}")
        return [
            cell
            for cell in cells
            if (self.methods is None or cell.method in self.methods)
            and (self.functions is None or cell.function in self.functions)
            and (self.dims is None or cell.dim in self.dims)
            and (self.trials is None or cell.trial <= self.trials)
        ]


def reproduce(
    out: Path,
    *,
    figures: list[str] | None = None,
    full: bool = False,
    measure: bool = True,
    jobs: int = 1,
    part: Part = Part(),  # noqa: B008 - it is immutable
) -> list[str]:
    """Run what is missing in ``out`` and draw the figures; if all are wanted, write ``index.html``.

    Args:
        out: The folder of the records, the figures and the page.
        figures: Names from ``FIGURES``; all by default.
        full: Use the paper's grid instead of a small one.
        measure: Whether to run what is missing; otherwise, only draw what is recorded.
        jobs: Number of runs at a time.
        part: The runs to make; the figures show all that are recorded.

    Returns:
        A line for each run that failed.
    """
    wanted = FIGURES if figures is None else figures
    cells = grid_cells(wanted, full=full)
    path, chosen = out / "records.jsonl", part.of(cells)
    failures: dict[Cell, str] = {}
    if measure and chosen:
        _, failures = grid.run(chosen, path, jobs=jobs, as_published=True)
    findings = recorded(out, wanted, cells, measure=measure)
    sections = [section for name in wanted if (section := _draw(name, findings, out)) is not None]
    if figures is None:
        write(out / "index.html", sections, findings)
    return [f"{cell} failed: {trace.strip().splitlines()[-1]}" for cell, trace in failures.items()]


def recorded(out: Path, wanted: list[str], cells: list[Cell], *, measure: bool = False) -> Findings:
    """Return what ``out`` has of the ``cells``, and of what else the ``wanted`` figures need."""
    path = out / "records.jsonl"
    found = {grid.cell_of(record): record for record in (read_records(path) if path.exists() else [])}
    return Findings(
        summarize(found[cell] for cell in cells if cell in found),
        _stored(out / "timing.json", _measure_timing, measure) if "runtime" in wanted else [],
        _stored(out / "cigar.json", cigar.measure, measure) if "cigar" in wanted else [],
    )


def grid_cells(figures: list[str], *, full: bool) -> list[Cell]:
    """Return the runs that the ``figures`` show."""
    return [cell for name in figures if name in GRIDS for cell in paper_cells(GRIDS[name], full=full)]


def _stored(path: Path, measure: Callable[[], list[Any]], may_measure: bool) -> list[Any]:
    """Return the content of ``path``, or measure it now and store it there."""
    if not path.exists():
        if not may_measure:
            return []
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(measure(), indent=1) + "\n", encoding="utf-8")
        partial.replace(path)
    stored: list[Any] = json.loads(path.read_text(encoding="utf-8"))
    return stored


def _measure_timing() -> list[timing.Timing]:
    """Measure timings in a separate process whose BLAS has one thread from the start."""
    with grid.single_blas_thread(), ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(timing.measure).result()


def _draw(name: str, findings: Findings, out: Path) -> Section | None:
    """Draw one figure; return None if there is no data for it."""
    path = out / name
    if name in GRIDS:
        summaries = {key: value for key, value in findings.summaries.items() if key[1] in GRIDS[name]}
        if not summaries:
            return None
        counted = "rknes" if name == "unsuited" else None
        comparison.draw(
            summaries, path, statistic="median_solved", looks=LOOKS, columns=COLUMNS[name], counted=counted
        )
        return Section(name, LEADS[name](findings), _grid_table(summaries))
    if name == "runtime":
        if not findings.timings:
            return None
        timing.draw(findings.timings, path)
        return Section(name, table=_timing_table(findings.timings))
    if name == "cigar":
        if not findings.cigar:
            return None
        cigar.draw(findings.cigar, path)
        return Section(name, table=_cigar_table(findings.cigar))
    if name == "gradients":
        illustrations.draw_gradients(path)
    else:
        illustrations.draw_parameterisations(path)
    return Section(name)


def _grid_table(summaries: comparison.Summaries) -> Table:
    methods = list(dict.fromkeys(method for method, _, _ in summaries))
    rows = []
    for function, dim in dict.fromkeys((function, dim) for _, function, dim in summaries):
        row = [titled(function), str(dim)]
        for method in methods:
            summary = summaries.get((method, function, dim))
            row.append("" if summary is None else _entry(summary))
        rows.append(row)
    return Table(["function", "d", *(NAMES[method] for method in methods)], rows)


def _entry(summary: Summary) -> str:
    """Return the evaluations, or the precision where the paper omits them, and how many runs succeeded."""
    omitted = math.isnan(summary.median_solved)
    reached = f"({summary.precision:.0e})" if omitted else f"{summary.median_solved:,.0f}"
    return f"{reached} {summary.solved}/{summary.runs}"


def _timing_table(timings: list[timing.Timing]) -> Table:
    methods = list(dict.fromkeys(str(t["method"]) for t in timings))
    cost = {(t["method"], t["dim"]): f"{t['microseconds']:.1f}" for t in timings}
    dims = sorted({int(t["dim"]) for t in timings})
    return Table(["d", *methods], [[str(dim), *(cost.get((m, dim), "") for m in methods)] for dim in dims])


def _cigar_table(runs: list[cigar.Run]) -> Table:
    rows = [
        [NAMES[method], *(str(run[name]) for name in ("seed", "evaluations", "c"))]
        for method in NAMES
        for run in cigar.runs_of(runs, method)
    ]
    return Table(["method", "seed", "evaluations to 1e-8", "last c"], rows)
