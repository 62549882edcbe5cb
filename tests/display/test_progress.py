"""What is shown while a run goes on."""

from __future__ import annotations

import io

import pytest
from scipy.optimize import OptimizeResult

from r1nes.display.progress import Pace, described, lines, span


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def result(nfev: int, **more: float) -> OptimizeResult:
    made = OptimizeResult()
    made.update(fun=1.25, sigma=0.5, nfev=nfev, restarts=0, nan_count=0)
    made.update(more)
    return made


def test_the_rate_counts_from_what_was_there_at_first_and_the_nearest_limit_counts() -> None:
    clock = Clock()
    pace = Pace(max_evals=1000, max_seconds=200, seconds=30, clock=clock)
    assert pace.left() == 170
    pace.note(result(100))
    clock.now += 10
    pace.note(result(200))
    assert pace.rate() == pytest.approx(10)
    assert pace.elapsed() == pytest.approx(40)
    assert pace.left() == pytest.approx(80)
    clock.now += 155
    assert pace.left() == pytest.approx(5)
    clock.now += 100
    assert pace.left() == 0
    assert Pace(clock=clock).left() is None


def test_a_line_comes_when_it_is_due_and_says_what_is_to_be_said() -> None:
    clock, stream = Clock(), io.StringIO()
    callback = lines(Pace(max_evals=100, clock=clock), stream, every=5)
    for nfev in (10, 20, 30, 40):
        callback(result(nfev, restarts=2, nan_count=1))
        clock.now += 2
    assert stream.getvalue() == (
        "best 1.25  σ 0.5  evaluations 40 of 100  per second 5  time 0:00:06  restarts 2  NaN 1"
        "  left at most 0:00:12\n"
    )


def test_before_the_first_generation_there_is_little_to_say() -> None:
    assert described(Pace()) == {"evaluations": "0", "time": "0:00:00"}
    assert span(3 * 3600 + 61.7) == "3:01:02"
