from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path
from typing import Any

import pytest

from r1nes.bench.runner.grid import cell_of, default_budget, grid, run
from r1nes.bench.runner.measure import OWN, Cell, measure_cell
from r1nes.bench.runner.records import Records, read_records

Record = dict[str, Any]
SECONDS = {"seconds", "objective_seconds"}

GRID = grid(["r1nes", "snes"], ["f1", "f8"], [3, 4], trials=8, max_evals=8000)
RUN_GRID = """
import sys
from pathlib import Path
from r1nes.bench.runner.grid import grid, run
if __name__ == "__main__":
    run(grid(["r1nes", "snes"], ["f1", "f8"], [3, 4], trials=8, max_evals=8000), Path(sys.argv[1]), jobs=2)
"""
ENDLESS = """
import sys
from pathlib import Path
from r1nes.bench.runner.grid import grid, run
if __name__ == "__main__":
    run(grid(["snes"], ["f8"], [64], trials=2, max_evals=10**9), Path(sys.argv[1]), jobs=2)
"""
COMMAND = "import sys; from r1nes.cli import main; sys.exit(main())"
TINY = Cell("snes", "f1", 2, 1, 5000)


def start(code: str, path: Path, mark: str = "") -> subprocess.Popen[str]:
    environment = os.environ | {"R1NES_TEST_MARK": mark}
    return subprocess.Popen(
        [sys.executable, "-c", code, str(path)], env=environment, stderr=subprocess.DEVNULL, text=True
    )


def marked(mark: str) -> list[int]:
    """Return the ids of a marked process and of those it started; Linux only."""
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            if f"R1NES_TEST_MARK={mark}".encode() in (directory / "environ").read_bytes():
                found.append(int(directory.name))
        except OSError:  # has ended, or belongs to another user
            continue
    return found


