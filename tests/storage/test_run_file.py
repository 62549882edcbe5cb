"""Runs of ``minimize`` with a checkpoint: they resume bit for bit, and refuse changed settings."""

from __future__ import annotations

import math
import multiprocessing
import os
import random
import sys
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import r1nes
from r1nes import RkNES
from r1nes.arrays import Array
from r1nes.storage import checkpoint, run_file
from support.functions import cigar, rastrigin, rosenbrock, sphere
from support.runs import live, restarted, same

CASES: dict[str, Any] = {
    "r1nes": partial(r1nes.minimize, cigar, np.ones(6), method="r1nes", ftarget=1e-6, rng=1),
    "ipop": partial(
        r1nes.minimize,
        rastrigin,
        np.full(5, 2.2),
        sigma0=0.4,
        method="snes",
        restarts="ipop:2",
        rng=2,
        ftol=1e-6,
    ),
    "bipop": partial(
        r1nes.minimize, rastrigin, np.full(5, 2.2), method="rknes", restarts="bipop:2", rng=3, ftol=1e-6
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_run_in_many_pieces_is_the_run_in_one(case: str, tmp_path: Path) -> None:
    solve = partial(CASES[case], vectorized=True)
    whole = solve()
    stops = random.Random(0).sample(range(1, whole.nit), 12)

    def callback(intermediate_result: Any) -> None:
        if intermediate_result.nit in stops:
            raise StopIteration

    for _ in stops:
        piece = solve(checkpoint=tmp_path / "f", callback=callback)
        assert "callback" in piece.stop
    last = solve(checkpoint=tmp_path / "f", callback=callback)
    same(last, whole)
    same(solve(checkpoint=tmp_path / "f"), whole)  # a finished run returns its result again


def test_an_exception_in_the_objective_loses_no_generation(tmp_path: Path) -> None:
    solve = partial(r1nes.minimize, x0=np.ones(6), vectorized=True, max_evals=600, rng=1)
    calls = 0

    def fragile(X: Array) -> Array:
        nonlocal calls
        calls += 1
        if calls % 10 == 0:
            raise OSError("out of licences")
        return rosenbrock(X)

    for _ in range(100):
        try:
            result = solve(fragile, checkpoint=tmp_path / "f", checkpoint_every=1e6)
            break
        except OSError:
            pass
    same(result, solve(rosenbrock))
    assert calls == math.ceil(result.nit * 10 / 9 - 1e-9) or calls == result.nit * 10 // 9


def test_an_unseeded_run_resumes_too(tmp_path: Path) -> None:
    solve = partial(r1nes.minimize, sphere, np.ones(3), checkpoint=tmp_path / "f")
    first = solve(max_evals=100)
    more = solve(max_evals=200)
    assert more.nfev > first.nfev
    assert more.seed.entropy == first.seed.entropy
    same(more, r1nes.minimize(sphere, np.ones(3), max_evals=200, rng=first.seed))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x0": np.ones(4)}, r"x0 must be as in the checkpoint .*, 3 numbers.*got 4 numbers"),
        ({"x0": np.ones(3, np.float32)}, "x0 must be as in the checkpoint"),
        ({"sigma0": 0.5}, "sigma0 must be as in the checkpoint .*, 1.0, got 0.5; to start a new run"),
        ({"method": "snes"}, "method must be as in the checkpoint .*, 'r1nes', got 'snes'"),
        ({"popsize": 8}, "popsize must be as in the checkpoint .*, 6, got 8"),
        ({"rate_mean": 0.5}, "rate_mean must be as in the checkpoint .*, 1.0, got 0.5"),
        ({"rng": 2}, "rng must be as in the checkpoint"),
        ({"restarts": 3}, "restarts must be as in the checkpoint .*, 'ipop:0', got 'bipop:3'"),
        ({"bounds": [(-9, 9)] * 3, "sigma0": 1.0}, "bounds must be as in the checkpoint"),
    ],
)
def test_a_changed_setting_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    options: dict[str, Any] = {"x0": np.ones(3), "method": "r1nes", "rng": 1, "max_evals": 60}
    r1nes.minimize(sphere, checkpoint=tmp_path / "f", **options)
    before = (tmp_path / "f").read_bytes()
    with pytest.raises(ValueError, match=message):
        r1nes.minimize(sphere, checkpoint=tmp_path / "f", **{**options, **change})
    assert (tmp_path / "f").read_bytes() == before


