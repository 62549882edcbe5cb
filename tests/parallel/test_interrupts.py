"""Ctrl-C and SIGTERM: at once where it may come, later where it may not, and never lost on the way."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import r1nes
from r1nes.arrays import Array
from r1nes.parallel.interrupts import Interrupts
from r1nes.storage.run_file import read
from support import misbehaving
from support.functions import rosenbrock, sphere
from support.runs import same


def press() -> None:
    signal.raise_signal(signal.SIGINT)


@contextmanager
def handler(function: Any) -> Iterator[None]:
    before = signal.signal(signal.SIGINT, function)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def test_it_comes_at_once_where_it_is_allowed() -> None:
    with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt), interrupts.allowed:
        press()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_it_waits_where_it_is_not() -> None:
    with Interrupts() as interrupts:
        press()
        with pytest.raises(KeyboardInterrupt), interrupts.allowed:
            raise AssertionError


def test_another_handler_still_does_what_it_does() -> None:
    seen: list[int] = []
    with handler(lambda number, _: seen.append(number)), Interrupts() as interrupts:
        with interrupts.allowed:
            press()
            assert seen == [signal.SIGINT]
        press()
        assert len(seen) == 1
        with interrupts.allowed:
            assert len(seen) == 2


def test_other_threads_are_left_alone() -> None:
    results: list[Any] = []
    thread = threading.Thread(
        target=lambda: results.append(r1nes.minimize(sphere, np.ones(3), max_evals=50, rng=1))
    )
    thread.start()
    thread.join()
    same(results[0], r1nes.minimize(sphere, np.ones(3), max_evals=50, rng=1))


def test_the_result_is_that_of_the_complete_generations() -> None:
    calls = 0

    def pressing(x: Array) -> float:
        nonlocal calls
        calls += 1
        if calls == 25:
            press()
        return float(sphere(x))

    result = r1nes.minimize(pressing, np.ones(4), popsize=8, rng=1)
    assert list(result.stop) == ["interrupt"]
    assert (result.nit, result.nfev, calls) == (3, 24, 25)
    assert result.fun == sphere(result.x)


def test_a_run_within_a_run_does_not_swallow_it() -> None:
    outer_calls = 0

    def outer(x: Array) -> float:
        nonlocal outer_calls
        outer_calls += 1
        return float(r1nes.minimize(inner, x, max_evals=20, rng=1).fun)

    def inner(x: Array) -> float:
        if outer_calls == 12:
            press()
        return float(sphere(x))

    result = r1nes.minimize(outer, np.ones(4), popsize=8, max_evals=400, rng=1)
    assert "interrupt" in result.stop
    assert outer_calls <= 16  # at the latest when the generation is complete


TERMINATED = """
import signal, sys
import numpy as np, r1nes

def fun(x):
    global calls
    calls += 1
    if calls == 25:
        signal.raise_signal(signal.SIGTERM)
    return float(x @ x)

if __name__ == "__main__":
    calls = 0
    if "own" in sys.argv:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))
    if "ignored" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    checkpoint = sys.argv[1] if "kept" in sys.argv else None
    result = r1nes.minimize(fun, np.ones(4), popsize=8, rng=1, max_evals=80, checkpoint=checkpoint)
    print(list(result.stop), result.nfev)
"""


def terminated(tmp_path: Path, *how: str) -> tuple[int, str, str]:
    ended = subprocess.run(
        [sys.executable, "-c", TERMINATED, str(tmp_path / "f"), *how],
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stdout, ended.stderr


class TestSigterm:
    """25 evaluations are 3 complete generations, of which a checkpoint every 10 s would have none."""

    def test_the_run_is_saved_and_the_process_ends(self, tmp_path: Path) -> None:
        assert terminated(tmp_path, "kept") == (-signal.SIGTERM, "", "")
        assert read(tmp_path / "f")["search"]["optimizer"]["counts"]["nfev"] == 24
        assert [file.name for file in tmp_path.iterdir()] == ["f"]  # no lock, no draft

    def test_the_same_call_continues_the_run(self, tmp_path: Path) -> None:
        terminated(tmp_path, "kept")
        kept = r1nes.minimize(
            lambda x: float(x @ x), np.ones(4), popsize=8, rng=1, max_evals=80, checkpoint=tmp_path / "f"
        )
        same(kept, r1nes.minimize(lambda x: float(x @ x), np.ones(4), popsize=8, rng=1, max_evals=80))

    def test_without_a_checkpoint_it_ends_at_once(self, tmp_path: Path) -> None:
        assert terminated(tmp_path) == (-signal.SIGTERM, "", "")

    def test_a_handler_of_the_users_own_still_decides(self, tmp_path: Path) -> None:
        assert terminated(tmp_path, "kept", "own") == (5, "", "")
        assert read(tmp_path / "f")["search"]["optimizer"]["counts"]["nfev"] == 24

    def test_and_so_does_nobody_at_all(self, tmp_path: Path) -> None:
        assert terminated(tmp_path, "kept", "ignored") == (0, "['max_evals'] 80\n", "")

    def test_a_worker_that_gets_it_is_lost_and_replaced(self, tmp_path: Path) -> None:
        """A forked worker inherits the handler of its driver, but not the driver's duty to save."""
        solve = partial(r1nes.minimize, x0=np.zeros(6), sigma0=0.5, max_evals=400, rng=2)
        (tmp_path / "notes").mkdir()
        options: dict[str, Any] = {"args": (tmp_path / "notes",), "workers": 2, "checkpoint": tmp_path / "f"}
        same(solve(misbehaving.terminated, **options), solve(rosenbrock))
        assert list((tmp_path / "notes").iterdir())

    def test_while_it_is_deferred_it_is_not_forgotten(self) -> None:
        """A handler that has to wait is called when the run is over, at the latest."""
        seen: list[int] = []
        before = signal.signal(signal.SIGTERM, lambda number, _: seen.append(number))
        try:
            with Interrupts() as interrupts:
                signal.raise_signal(signal.SIGTERM)
                assert seen == []
            interrupts.finish()
            assert seen == [signal.SIGTERM]
        finally:
            signal.signal(signal.SIGTERM, before)
