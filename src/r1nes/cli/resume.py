"""``r1nes resume``: continue a run from its checkpoint."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from r1nes.cli import exit_codes, minimization
from r1nes.cli.parser import add_command, keywords
from r1nes.settings import Settings
from r1nes.storage.run_file import read

EXAMPLES = f"""examples:
  r1nes resume run.r1nes
  r1nes resume run.r1nes --max-evals 2e6 --workers 4

This imports the function that the file names: resume only files you trust.

{exit_codes.HELP}"""


def add_to(commands: Any) -> None:
    """Add the command and its flags."""
    parser = add_command(commands, "resume", "resume a run from its checkpoint", EXAMPLES)
    parser.add_argument("checkpoint", type=Path, metavar="FILE", help="The checkpoint.")
    parser.add_argument("--function", help="MODULE:FUNCTION or FILE.py:FUNCTION, if it has moved.")
    minimization.add_flags(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Resume a run with its own settings and limits, unless flags set new limits."""
    tree = read(options.checkpoint)
    search, fun = tree["search"], tree["fun"]
    if not (fun["importable"] or options.function):
        raise ValueError(
            f"{options.checkpoint} is a run of {fun['name']}, which cannot be imported or takes further "
            "arguments: name a function with --function, or resume with the same call of minimize in Python"
        )
    settings = Settings.from_plain(search["settings"]).keywords() | {
        "restarts": search["restarts"],
        "vectorized": fun["vectorized"],
        "checkpoint": options.checkpoint,
        **keywords(options, minimization.FLAGS),
    }
    seconds = search["optimizer"]["stopping"]["seconds"]
    return minimization.minimize_function(options, options.function or fun["name"], settings, seconds)
