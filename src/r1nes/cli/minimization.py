"""The part that ``run`` and ``resume`` share: common flags, the call of ``minimize``, its errors."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TextIO

from scipy.optimize import OptimizeResult

from r1nes.cli import output
from r1nes.cli.exit_codes import FUNCTION_FAILED, MISTAKE, TERMINATED, exit_code
from r1nes.cli.function import in_one_line, load
from r1nes.cli.parser import Flag, number_or_word
from r1nes.cli.solution import Solution
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
    parser.add_argument(
        "--out",
        type=Path,
        help="A file for the best point: x as .npy, else the result as JSON. (default: above 20 variables, a "
        "new .npy file named after the function, unless --json prints x)",
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
    fun, solution = load(function), Solution(options.out, function)
    latest: list[OptimizeResult] = []  # the last generation, in case the function fails
    result: Result | Exception
    with _sigterm_interrupts() as terminated:
        try:
            result = _solve_with_progress(fun, options, settings, seconds, latest)
        except (ObjectiveError, EvaluationsLost, FloatingPointError) as error:  # the last if all are NaN
            result = error.cause if isinstance(error, ObjectiveError) else error
    if isinstance(result, Exception):
        for best in latest:
            _keep(best, options, solution, sys.stderr)
        if options.traceback:
            raise result
        print(f"r1nes: {function} failed: {in_one_line(result)}", file=sys.stderr)
        return FUNCTION_FAILED
    if options.json:
        checkpoint = None if options.checkpoint is None else str(options.checkpoint)
        output.print_json(result, function=function, checkpoint=checkpoint)
    else:
        output.print_text(result)
    if not _keep(result, options, solution, sys.stderr if options.json else sys.stdout):
        return MISTAKE
    return TERMINATED if terminated else exit_code(result, settings.get("ftarget"))


def _keep(result: OptimizeResult, options: argparse.Namespace, solution: Solution, to: TextIO) -> bool:
    """Write the best point to a file if nothing else shows it; return whether that succeeded."""
    if options.out is None and (options.json or len(result.x) <= output.PRINTED):
        return True
    try:
        print(f"x is in {solution.write(result)}", file=to)
    except OSError as error:
        print(f"r1nes: x could not be written to a file ({error.strerror})", file=sys.stderr)
        output.print_point(result)
        return False
    return True


@contextmanager
def _sigterm_interrupts() -> Iterator[list[int]]:
    """Let SIGTERM end a run as Ctrl-C does; yield a list that is empty until then."""
    received: list[int] = []

    def interrupt(number: int, _: object) -> None:
        received.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield received
    finally:
        signal.signal(signal.SIGTERM, before)


def _solve_with_progress(
    fun: Any,
    options: argparse.Namespace,
    settings: dict[str, Any],
    seconds: float,
    latest: list[OptimizeResult],
) -> Result:
    from r1nes.display.progress import Pace, progress_callback

    pace = Pace(settings.get("max_evals"), settings.get("max_seconds"), seconds)
    with ExitStack() as stack:
        show: Any = None
        if not options.quiet:
            show = stack.enter_context(progress_callback(pace, sys.stderr, options.every))

        def callback(intermediate_result: OptimizeResult) -> None:
            latest[:] = [intermediate_result]
            if show is not None:
                show(intermediate_result)

        return solve(fun, RunSettings(**settings, callback=callback))
