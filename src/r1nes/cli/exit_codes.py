"""The exit codes of ``r1nes``: they tell a missed target from a mistake or a failing function."""

from __future__ import annotations

from r1nes.result import Result

ENDED, SHORT_OF_TARGET, MISTAKE, FUNCTION_FAILED, INTERRUPTED = 0, 1, 2, 3, 130
TERMINATED = 143

HELP = """exit codes:
  0  the run reached its target or, without one, converged or reached a limit
  1  the run missed its target or got stuck
  2  the command is wrong, or a file cannot be read
  3  the function failed
  130  Ctrl-C; the best point so far is printed and the checkpoint is written
  143  SIGTERM; likewise"""


def exit_code(result: Result, ftarget: float | None) -> int:
    """Return the exit code of a completed or interrupted run."""
    if "interrupt" in result.stop:
        return INTERRUPTED
    reached_limit = "max_evals" in result.stop or "max_seconds" in result.stop
    ended = result.success or (ftarget is None and reached_limit)
    return ENDED if ended else SHORT_OF_TARGET