def wait_until(condition: Any, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def timeless(records: list[Record]) -> dict[Cell, Record]:
    return {
        cell_of(record): {name: value for name, value in record.items() if name not in SECONDS}
        for record in records
    }


def test_a_record_names_the_preset_of_r1nes() -> None:
    found = {name: measure_cell(Cell(name, "f1", 4, 1, 20_000)) for name in OWN if name.startswith("r1nes")}
    assert {name: record["method"] for name, record in found.items()} == {name: name for name in found}
    sizes = {name: record["popsize"] for name, record in found.items()}
    assert sizes == {"r1nes": 8, "r1nes-heuristic": 8, "r1nes-matlab": 11}
    assert all(record["solved"] for record in found.values())
    assert len({record["evaluations"] for record in found.values()}) == 3


@pytest.mark.parametrize("kills", [4, pytest.param(10, marks=pytest.mark.slow)])
def test_kills_lose_nothing_and_double_nothing(tmp_path: Path, kills: int) -> None:
    chance = random.Random(1)
    disturbed, calm = tmp_path / "disturbed.jsonl", tmp_path / "calm.jsonl"
    disturbed.touch()
    for _ in range(kills):
        before = read_records(disturbed)
        process = start(RUN_GRID, disturbed)
        enough = len(before) + chance.randrange(4)
        assert wait_until(lambda enough=enough: len(read_records(disturbed)) >= enough, 30)
        time.sleep(chance.uniform(0, 0.2))  # kill it during a later run
        process.kill()
        process.wait()
        assert read_records(disturbed)[: len(before)] == before
    assert kills < len(read_records(disturbed)) < len(GRID)
    records, failures = run(GRID, disturbed, jobs=2)
    assert not failures
    undisturbed, _ = run(GRID, calm, jobs=2)
    assert timeless(records) == timeless(undisturbed)
    assert len(records) == len(read_records(disturbed)) == len(GRID)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc to see other processes")
def test_workers_end_with_a_killed_runner(tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    process = start(ENDLESS, tmp_path / "records.jsonl", mark)
    try:
        # the runner, its resource tracker, its fork server and two workers
        assert wait_until(lambda: len(marked(mark)) >= 5, 30)
    finally:
        process.kill()
        process.wait()
    assert wait_until(lambda: not marked(mark), 5)


def test_an_interrupt_keeps_the_records(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    arguments = "--methods snes --functions f1,f8 --dims 64 --trials 1 --jobs 2 --budget 100000000 --out"
    with subprocess.Popen(
        [sys.executable, "-c", COMMAND, "bench", *arguments.split(), str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        recorded = wait_until(lambda: path.exists() and read_records(path), 30)
        os.killpg(process.pid, signal.SIGINT)  # like Ctrl-C, which also reaches the workers
        output, errors = process.communicate(timeout=20)
    assert recorded
    assert process.returncode == 1
    assert "1 runs are missing" in errors
    assert "Traceback" not in errors
    assert "f1" in output
    assert [record["function"] for record in read_records(path)] == ["f1"]


def test_an_interrupt_while_a_record_is_flushed(tmp_path: Path, monkeypatch: Any) -> None:
    """The record is already in the file, so it counts."""

    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    records, _ = run([TINY], tmp_path / "records.jsonl")
    assert [cell_of(record) for record in records] == [TINY]


def test_a_truncated_last_line_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    cells = grid(["snes"], ["f1"], [2], trials=2, max_evals=5000)
    whole, _ = run(cells, path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:-20])
    assert timeless(read_records(path)) == timeless(whole[:1])
    again, _ = run(cells, path)
    assert timeless(again) == timeless(whole)
    assert path.read_bytes().count(b"\n") == 2


def test_a_malformed_line_is_an_error_and_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text("{nonsense\n")
    with pytest.raises(ValueError, match="line 1 is not a record"):
        run([TINY], path)
    assert path.read_text() == "{nonsense\n"


def test_a_second_runner_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    with Records(path), pytest.raises(BlockingIOError, match="another process"):
        run([TINY], path)
    records, _ = run([TINY], path)
    assert len(records) == 1


def test_nothing_is_run_twice(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    first, _ = run([TINY, TINY], path)
    content = path.read_bytes()
    second, _ = run([TINY], path)
    assert first == second
    assert path.read_bytes() == content
    other_budget = Cell("snes", "f1", 2, 1, 4000)
    assert len(run([TINY, other_budget], path)[0]) == 2


def test_a_failing_run_does_not_stop_the_others(tmp_path: Path) -> None:
    too_small = Cell("snes", "f1", 2, 2, budget=1)
    records, failures = run([too_small, TINY], tmp_path / "records.jsonl")
    assert [cell_of(record) for record in records] == [TINY]
    assert list(failures) == [too_small]
    assert "max_evals must be" in failures[too_small]
    assert len(read_records(tmp_path / "records.jsonl")) == 1


def test_a_worker_that_dies_is_a_failure(tmp_path: Path) -> None:
    endless = Cell("snes", "f8", 64, 1, budget=10**9)
    outcome: list[Any] = []
    runner = threading.Thread(target=lambda: outcome.extend(run([endless], tmp_path / "records.jsonl")))
    runner.start()
    assert wait_until(multiprocessing.active_children, 20)
    for worker in multiprocessing.active_children():
        worker.kill()
    runner.join(20)
    assert outcome == [[], {endless: f"the worker process ended with exit code {-signal.SIGKILL}"}]


def test_a_failed_write_leaves_the_file_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "records.jsonl"
    with Records(path) as records:
        records.append({"trial": 1})
        file = records._file

        class Full:
            name = str(path)

            def __getattr__(self, name: str) -> Any:
                return getattr(file, name)

            def write(self, line: bytes) -> int:
                return file.write(line[:5])

        with monkeypatch.context() as patch:
            patch.setattr(records, "_file", Full())
            with pytest.raises(OSError, match="disk full"):
                records.append({"trial": 2})
    assert path.read_text() == '{"trial":1}\n'


def test_records_are_small_and_consistent(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    run([Cell("r1nes", "f12", 8, 1, 50_000)], path)
    line = path.read_text()
    assert len(line) < 1200
    record = json.loads(line)
    evaluations = [spent for spent, _ in record["trajectory"]]
    precisions = [precision for _, precision in record["trajectory"]]
    assert evaluations == sorted(evaluations)
    assert precisions == sorted(precisions, reverse=True)
    assert record["solved"]
    assert record["trajectory"][-1] == [record["evaluations"], 1e-8]
    assert record["precision"] <= 1e-8
    assert list(record["stop"]) == ["ftarget"]
    assert 0 < record["objective_seconds"] < record["seconds"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["nes"], ["f1"], [2], 1), "method must be one of r1nes, .*; got 'nes'"),
        ((["snes"], ["f3"], [2], 1), "function must be one of f1, .*; got 'f3'"),
        ((["snes"], ["f1"], [1], 1), "dim must be a whole number of at least 2"),
        ((["snes"], ["f1"], [2], 0), "trials must be a whole number of at least 1"),
        ((["snes"], ["f1"], [2], 1, 0), "budget must be a whole number of at least 1"),
        ((["snes"], ["f1"], [2, 3], 1, [7, 8, 9]), "budget must be one number, or one for each of 2 dims"),
    ],
)
def test_an_invalid_grid_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        grid(*arguments)


def test_dimensions_may_differ_in_trials_and_budget_and_only_our_methods_restart() -> None:
    cells = grid(["snes", "cma"], ["f1"], [2, 3], [2, 1], [100, 200], restarts=4)
    assert [(cell.method, cell.dim, cell.trial, cell.budget, cell.restarts) for cell in cells] == [
        ("snes", 2, 1, 100, 4),
        ("snes", 2, 2, 100, 4),
        ("cma", 2, 1, 100, 0),
        ("cma", 2, 2, 100, 0),
        ("snes", 3, 1, 200, 4),
        ("cma", 3, 1, 200, 0),
    ]


@pytest.mark.parametrize(("dim", "most"), [(80, 2.1e5), (160, 7.8e5), (320, 4.0e6), (640, 1.8e7)])
def test_the_budget_exceeds_the_best_published_evaluations(dim: int, most: float) -> None:
    assert default_budget(dim) > most  # best of 11 data sets on the hardest bbob-largescale function
