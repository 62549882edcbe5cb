"""``r1nes report``: summarise a checkpoint and plot it on an HTML page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from r1nes.cli import output
from r1nes.cli.exit_codes import ENDED
from r1nes.cli.function import load
from r1nes.cli.parser import add_command
from r1nes.display.text import printable

if TYPE_CHECKING:
    from r1nes.display.report import Report

EXAMPLES = """examples:
  r1nes report run.r1nes
  r1nes report run.r1nes --out pages/run.html --contour

This imports none of your code, unless --contour evaluates the function."""


def add_to(commands: Any) -> None:
    """Add the command and its flags."""
    parser = add_command(commands, "report", "summarise a checkpoint and plot it on an HTML page", EXAMPLES)
    parser.add_argument("checkpoint", type=Path, metavar="FILE", help="The checkpoint.")
    parser.add_argument(
        "--out", type=Path, help="The HTML page. (default: FILE with the suffix .html, or none with --json)"
    )
    parser.add_argument(
        "--contour", action="store_true", help="Plot contours, for 2 variables; evaluates the function."
    )
    parser.add_argument("--json", action="store_true", help="Print the result as one line of JSON.")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the page of a checkpoint and print its summary."""
    from r1nes.display.report import Report

    report, page = Report(options.checkpoint), options.out
    if page is None and not options.json:
        page = options.checkpoint.with_suffix(".html")
    if page is not None:
        report.write(page, _contour(report) if options.contour else None)
    if options.json:
        output.print_json(report.result, function=report.name, page=None if page is None else str(page))
    else:
        print(report.text())
        print(printable(str(page)))
    return ENDED


def _contour(report: Report) -> Any:
    """Import the function of a checkpoint, as a function of one point."""
    function = load(report.name)
    return (lambda x: function(x[None])[0]) if report.is_vectorized else function
