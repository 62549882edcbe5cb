"""Worker processes: how they start, what counts against their timeout, and what they may answer."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import r1nes
from r1nes.parallel import processes
from r1nes.parallel.errors import EvaluationsLost
from r1nes.parallel.processes import start_context
from support.functions import rosenbrock
from support.misbehaving import SlowToArrive, dying, forking, hanging, raising_odd
from support.runs import same

solve = partial(r1nes.minimize, x0=np.zeros(6), sigma0=0.5, max_evals=80, rng=2)


@pytest.fixture(params=["spawn", "forkserver"])
def imported(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Start methods with which processes import the objective."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # for the fork server
    context = multiprocessing.get_context(request.param)
    monkeypatch.setattr(processes, "start_context", lambda: context)
    return str(request.param)


class TestStart:
    def test_the_timeout_begins_when_the_process_is_ready(self, imported: str) -> None:
        assert imported
        result = solve(SlowToArrive(), workers=2, timeout=2, retries=0)
        same(result, solve(rosenbrock))

    def test_a_process_that_is_never_ready_is_lost(
        self, imported: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert imported
        monkeypatch.setattr(processes, "START", 0.1)
        with pytest.raises(EvaluationsLost, match=r"because no process in 0\.1 s"):
            solve(SlowToArrive(), workers=2, timeout=0.1, retries=0)

    def test_lambdas_cannot_be_imported(self, imported: str) -> None:
        with pytest.raises(
            TypeError,
            match=f"fun and args must be importable or picklable .* started by {imported}, got <function",
        ):
            solve(lambda x: float(x @ x), workers=2)

    def test_lambdas_are_inherited_by_default(self) -> None:
        """Whatever the default of Python's version is, unless the program has set a start method."""
        code = (
            "import multiprocessing, sys, r1nes.parallel.processes as processes\n"
            "print(processes.start_context().get_start_method())\n"
            "multiprocessing.set_start_method('spawn')\n"
            "print(processes.start_context().get_start_method())"
        )
        shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert shown.stdout.split() == ["fork" if sys.platform == "linux" else "spawn", "spawn"]

    def test_if_one_process_cannot_start_the_others_end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """As where the system allows no more processes."""
        started: list[Any] = []

        class Scarce(multiprocessing.context.ForkProcess):
            def start(self) -> None:
                if len(started) == 2:
                    raise BlockingIOError("Resource temporarily unavailable")
                super().start()
                started.append(self)

        class Context:
            Process = Scarce
            Pipe = staticmethod(multiprocessing.Pipe)

        monkeypatch.setattr(processes, "start_context", Context)
        with pytest.raises(BlockingIOError, match="temporarily unavailable"):
            solve(rosenbrock, workers=4)
        assert [process.is_alive() for process in started] == [False, False]


@pytest.mark.parametrize("workers", [2, "pool"])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_timeout_may_be_longer_than_the_system_can_wait(workers: Any, asynchronous: bool) -> None:
    with ProcessPoolExecutor(1, mp_context=start_context()) as pool:
        evaluator = pool if workers == "pool" else workers
        result = solve(rosenbrock, workers=evaluator, timeout=1e300, asynchronous=asynchronous)
    assert "max_evals" in result.stop


class TestAnswers:
    @pytest.mark.parametrize(
        "arrives_as", [0, -1e300, [0.0] * 8, None, "four", ValueError("another")], ids=repr
    )
    @pytest.mark.parametrize("workers", [2, "pool"])
    def test_an_exception_that_becomes_something_else_is_no_value(
        self, arrives_as: Any, workers: Any
    ) -> None:
        pool = ProcessPoolExecutor(2, mp_context=start_context()) if workers == "pool" else None
        with pytest.raises(RuntimeError, match=r"cannot be sent to another process:\n(.*\n)*.*odd one out"):
            solve(raising_odd, args=(arrives_as,), workers=pool or workers)
        if pool is not None:
            pool.shutdown()

    def test_a_process_that_the_objective_forks_does_not_answer(self, tmp_path: Path) -> None:
        disturbed = solve(forking, args=(tmp_path,), workers=2)
        assert list(tmp_path.iterdir())
        same(disturbed, solve(rosenbrock))

    def test_answers_to_earlier_tasks_are_ignored(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(processes, "_serve", _serve_twice)
        same(solve(rosenbrock, workers=2), solve(rosenbrock))


def _serve_twice(pipe: Any, objective: Any, _: int) -> None:
    pipe.send((None, []))
    while True:
        ticket, batch = pipe.recv()
        pipe.send((ticket, objective.reply(*batch)))
        pipe.send((ticket, [-1.0] * len(batch.points)))


class TestRetries:
    @pytest.mark.parametrize("retries", [0, 1, 2])
    @pytest.mark.parametrize("asynchronous", [False, True])
    def test_each_evaluation_gets_that_many(self, tmp_path: Path, retries: int, asynchronous: bool) -> None:
        often = rf"lost {retries + 1} times in a row" if retries else r"lost \(retries=0\) because"
        with pytest.raises(EvaluationsLost, match=often):
            solve(
                noting_and_hanging,
                args=(tmp_path,),
                workers=2,
                timeout=0.2,
                popsize=4,
                retries=retries,
                asynchronous=asynchronous,
            )
        attempts = [len(file.read_text()) for file in tmp_path.iterdir()]
        assert max(attempts) == retries + 1

    def test_more_of_them(self, tmp_path: Path) -> None:
        result = solve(dying, args=(tmp_path,), workers=2, retries=6)
        same(result, solve(rosenbrock))

    def test_without_any_a_loss_is_that_of_one_point(self, tmp_path: Path) -> None:
        result = solve(hanging, args=(tmp_path,), workers=2, timeout=0.5, retries=0, on_failure="worst")
        assert result.nan_count == len(list(tmp_path.iterdir())) > 0

    @pytest.mark.parametrize("retries", [-1, 1.5])
    def test_other_numbers_are_refused(self, retries: Any) -> None:
        with pytest.raises(ValueError, match="retries must be a whole number of at least 0, got"):
            solve(rosenbrock, workers=2, retries=retries)


def noting_and_hanging(x: Any, notes: Path) -> float:
    with (notes / x.tobytes().hex()).open("a") as file:
        file.write("x")
    time.sleep(3600)
    return 0.0
