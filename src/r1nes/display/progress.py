"""How a run goes, while it goes: a live display on a terminal, now and then a line elsewhere."""

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
    """How fast a run goes, and when it will have reached one of its limits.

    ``seconds`` is the time that earlier processes spent on the same run, if it is resumed.
    """

    max_evals: float | None = None
    max_seconds: float | None = None
    seconds: float = 0.0
    clock: Callable[[], float] = time.monotonic
    result: OptimizeResult | None = None  # the latest
    _first: int = 0  # evaluations when the first result came
    _began: float = field(init=False)

    def __post_init__(self) -> None:
        """Starts the clock."""
        self._began = self.clock()

    def note(self, result: OptimizeResult) -> None:
        """Take the state of the run after a generation."""
        if self.result is None:
            self._first = result.nfev
            self._began = self.clock()
        self.result = result

    def elapsed(self) -> float:
        """Seconds of the whole run."""
        return self.seconds + self.clock() - self._began

    def rate(self) -> float:
        """Evaluations per second, since the first generation seen."""
        took = self.clock() - self._began
        return (self.result.nfev - self._first) / took if self.result is not None and took > 0 else 0.0

    def left(self) -> float | None:
        """Seconds until a limit is reached; None where there is none, or too little is known."""
        known = []
        if self.max_seconds is not None:
            known.append(self.max_seconds - self.elapsed())
        if self.max_evals is not None and self.result is not None and (rate := self.rate()) > 0:
            known.append((self.max_evals - self.result.nfev) / rate)
        return max(0.0, min(known)) if known else None


@contextmanager
def shown(pace: Pace, stream: TextIO, every: float) -> Iterator[Callback]:
    """A callback for ``minimize`` that shows how the run goes: live if ``stream`` is a terminal."""
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
                console=console, get_renderable=lambda: table(pace), refresh_per_second=5, transient=True
            ):
                yield pace.note
            return
    yield lines(pace, stream, every)


def lines(pace: Pace, stream: TextIO, every: float) -> Callback:
    """Writes a line whenever ``every`` seconds have passed."""
    due = pace.clock() + every

    def callback(result: OptimizeResult) -> None:
        nonlocal due
        pace.note(result)
        if pace.clock() >= due:
            facts = "  ".join(f"{name} {value}" for name, value in described(pace).items())
            print(facts, file=stream, flush=True)
            due = pace.clock() + every

    return callback


def described(pace: Pace) -> dict[str, str]:
    """What there is to say, by name."""
    result = pace.result
    if result is None:
        return {"evaluations": "0", "time": span(pace.elapsed())}
    of = "" if pace.max_evals is None else f" of {int(pace.max_evals):,}"
    facts = {
        "best": f"{result.fun:.8g}",
        "σ": f"{result.sigma:.3g}",
        "evaluations": f"{result.nfev:,}{of}",
        "per second": f"{pace.rate():,.0f}" if pace.rate() >= 10 else f"{pace.rate():.2g}",
        "time": span(pace.elapsed()),
    }
    if result.restarts:
        facts["restarts"] = str(result.restarts)
    if result.nan_count:
        facts["NaN"] = f"{result.nan_count:,}"
    if (left := pace.left()) is not None:
        facts["left"] = f"at most {span(left)}"
    return facts


def table(pace: Pace) -> Table:
    """The same, as rich shows it, with a bar where there is a limit."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    for name, value in described(pace).items():
        grid.add_row(name, value)
    left = pace.left()
    if left is not None:
        grid.add_row("", ProgressBar(total=pace.elapsed() + left, completed=pace.elapsed(), width=40))
    return grid


def span(seconds: float) -> str:
    """A time in hours, minutes and seconds."""
    minutes, seconds = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"
