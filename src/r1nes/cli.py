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
    except ModuleNotFoundError as error:
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
    paper = commands.add_parser("paper", help="reproduce the figures of the R1-NES paper")
    paper.add_argument(
        "--figure", choices=["cigar"], default="cigar", help="which one (default: %(default)s)"
    )
    paper.add_argument("--out", type=Path, default=Path("paper"), help="where to (default: %(default)s)")
    paper.set_defaults(command=_paper)
    bench = commands.add_parser("bench", help="compare methods, here and of other packages, side by side")
    bench.add_argument("--methods", type=_names, default="r1nes,snes,crfmnes,pypop7-r1nes", metavar="NAMES")
    bench.add_argument("--functions", type=_names, default="f1,f12", metavar="NAMES")
    bench.add_argument("--dims", type=_numbers, default="8,32", metavar="NUMBERS")
    bench.add_argument("--trials", type=int, default=3, help="runs of each cell (default: %(default)s)")
    bench.add_argument("--budget", type=int, help="evaluations per run (default: by dimension)")
    bench.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="runs at a time (default: %(default)s)"
    )
    bench.add_argument("--out", type=Path, default=Path("bench"), help="where to (default: %(default)s)")
    bench.set_defaults(command=_bench)
    return parser


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def _paper(options: argparse.Namespace) -> int:
    from r1nes.bench import cigar

    result = cigar.run()
    print(f"R1-NES on the cigar: {result.message} c = {result.history['c'][-1]:.2f} (log 1000 = 6.91)")
    cigar.draw(result, options.out / "cigar")
    print(f"{options.out / 'cigar'}.svg, .png, .pdf")
    return 0 if result.success else 1


def _bench(options: argparse.Namespace) -> int:
    from r1nes.bench import comparison, runner
    from r1nes.bench.statistics import summarize

    try:
        cells = runner.grid(options.methods, options.functions, options.dims, options.trials, options.budget)
        records, failures = runner.run(cells, options.out / "records.jsonl", jobs=options.jobs)
    except (BlockingIOError, ValueError) as error:
        print(f"r1nes: {error}", file=sys.stderr)
        return 2
    if records:
        summaries = summarize(records)
        print(comparison.table(summaries))
        comparison.draw(summaries, options.out / "comparison")
        print(f"{options.out / 'comparison'}.svg, .png, .pdf")
    for cell, trace in failures.items():
        print(f"r1nes: {cell} failed: {trace.strip().splitlines()[-1]}", file=sys.stderr)
    if missing := len(cells) - len(records) - len(failures):
        print(f"r1nes: interrupted, {missing} runs are missing; the same command goes on", file=sys.stderr)
    return 0 if len(records) == len(cells) else 1
