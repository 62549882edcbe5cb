"""``r1nes paper``: reproduce the evaluation of the R1-NES paper."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from r1nes.cli.parser import add_command, names, numbers
from r1nes.extras import needs


def add_to(commands: Any) -> None:
    """Add the command and its flags."""
    parser = add_command(
        commands,
        "paper",
        "reproduce the evaluation of the R1-NES paper: its figures, and its claims with verdicts",
    )
    parser.add_argument(
        "--full", action="store_true", help="Use the paper's grid: up to d = 512, 20 trials; takes days."
    )
    parser.add_argument(
        "--figure", action="append", metavar="NAME", help="Draw only this figure; may be repeated."
    )
    parser.add_argument(
        "--methods", type=names, metavar="NAMES", help="Run only these methods of the grid; draw all."
    )
    parser.add_argument(
        "--functions", type=names, metavar="NAMES", help="Run only these functions of the grid; draw all."
    )
    parser.add_argument(
        "--dims", type=numbers, metavar="NUMBERS", help="Run only these dimensions of the grid; draw all."
    )
    parser.add_argument("--trials", type=int, help="Run only this many trials of the grid; draw all.")
    parser.add_argument("--no-run", action="store_true", help="Plot the recorded runs without new ones.")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="Runs in parallel. (default: %(default)s)"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("paper"), help="The output folder. (default: %(default)s)"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the missing measurements, draw the figures and print their paths."""
    from r1nes.bench.paper import reproduction

    _check_packages()
    for name in options.figure or []:
        if name not in reproduction.FIGURES:
            raise ValueError(f"--figure must be one of {', '.join(reproduction.FIGURES)}; got {name!r}")
    failures = reproduction.reproduce(
        options.out,
        figures=options.figure,
        full=options.full,
        measure=not options.no_run,
        jobs=options.jobs,
        part=reproduction.Part(options.methods, options.functions, options.dims, options.trials),
    )
    for failure in failures:
        print(f"r1nes: {failure}", file=sys.stderr)
    for name in options.figure or ["index"]:
        print(options.out / (f"{name}.svg" if options.figure else f"{name}.html"))
    return 1 if failures else 0


def _check_packages() -> None:
    """Report missing packages before hours of measurement."""
    for package in ("jinja2", "matplotlib"):
        with needs(package, extra="bench"):
            import_module(package)
