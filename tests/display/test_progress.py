"""The progress of a run."""

from __future__ import annotations

import io

import pytest
from scipy.optimize import OptimizeResult

from r1nes.display.progress import Pace, duration, line_callback, summary


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def result(nfev: int, **more: float) -> OptimizeResult:
    made = OptimizeResult()
    made.update(fun=1.25, sigma=0.5, nfev=nfev, restarts=0, nan_count=0)
    made.update(more)
    return made


def test_the_rate_starts_at_the_first_result_and_the_nearest_limit_counts() -> None:
    clock = Clock()
    pace = Pace(max_evals=1000, max_seconds=200, seconds=30, clock=clock)
    assert pace.remaining() == 170
    pace.record(result(100))
    clock.now += 10
    pace.record(result(200))
    assert pace.rate() == pytest.approx(10)
    assert pace.elapsed() == pytest.approx(40)
    assert pace.remaining() == pytest.approx(80)
    clock.now += 155
    assert pace.remaining() == pytest.approx(5)
    clock.now += 100
    assert pace.remaining() == 0
    assert Pace(clock=clock).remaining() is None


def test_a_line_is_printed_when_it_is_due() -> None:
    clock, stream = Clock(), io.StringIO()
    callback = line_callback(Pace(max_evals=100, clock=clock), stream, every=5)
    for nfev in (10, 20, 30, 40):
        callback(result(nfev, restarts=2, nan_count=1))
        clock.now += 2
    assert stream.getvalue() == (
        "best 1.25  σ 0.5  evaluations 40 of 100  per second 5  time 0:00:06  restarts 2  NaN 1"
        "  left at most 0:00:12\n"
    )


def test_before_the_first_generation() -> None:
    assert summary(Pace()) == {"evaluations": "0", "time": "0:00:00"}
    assert duration(3 * 3600 + 61.7) == "3:01:02"
