"""Workers that die, hang or raise: the run is that of an undisturbed one, or ends with a clear error."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import r1nes
from r1nes.arrays import Array
from support.functions import rosenbrock
from support.misbehaving import dying, hanging, late, once, stopping
from support.runs import same

solve = partial(r1nes.minimize, x0=np.zeros(6), sigma0=0.5, max_evals=400, rng=2)


def deadly_where_it_is_cold(x: Array) -> float:
    if x[0] < -0.5:
        os.kill(os.getpid(), signal.SIGKILL)
    return float(rosenbrock(x))


def raising_where_it_is_cold(x: Array) -> float:
    if x[0] < -0.5:
        raise ArithmeticError(f"{x[0]} is too cold")
    return float(rosenbrock(x))


def nan_where_it_is_cold(x: Array) -> float:
    return float("nan") if x[0] < -0.5 else float(rosenbrock(x))


@pytest.mark.parametrize(
    ("fun", "options"),
    [
        (dying, {}),
        (dying, {"timeout": 60}),
        (hanging, {"timeout": 1}),
        (stopping, {"timeout": 1}),
        (late, {"timeout": 1}),
    ],
)
def test_workers_that_die_hang_stop_or_are_late_change_nothing(
    tmp_path: Path, fun: Any, options: dict[str, Any]
) -> None:
    disturbed = solve(fun, args=(tmp_path,), workers=2, **options)
    assert len(list(tmp_path.iterdir())) >= 2  # that many were lost
    same(disturbed, solve(rosenbrock))


def test_a_process_killed_from_outside_in_the_middle_of_a_generation(tmp_path: Path) -> None:
    disturbed = solve(kills_its_sibling, args=(tmp_path,), workers=2)
    assert list(tmp_path.glob("killed-*"))
    same(disturbed, solve(rosenbrock))


def kills_its_sibling(x: Array, places: Path) -> float:
    (places / f"pid-{os.getpid()}").touch()
    if once(places, 0.03, x):
        for file in places.glob("pid-*"):
            pid = int(file.name.removeprefix("pid-"))
            if pid != os.getpid() and not (places / f"killed-{pid}").exists():
                (places / f"killed-{pid}").touch()
                os.kill(pid, signal.SIGKILL)
                break
    time.sleep(1e-3)
    return float(rosenbrock(x))


class TestForGood:
    def test_an_evaluation_that_kills_its_worker_each_time_ends_the_run(self) -> None:
        with pytest.raises(RuntimeError, match=r"of 8 evaluations were lost 4 times .* exit code -9; "):
            solve(deadly_where_it_is_cold, workers=2)

    def test_or_ranks_last_and_no_other_does(self) -> None:
        worst = solve(deadly_where_it_is_cold, workers=2, on_failure="worst")
        assert worst.nan_count > 0
        same(worst, solve(nan_where_it_is_cold))

    @pytest.mark.parametrize("workers", [1, 2, "threads:2", map])
    def test_exceptions_rank_last_too(self, workers: Any) -> None:
        same(
            solve(raising_where_it_is_cold, workers=workers, on_failure="worst"), solve(nan_where_it_is_cold)
        )

    def test_an_exception_from_a_process_says_where_it_was_raised(self) -> None:
        with pytest.raises(ArithmeticError, match="is too cold") as raised:
            solve(raising_where_it_is_cold, workers=2)
        assert "in raising_where_it_is_cold" in raised.value.__notes__[0]

    def test_an_exception_that_cannot_travel_is_described(self) -> None:
        """Dask, once imported, teaches pickle exceptions that it cannot do by itself."""
        with pytest.raises((RuntimeError, HomeboundError), match="Homebound 1 2"):
            solve(homebound, workers=2)

    def test_a_users_pool_that_broke_is_named(self) -> None:
        with (
            ProcessPoolExecutor(2) as pool,
            pytest.raises(RuntimeError, match="4 times in a row, most recently because BrokenProcessPool"),
        ):
            solve(deadly_where_it_is_cold, workers=pool)


class HomeboundError(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"Homebound {one} {two}")


def homebound(_: Array) -> float:
    raise HomeboundError(1, 2)


def test_an_objective_need_not_be_importable() -> None:
    """Where processes are forked, they inherit it."""
    same(solve(lambda x: float(rosenbrock(x)), workers=2), solve(rosenbrock))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timeout": 1}, "timeout needs workers that can be abandoned, got workers=1"),
        ({"timeout": 1, "workers": "threads:2"}, "timeout needs processes or an Executor"),
        ({"timeout": 0, "workers": 2}, "timeout must be finite and above 0, got 0"),
        ({"on_failure": "ignore"}, "on_failure must be 'raise' or 'worst', got 'ignore'"),
        ({"on_failure": "worst", "vectorized": True}, "on_failure must be 'raise' with vectorized=True"),
        ({"workers": "4"}, "workers must be a number, 'threads:N', a map or an Executor, got '4'"),
    ],
)
def test_bad_settings_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        solve(rosenbrock, **options)


DRIVER = """
import sys, time, subprocess
import numpy as np, r1nes

def fun(x):
    subprocess.run(["sleep", "0.07"])  # as a simulator would be called
    return float((x * x).sum())

if __name__ == "__main__":
    print("begun", flush=True)
    result = r1nes.minimize(fun, np.ones(4), workers=2, rng=1, checkpoint=sys.argv[1])
    print(list(result.stop), result.nfev, result.fun, flush=True)
"""


def in_group(group: int) -> list[str]:
    listing = subprocess.run(["ps", "-eo", "pid,ppid,sid,args"], capture_output=True, text=True, check=True)
    return [line for line in listing.stdout.splitlines() if line.split()[2] == str(group)]


def wait_until(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_driver_leaves_no_process_behind(tmp_path: Path, by: signal.Signals) -> None:
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(tmp_path / "f")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert driver.stdout is not None
    assert driver.stdout.readline() == "begun\n"
    wait_until(lambda: len(in_group(driver.pid)) >= 3, seconds=30)
    time.sleep(0.5)  # into the evaluations
    driver.send_signal(by)
    out, err = driver.communicate(timeout=30)
    if by == signal.SIGINT:
        assert out.startswith("['interrupt'] ")
        assert err == ""
        assert driver.returncode == 0
    wait_until(lambda: not in_group(driver.pid), seconds=5)
