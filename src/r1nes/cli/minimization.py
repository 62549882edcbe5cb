"""The part that ``run`` and ``resume`` share: common flags, the call of ``minimize``, its errors."""

from __future__ import annotations

import argparse
import sys
import traceback
from typing import Any

from r1nes.cli import output
from r1nes.cli.exit_codes import FUNCTION_FAILED, exit_code
from r1nes.cli.function import in_one_line, load
from r1nes.cli.parser import Flag, number_or_word
from r1nes.minimize import minimize
from r1nes.parallel import objective

FLAGS = (
    Flag("max_evals", float, "the most evaluations, of all runs together"),
    Flag("max_seconds", float, "the most time, of all runs together"),
    Flag("workers", number_or_word, "processes, or threads:N (default: %(default)s)", default="1"),
    Flag("timeout", float, "seconds that an evaluation may take"),
    Flag("on_failure", str, "or worst: failures rank last (default: %(default)s)", default="raise"),
    Flag("checkpoint_every", float, "seconds (default: %(default)s)", default=10.0),
)


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that ``run`` and ``resume`` have in common."""
    for flag in FLAGS:
        flag.add_to(parser)
    parser.add_argument(
        "--every",
        type=float,
        default=10.0,
        help="seconds between progress lines without a terminal (default: 10)",
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument("--json", action="store_true", help="print the result as one line of JSON")
    parser.add_argument("--traceback", action="store_true", help="show the full traceback of an error")


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
    try:
        result = _minimize_with_progress(fun, options, settings, seconds)
    except Exception as error:
        if options.traceback or not _function_failed(error):
            raise
        print(f"r1nes: {function} failed: {in_one_line(error)}", file=sys.stderr)
        return FUNCTION_FAILED
    if options.json:
        checkpoint = None if options.checkpoint is None else str(options.checkpoint)
        output.print_json(result, function=function, checkpoint=checkpoint)
    else:
        output.print_text(result)
    return exit_code(result, settings.get("ftarget"))


def _minimize_with_progress(
    fun: Any, options: argparse.Namespace, settings: dict[str, Any], seconds: float
) -> Any:
    from r1nes.display.progress import Pace, progress_callback

    if options.quiet:
        return minimize(fun, **settings)
    pace = Pace(settings.get("max_evals"), settings.get("max_seconds"), seconds)
    with progress_callback(pace, sys.stderr, options.every) as callback:
        return minimize(fun, callback=callback, **settings)


def _function_failed(error: Exception) -> bool:
    """Whether the user's function is the cause: it raised, returned no number, or crashed its worker."""
    if isinstance(error, FloatingPointError) or hasattr(error, "__notes__"):
        return True
    files = {frame.filename for frame in traceback.extract_tb(error.__traceback__)}
    lost = isinstance(error, RuntimeError) and "were lost" in str(error)
    return lost or objective.__file__ in files
