"""Progress of a run: a live display on a terminal, a line at intervals elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from scipy.optimize import OptimizeResult

from r1nes.extras import needs

if TYPE_CHECKING:
    from rich.table import Table

Callback = Callable[[OptimizeResult], None]


@dataclass
class Pace:
    """The speed of a run and the time until it reaches one of its limits.

    ``seconds`` is the time that earlier processes spent on the same run, if it was resumed.
    """

    max_evals: float | None = None
    max_seconds: float | None = None
    seconds: float = 0.0
    clock: Callable[[], float] = time.monotonic
    result: OptimizeResult | None = None  # the latest
    _first: int = 0  # evaluations at the first result
    _began: float = field(init=False)

    def __post_init__(self) -> None:
        """Start the clock."""
        self._began = self.clock()

    def record(self, result: OptimizeResult) -> None:
        """Record the state of the run after a generation."""
        if self.result is None:
            self._first = result.nfev
            self._began = self.clock()
        self.result = result

    def elapsed(self) -> float:
        """Return the seconds spent on the whole run."""
        return self.seconds + self.clock() - self._began

    def rate(self) -> float:
        """Return the evaluations per second since the first recorded generation."""
        took = self.clock() - self._began
        return (self.result.nfev - self._first) / took if self.result is not None and took > 0 else 0.0

    def remaining(self) -> float | None:
        """Return the seconds until the run reaches a limit; None without a limit or an estimate."""
        known = []
        if self.max_seconds is not None:
            known.append(self.max_seconds - self.elapsed())
        if self.max_evals is not None and self.result is not None and (rate := self.rate()) > 0:
            known.append((self.max_evals - self.result.nfev) / rate)
        return max(0.0, min(known)) if known else None


@contextmanager
def progress_callback(pace: Pace, stream: TextIO, every: float) -> Iterator[Callback]:
    """Yield a callback for ``minimize`` that shows progress: live if ``stream`` is a terminal."""
    if stream.isatty():
        try:
            with needs("rich", extra="cli"):
                from rich.console import Console
                from rich.live import Live
        except ModuleNotFoundError:
            pass
        else:
            console = Console(file=stream)
            with Live(
                console=console,
                get_renderable=lambda: summary_table(pace),
                refresh_per_second=5,
                transient=True,
            ):
                yield pace.record
            return
    yield line_callback(pace, stream, every)


def line_callback(pace: Pace, stream: TextIO, every: float) -> Callback:
    """Return a callback that writes one line every ``every`` seconds."""
    due = pace.clock() + every

    def callback(result: OptimizeResult) -> None:
        nonlocal due
        pace.record(result)
        if pace.clock() >= due:
            facts = "  ".join(f"{name} {value}" for name, value in summary(pace).items())
            print(facts, file=stream, flush=True)
            due = pace.clock() + every

    return callback


def summary(pace: Pace) -> dict[str, str]:
    """Return the progress as text, by name."""
    result = pace.result
    if result is None:
        return {"evaluations": "0", "time": duration(pace.elapsed())}
    of = "" if pace.max_evals is None else f" of {int(pace.max_evals):,}"
    facts = {
        "best": f"{result.fun:.8g}",
        "σ": f"{result.sigma:.3g}",
        "evaluations": f"{result.nfev:,}{of}",
        "per second": f"{pace.rate():,.0f}" if pace.rate() >= 10 else f"{pace.rate():.2g}",
        "time": duration(pace.elapsed()),
    }
    if result.restarts:
        facts["restarts"] = str(result.restarts)
    if result.nan_count:
        facts["NaN"] = f"{result.nan_count:,}"
    if (left := pace.remaining()) is not None:
        facts["left"] = f"at most {duration(left)}"
    return facts


def summary_table(pace: Pace) -> Table:
    """Return the progress as a table for rich, with a bar if the run has a limit."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    for name, value in summary(pace).items():
        grid.add_row(name, value)
    left = pace.remaining()
    if left is not None:
        grid.add_row("", ProgressBar(total=pace.elapsed() + left, completed=pace.elapsed(), width=40))
    return grid


def duration(seconds: float) -> str:
    """Format a time as hours, minutes and seconds."""
    minutes, seconds = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"
