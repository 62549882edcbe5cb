"""The command line: ``r1nes paper``."""

from __future__ import annotations

import argparse
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
    return parser


def _paper(options: argparse.Namespace) -> int:
    from r1nes.bench import cigar

    result = cigar.run()
    print(f"R1-NES on the cigar: {result.message} c = {result.history['c'][-1]:.2f} (log 1000 = 6.91)")
    cigar.draw(result, options.out / "cigar")
    print(f"{options.out / 'cigar'}.svg, .png, .pdf")
    return 0 if result.success else 1
