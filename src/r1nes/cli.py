"""The command line: ``r1nes paper``, ``r1nes bench``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from r1nes import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.command(options))
    except (BlockingIOError, ModuleNotFoundError, ValueError) as error:
        print(f"r1nes: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130  # as shells report it


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="r1nes", description="Natural evolution strategies for functions of many interacting variables."
    )
    parser.add_argument("--version", action="version", version=f"r1nes {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    paper = commands.add_parser(
        "paper",
        help="reproduce the evaluation of the R1-NES paper: its figures, and its claims with verdicts",
    )
    paper.add_argument("--full", action="store_true", help="the paper's grid: up to d = 512, 20 trials; days")
    paper.add_argument("--figure", action="append", metavar="NAME", help="only this one; may be repeated")
    paper.add_argument("--no-run", action="store_true", help="draw what is recorded, run nothing")
    paper.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="runs at a time (default: %(default)s)"
    )
    paper.add_argument("--out", type=Path, default=Path("paper"), help="where to (default: %(default)s)")
    paper.set_defaults(command=_paper)
    bench = commands.add_parser("bench", help="compare methods, here and of other packages, side by side")
    bench.add_argument("--methods", type=_names, default="rknes,snes,crfmnes,pypop7-rmes", metavar="NAMES")
    bench.add_argument("--functions", type=_names, default="f1,f12", metavar="NAMES")
    bench.add_argument("--dims", type=_numbers, default="8,32", metavar="NUMBERS")
    bench.add_argument("--trials", type=int, default=3, help="runs of each cell (default: %(default)s)")
    bench.add_argument("--budget", type=int, help="evaluations per run (default: by dimension)")
    bench.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="runs at a time (default: %(default)s)"
    )
    bench.add_argument(
        "--targets", metavar="METHOD", help="instead, whether this method keeps to its targets, up to d = 512"
    )
    bench.add_argument("--out", type=Path, default=Path("bench"), help="where to (default: %(default)s)")
    bench.set_defaults(command=_bench)
    return parser


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def _paper(options: argparse.Namespace) -> int:
    from r1nes.bench import paper

    for name in options.figure or []:
        if name not in paper.FIGURES:
            raise ValueError(f"--figure must be one of {', '.join(paper.FIGURES)}; got {name!r}")
    failures = paper.reproduce(
        options.out, figures=options.figure, full=options.full, measure=not options.no_run, jobs=options.jobs
    )
    for failure in failures:
        print(f"r1nes: {failure}", file=sys.stderr)
    for name in options.figure or ["index"]:
        print(options.out / (f"{name}.svg" if options.figure else f"{name}.html"))
    return 1 if failures else 0


def _bench(options: argparse.Namespace) -> int:
    from r1nes.bench import comparison, runner, targets
    from r1nes.bench.statistics import summarize

    if options.targets:
        cells = targets.cells(options.targets)
    else:
        cells = runner.grid(options.methods, options.functions, options.dims, options.trials, options.budget)
    records, failures = runner.run(cells, options.out / "records.jsonl", jobs=options.jobs)
    complaints = [f"{cell} failed: {trace.strip().splitlines()[-1]}" for cell, trace in failures.items()]
    if missing := len(cells) - len(records) - len(failures):
        complaints.append(f"interrupted, {missing} runs are missing; the same command goes on")
    if options.targets:
        print(targets.table(records))
        complaints += targets.missed(records)
    elif records:
        summaries = summarize(records)
        print(comparison.table(summaries))
        comparison.draw(summaries, options.out / "comparison")
        print(f"{options.out / 'comparison'}.svg, .png, .pdf")
    for complaint in complaints:
        print(f"r1nes: {complaint}", file=sys.stderr)
    return 1 if complaints else 0
