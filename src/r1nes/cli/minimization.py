"""The part that ``run`` and ``resume`` share: common flags, the call of ``minimize``, its errors."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from r1nes.cli import output
from r1nes.cli.exit_codes import FUNCTION_FAILED, exit_code
from r1nes.cli.function import in_one_line, load
from r1nes.cli.parser import Flag, number_or_word
from r1nes.minimize import solve
from r1nes.parallel.errors import EvaluationsLost, ObjectiveError
from r1nes.result import Result
from r1nes.settings import RunSettings

FLAGS = (
    Flag("max_evals", float),
    Flag("max_seconds", float),
    Flag(
        "workers",
        number_or_word,
        help="The number of processes, -1 for one per core, or threads:N. (default: 1)",
    ),
    Flag("timeout", float),
    Flag("retries", int),
    Flag("on_failure", str),
    Flag("checkpoint_every", float),
)


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that ``run`` and ``resume`` have in common."""
    for flag in FLAGS:
        flag.add_to(parser)
    parser.add_argument(
        "--every",
        type=float,
        default=10.0,
        help="The seconds between progress lines if not on a terminal. (default: 10)",
    )
    parser.add_argument("--quiet", action="store_true", help="Show no progress.")
    parser.add_argument("--json", action="store_true", help="Print the result as one line of JSON.")
    parser.add_argument("--traceback", action="store_true", help="Show the full traceback of an error.")


def minimize_function(
    options: argparse.Namespace, function: str, settings: dict[str, Any], seconds: float = 0.0
) -> int:
    """Minimise the function that ``function`` names, print the result and return the exit code.

    Args:
        options: The flags of the command, for the display and the output.
        function: The name, such as ``model.py:loss``.
        settings: Keyword arguments of ``minimize``.
        seconds: Time that earlier processes spent on the same run.
    """
    fun = load(function)
    result: Result | Exception
    try:
        result = _solve_with_progress(fun, options, settings, seconds)
    except (ObjectiveError, EvaluationsLost, FloatingPointError) as error:  # the last if all values are NaN
        result = error.cause if isinstance(error, ObjectiveError) else error
    if isinstance(result, Exception):
        if options.traceback:
            raise result
        print(f"r1nes: {function} failed: {in_one_line(result)}", file=sys.stderr)
        return FUNCTION_FAILED
    if options.json:
        checkpoint = None if options.checkpoint is None else str(options.checkpoint)
        output.print_json(result, function=function, checkpoint=checkpoint)
    else:
        output.print_text(result)
    return exit_code(result, settings.get("ftarget"))


def _solve_with_progress(
    fun: Any, options: argparse.Namespace, settings: dict[str, Any], seconds: float
) -> Result:
    from r1nes.display.progress import Pace, progress_callback

    if options.quiet:
        return solve(fun, RunSettings(**settings))
    pace = Pace(settings.get("max_evals"), settings.get("max_seconds"), seconds)
    with progress_callback(pace, sys.stderr, options.every) as callback:
        return solve(fun, RunSettings(**settings, callback=callback))
