"""The entry point: parses the command line, runs the command and returns its exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from r1nes import __version__
from r1nes.cli import bench, coco, paper, report, resume, run
from r1nes.cli.exit_codes import INTERRUPTED, MISTAKE
from r1nes.cli.parser import Parser
from r1nes.display.text import printable
from r1nes.extras import needs

COMMANDS = (run, resume, report, paper, bench, coco)

EXAMPLES = """examples:
  r1nes run model.py:loss --dim 100 --checkpoint run.r1nes
  r1nes resume run.r1nes --max-evals 1e6
  r1nes report run.r1nes
  r1nes paper

See r1nes COMMAND --help for the flags of a command."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = _parser()
    if "_ARGCOMPLETE" in os.environ:  # the shell asks for completions
        _complete(parser)
    options = parser.parse_args(arguments)
    try:
        return int(options.run(options))
    except Exception as error:
        if getattr(options, "traceback", False):
            raise
        print(f"r1nes: {printable(_in_words(error))}", file=sys.stderr)
        return MISTAKE
    except KeyboardInterrupt:
        return INTERRUPTED


def _in_words(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError | ImportError | TypeError | ValueError):  # their messages are for users
        return str(error)
    return f"{type(error).__name__}: {error}"


def _parser() -> Parser:
    parser = Parser(
        prog="r1nes",
        description="Natural evolution strategies for functions of many interacting variables.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"r1nes {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add_to(commands)
    parser.commands = commands.choices
    return parser


def _complete(parser: Parser) -> None:
    """Print the completions of the command line, and exit."""
    with needs("argcomplete", extra="cli"):
        import argcomplete
    argcomplete.autocomplete(parser)
