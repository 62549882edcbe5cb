"""``r1nes bench``: compare methods of r1nes and of other packages."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from r1nes.cli.parser import add_command, names, numbers


def add_to(commands: Any) -> None:
    """Add the command and its flags."""
    parser = add_command(commands, "bench", "compare methods of r1nes and of other packages side by side")
    parser.add_argument(
        "--methods",
        type=names,
        default="rknes,snes,crfmnes,pypop7-rmes",
        metavar="NAMES",
        help="The methods. (default: %(default)s)",
    )
    parser.add_argument(
        "--functions",
        type=names,
        default="f1,f12",
        metavar="NAMES",
        help="The functions. (default: %(default)s)",
    )
    parser.add_argument(
        "--dims",
        type=numbers,
        default="8,32",
        metavar="NUMBERS",
        help="The dimensions. (default: %(default)s)",
    )
    parser.add_argument(
        "--trials",
        type=numbers,
        default="3",
        metavar="NUMBERS",
        help="Runs per method and function; one number, or one for each dimension. (default: %(default)s)",
    )
    parser.add_argument(
        "--budget",
        type=numbers,
        metavar="NUMBERS",
        help="Evaluations per run; one number, or one for each dimension. (default: by dimension)",
    )
    parser.add_argument(
        "--restarts",
        type=int,
        default=0,
        help="Restarts of the methods of r1nes; others do not restart. (default: %(default)s)",
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="Runs in parallel. (default: %(default)s)"
    )
    parser.add_argument(
        "--targets",
        metavar="METHOD",
        help="Check instead whether this method meets its targets, up to d = 512.",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("bench"), help="The output folder. (default: %(default)s)"
    )
    parser.add_argument("--no-run", action="store_true", help="Show the recorded runs without new ones.")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the cells that are not recorded yet, print a table and draw the comparison."""
    from r1nes.bench.analysis import comparison, targets
    from r1nes.bench.analysis.statistics import summarize
    from r1nes.bench.runner import grid as runner

    if options.targets:
        cells = targets.cells(options.targets)
    else:
        cells = runner.grid(
            options.methods,
            options.functions,
            options.dims,
            options.trials,
            options.budget,
            options.restarts,
        )
    path = options.out / "records.jsonl"
    records, failures = (
        (runner.recorded(cells, path), {}) if options.no_run else runner.run(cells, path, jobs=options.jobs)
    )
    complaints = [f"{cell} failed: {trace.strip().splitlines()[-1]}" for cell, trace in failures.items()]
    missing = len(cells) - len(records) - len(failures)
    if missing and not options.no_run:
        complaints.append(f"interrupted, {missing} runs are missing; repeat the command to resume")
    if options.targets:
        print(targets.table(records))
        complaints += targets.missed(records)
    elif records:
        summaries = summarize(records)
        print(comparison.table(summaries))
        comparison.draw(summaries, options.out / "comparison")
        (options.out / "comparison.md").write_text(comparison.markdown(summaries), encoding="utf-8")
        print(f"{options.out / 'comparison'}.svg, .png, .pdf, .md")
    for complaint in complaints:
        print(f"r1nes: {complaint}", file=sys.stderr)
    return 1 if complaints else 0
