"""Progress of a grid of runs: a bar on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from r1nes.extras import needs

Advance = Callable[[float, str], None]

QUIET_SECONDS = 5.0  # least time between two lines


def progress_bar(costs: list[float]) -> AbstractContextManager[Advance]:
    """Show progress on stderr; yield a function that takes the cost and name of a finished run."""
    return _bar(costs) if costs and sys.stderr.isatty() else _lines(costs)


@contextmanager
def _bar(costs: list[float]) -> Iterator[Advance]:
    with needs("rich", extra="bench"):
        from rich.console import Console
        from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
        from rich.text import Text

    class TimeLeft(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(time_left(task.elapsed or 0.0, task.completed, sum(costs)))

    runs = TextColumn(f"{{task.fields[done]}}/{len(costs)} runs")
    name = TextColumn("{task.description}")
    done = 0
    with Progress(BarColumn(), runs, TimeLeft(), name, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=sum(costs), done=done)

        def advance(cost: float, name: str) -> None:
            nonlocal done
            done += 1
            bar.update(task, advance=cost, description=name, done=done)

        yield advance


@contextmanager
def _lines(costs: list[float]) -> Iterator[Advance]:
    began = printed = time.monotonic()
    done, spent = 0, 0.0

    def advance(cost: float, name: str) -> None:
        nonlocal done, spent, printed
        done, spent, now = done + 1, spent + cost, time.monotonic()
        if now >= printed + QUIET_SECONDS or done == len(costs):
            printed = now
            left = time_left(now - began, spent, sum(costs))
            print(f"{done}/{len(costs)} runs, {left}, {name}", file=sys.stderr, flush=True)

    yield advance


def time_left(elapsed: float, done: float, total: float) -> str:
    """Describe the remaining time, extrapolated from the time so far.

    >>> time_left(60.0, 1.0, 4.0)
    '3 min left'
    """
    if done == 0:
        return "time left unknown"
    seconds = elapsed * (total - done) / done
    if seconds < 100:
        return f"{seconds:.0f} s left"
    return f"{seconds / 60:.0f} min left" if seconds < 6000 else f"{seconds / 3600:.1f} h left"