def test_an_unwritable_path_is_reported_before_the_first_evaluation(tmp_path: Path) -> None:
    def never(_: Array) -> float:
        raise AssertionError

    with pytest.raises(FileNotFoundError):
        r1nes.minimize(never, np.ones(3), checkpoint=tmp_path / "nowhere" / "f")
    with pytest.raises(ValueError, match="checkpoint_every must be finite and not below 0, got -1"):
        r1nes.minimize(never, np.ones(3), checkpoint=tmp_path / "f", checkpoint_every=-1)


def test_a_file_is_written_every_so_many_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now, written = 100.0, list[float]()

    def snapshot() -> dict[str, Any]:
        written.append(now)
        return {"fun": {}, "search": {}, "history": {}}

    monkeypatch.setattr("r1nes.storage.run_file.time", SimpleNamespace(monotonic=lambda: now))
    file = run_file.RunFile(tmp_path / "run", 10.0, snapshot)
    for _ in range(25):
        file.save_if_due()
        now += 1
    assert written == [110.0, 120.0]


@pytest.mark.parametrize("parts", [{"fun"}, {"fun", "search"}, {"fun", "search", "history", "more"}])
def test_a_file_with_other_parts_holds_no_run(parts: set[str], tmp_path: Path) -> None:
    path = tmp_path / "run"
    checkpoint.write(path, dict.fromkeys(parts, 1))
    with pytest.raises(ValueError, match="run holds no run of minimize"):
        run_file.read(path)


def version(path: Path) -> int:
    """Identify the content of a file that is replaced as a whole; 0 if there is none."""
    return path.stat().st_mtime_ns if path.exists() else 0


def test_a_driver_killed_at_twenty_random_moments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each attempt is a separate process, ended by SIGKILL at a random moment after its first save."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # for the fork server
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["support.runs"])
    rng = random.Random(0)
    kills = 0
    for _ in range(20):
        before = version(tmp_path / "f")
        process = context.Process(target=live, args=(tmp_path / "f",))
        process.start()
        while process.is_alive() and version(tmp_path / "f") == before:
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.1))
        kills += process.is_alive()
        process.kill()
        process.join()
    assert kills == 20
    reached = len(run_file.read(tmp_path / "f")["history"]["nfev"])
    whole = restarted(rastrigin)
    assert 19 <= reached < whole.nit  # the first save of the first attempt precedes its first generation
    same(restarted(rastrigin, checkpoint=tmp_path / "f"), whole)


@pytest.mark.parametrize("method", ["r1nes", "snes", "xnes"])
def test_files_of_format_2_are_resumed(method: str, tmp_path: Path) -> None:
    """The files are runs of version 0.1 that were stopped after 500 evaluations."""
    path = tmp_path / "run"
    path.write_bytes((Path(__file__).parent / "data" / f"format2-{method}.r1nes").read_bytes())
    before = run_file.read(path)["history"]
    resumed = r1nes.minimize(
        rosenbrock,
        np.full(6, 0.3),
        sigma0=0.5,
        method=method,
        rng=4,
        vectorized=True,
        restarts=2,
        max_evals=1200,
        checkpoint=path,
    )
    done = before["nfev"].size
    assert 480 < before["nfev"][-1] <= 500 < 1150 < resumed.nfev
    assert resumed.fun < before["best"][-1]
    for name, column in before.items():
        np.testing.assert_array_equal(resumed.history[name][:done], column)
    assert path.read_bytes().startswith(b"r1nes checkpoint 4\n")


def test_a_run_of_the_earlier_rknes_is_refused(tmp_path: Path) -> None:
    """Its state cannot be continued by the new rule; the file stays as it is."""
    path = tmp_path / "run"
    content = (Path(__file__).parent / "data" / "format2-rknes.r1nes").read_bytes()
    path.write_bytes(content)
    settings: dict[str, Any] = {
        "sigma0": 0.5,
        "rng": 4,
        "vectorized": True,
        "restarts": 2,
        "checkpoint": path,
    }
    method = RkNES(rank=(1, 2))
    with pytest.raises(
        ValueError, match="an earlier version wrote the file, and this one cannot continue its run"
    ):
        r1nes.minimize(rosenbrock, np.full(6, 0.3), method=method, max_evals=1200, **settings)
    assert path.read_bytes() == content


def test_a_setting_equal_to_its_default_does_not_count_as_a_change(tmp_path: Path) -> None:
    solve = partial(r1nes.minimize, sphere, np.ones(4), method="rknes", rng=1, checkpoint=tmp_path / "run")
    solve(max_evals=80, rate_mean=1.0, base="auto")
    assert solve(max_evals=160).nfev == 160
