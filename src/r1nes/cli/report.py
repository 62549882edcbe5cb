"""``r1nes report``: summarise a checkpoint and plot it on an HTML page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from r1nes.cli import output
from r1nes.cli.exit_codes import ENDED
from r1nes.cli.function import load
from r1nes.cli.parser import add_command

EXAMPLES = """examples:
  r1nes report run.r1nes
  r1nes report run.r1nes --out pages/run.html --contour

This imports none of your code, unless --contour evaluates the function."""


def add_to(commands: Any) -> None:
    """Add the command and its flags."""
    parser = add_command(commands, "report", "summarise a checkpoint and plot it on an HTML page", EXAMPLES)
    parser.add_argument("checkpoint", type=Path, metavar="FILE", help="The checkpoint.")
    parser.add_argument("--out", type=Path, help="The HTML page. (default: FILE with the suffix .html)")
    parser.add_argument(
        "--contour", action="store_true", help="Plot contours, for 2 variables; evaluates the function."
    )
    parser.add_argument("--json", action="store_true", help="Print the result as one line of JSON.")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the page of a checkpoint and print its summary."""
    from r1nes.display.report import Report

    report = Report(options.checkpoint)
    page = options.out or options.checkpoint.with_suffix(".html")
    report.write(page, _contour(report.fun) if options.contour else None)
    if options.json:
        output.print_json(report.result, function=report.fun["name"], page=str(page))
    else:
        print(report.text())
        print(page)
    return ENDED


def _contour(fun: dict[str, Any]) -> Any:
    """Import the function of a checkpoint, as a function of one point."""
    function = load(fun["name"])
    return (lambda x: function(x[None])[0]) if fun["vectorized"] else function
