"""Checkpoints: a run that was killed goes on bit for bit, and a file that is not sound is refused."""

from __future__ import annotations

import hashlib
import math
import multiprocessing
import os
import pickle
import random
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import Bounds

import r1nes
from r1nes import Optimizer, RkNES
from r1nes.arrays import Array
from r1nes.storage import checkpoint
from r1nes.storage import run_file as saving
from r1nes.strategies import STRATEGIES
from support.functions import cigar, rastrigin, rosenbrock, sphere
from support.runs import live, same, solve_slowly


class TestFile:
    def test_what_is_written_is_read(self, tmp_path: Path) -> None:
        tree: dict[str, Any] = {
            "numbers": [0, -(2**200), 0.1, math.inf, -math.inf, True, None, "∇ \n"],
            "pair": (1, (2.5, [])),
            "arrays": [np.arange(6.0).reshape(2, 3), np.empty(0), np.array([np.nan, -0.0], np.float32)],
            "scalar": np.float32(0.1),
        }
        checkpoint.write(tmp_path / "f", tree)
        back = checkpoint.read(tmp_path / "f")
        assert back["numbers"] == tree["numbers"]
        assert back["pair"] == tree["pair"]
        assert isinstance(back["scalar"], np.float32)
        for one, other in zip(tree["arrays"], back["arrays"], strict=True):
            assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
            assert other.flags.writeable
        assert checkpoint.dumps(back) == checkpoint.dumps(tree)

    def test_a_failed_write_leaves_the_old_file_and_nothing_else(self, tmp_path: Path) -> None:
        path = tmp_path / "f"
        checkpoint.write(path, 1)
        with pytest.raises(
            TypeError, match="a checkpoint holds only numbers, strings and arrays, got <object"
        ):
            checkpoint.write(path, object())
        assert checkpoint.read(path) == 1
        assert [file.name for file in tmp_path.iterdir()] == ["f"]

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "it is not an r1nes checkpoint"),
            (pickle.dumps({"a": 1}), "it is not an r1nes checkpoint"),
            (b"r1nes checkpoint 1\n", "its format is 1, but this version of r1nes reads format 2"),
            (b"r1nes checkpoint x\n", "its first line is damaged"),
            (b"r1nes checkpoint 2\n", "the checksum does not match"),
        ],
    )
    def test_what_is_no_checkpoint_is_refused(self, tmp_path: Path, content: bytes, message: str) -> None:
        path = tmp_path / "f"
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"{path} cannot be read: .*{message}"):
            checkpoint.read(path)

    def test_a_pickle_bomb_does_not_go_off(self, tmp_path: Path) -> None:
        class Bomb:
            def __reduce__(self) -> Any:
                return Path.touch, (tmp_path / "boom",)

        bomb = pickle.dumps(Bomb())
        body = b'{"array": ["O", [1], 0]}\n' + bomb
        head = b"r1nes checkpoint 2\n" + hashlib.sha256(body).hexdigest().encode() + b"\n"
        for content in (bomb, head + body):
            (tmp_path / "f").write_bytes(content)
            with pytest.raises(ValueError, match="cannot be read"):
                checkpoint.read(tmp_path / "f")
        assert not (tmp_path / "boom").exists()


class TestOptimizer:
    @pytest.mark.parametrize("method", STRATEGIES)
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("bounds", [None, Bounds(-3, 2)])
    def test_it_goes_on_bit_for_bit(
        self, tmp_path: Path, method: str, dtype: type, bounds: Bounds | None
    ) -> None:
        new = partial(
            Optimizer, np.zeros(5, dtype), 0.5, method=method, bounds=bounds, max_evals=2000, ftol=1e-4, rng=3
        )
        optimizer = new()
        asked = []
        generation = 0
        while not optimizer.stop():
            if generation % 17 == 0:
                optimizer.save(tmp_path / "f")
                optimizer = Optimizer.load(tmp_path / "f")
            X = optimizer.ask()
            asked.append(X)
            optimizer.tell(X, rosenbrock(X))
            generation += 1
        straight = new()
        for expected in asked:
            X = straight.ask()
            assert X.tobytes() == expected.tobytes()
            straight.tell(X, rosenbrock(X))
        assert straight.stop() == optimizer.stop() != {}
        assert straight.result.x.tobytes() == optimizer.result.x.tobytes()

    def test_between_ask_and_tell(self, tmp_path: Path) -> None:
        optimizer = Optimizer(np.zeros(5), 0.5, rng=1)
        X = optimizer.ask()
        optimizer.save(tmp_path / "f")
        loaded = Optimizer.load(tmp_path / "f")
        loaded.tell(X, rosenbrock(X))
        optimizer.tell(X, rosenbrock(X))
        np.testing.assert_array_equal(loaded.strategy.mean, optimizer.strategy.mean)

    def test_every_setting_is_kept(self, tmp_path: Path) -> None:
        options: dict[str, Any] = {"max_evals": 1e4, "ftarget": -1, "utilities": [2, 1, 0.5, 0], "xtol": 1e-9}
        optimizer = Optimizer(
            np.ones(4), method="rknes", popsize=4, rank=(1, 1), rng=np.random.SeedSequence([1, 2]), **options
        )
        optimizer.save(tmp_path / "f")
        settings = Optimizer.load(tmp_path / "f").settings
        assert settings.seed.entropy == [1, 2]
        assert settings.method == RkNES(rank=(1, 1))
        for name, value in {**options, "sigma0": 1.0}.items():
            np.testing.assert_array_equal(getattr(settings, name), value)

    def test_the_clock_goes_on(self, tmp_path: Path) -> None:
        optimizer = Optimizer(np.zeros(5), max_seconds=0.05)
        time.sleep(0.06)
        optimizer.save(tmp_path / "f")
        assert list(Optimizer.load(tmp_path / "f").stop()) == ["max_seconds"]

    def test_a_run_of_minimize_is_no_optimizer_and_the_reverse(self, tmp_path: Path) -> None:
        r1nes.minimize(sphere, np.ones(3), max_evals=50, checkpoint=tmp_path / "run")
        with pytest.raises(ValueError, match="run holds no Optimizer"):
            Optimizer.load(tmp_path / "run")
        Optimizer(np.ones(3)).save(tmp_path / "one")
        with pytest.raises(ValueError, match="one holds no run of minimize"):
            r1nes.minimize(sphere, np.ones(3), checkpoint=tmp_path / "one")


CASES: dict[str, Any] = {
    "r1nes": partial(r1nes.minimize, cigar, np.ones(6), method="r1nes", ftarget=1e-6, rng=1),
    "ipop": partial(
        r1nes.minimize, rastrigin, np.full(5, 2.2), sigma0=0.4, method="snes", restarts=2, rng=2, ftol=1e-6
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
    same(solve(checkpoint=tmp_path / "f"), whole)  # of a run that is over, the result again


def test_an_exception_of_the_objective_costs_nothing_that_was_done(tmp_path: Path) -> None:
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


def test_an_unseeded_run_goes_on_too(tmp_path: Path) -> None:
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
        ({"sigma0": 0.5}, "sigma0 must be as in the checkpoint .*, 1.0, got 0.5; another file"),
        ({"method": "snes"}, "method must be as in the checkpoint .*, 'r1nes', got 'snes'"),
        ({"popsize": 8}, "popsize must be as in the checkpoint .*, 6, got 8"),
        ({"rate_mean": 0.5}, "rate_mean must be as in the checkpoint .*, None, got 0.5"),
        ({"rng": 2}, "rng must be as in the checkpoint"),
        ({"restarts": 3}, "restarts must be as in the checkpoint .*, 'ipop:0', got 'ipop:3'"),
        ({"ftarget": 1.0}, "ftarget must be as in the checkpoint"),
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


def test_where_no_file_can_be_is_known_before_the_first_evaluation(tmp_path: Path) -> None:
    def never(_: Array) -> float:
        raise AssertionError

    with pytest.raises(FileNotFoundError):
        r1nes.minimize(never, np.ones(3), checkpoint=tmp_path / "nowhere" / "f")
    with pytest.raises(ValueError, match="checkpoint_every must be finite and not below 0, got -1"):
        r1nes.minimize(never, np.ones(3), checkpoint=tmp_path / "f", checkpoint_every=-1)


def test_a_thousand_damaged_files_are_all_refused(tmp_path: Path) -> None:
    solve = partial(r1nes.minimize, sphere, np.ones(3), max_evals=60, rng=1, checkpoint=tmp_path / "f")
    solve()
    sound, rng = (tmp_path / "f").read_bytes(), random.Random(0)
    for trial in range(1000):
        damaged = bytearray(sound)
        if trial % 2:
            del damaged[rng.randrange(len(sound)) :]
        else:
            for _ in range(rng.choice([1, 1, 2, 20])):
                damaged[rng.randrange(len(sound))] ^= rng.randrange(1, 256)
        if damaged == sound:
            continue
        (tmp_path / "f").write_bytes(damaged)
        with pytest.raises(ValueError, match=r"cannot be read: (it|its) "):
            solve()
        assert (tmp_path / "f").read_bytes() == damaged


def test_forged_files_with_the_right_checksum_give_messages_too(tmp_path: Path) -> None:
    """Their trees may be nonsense: then it is an error of the kind that has a message, or none."""
    Optimizer(np.ones(3), rng=1).save(tmp_path / "f")
    magic, _, body = (tmp_path / "f").read_bytes().split(b"\n", 2)
    rng = random.Random(0)
    messages = []
    for _ in range(500):
        forged = bytearray(body)
        forged[rng.randrange(body.index(b"\n"))] = rng.choice(b'0123456789{}[]",:abcxyz')
        checksum = hashlib.sha256(forged).hexdigest().encode()
        (tmp_path / "f").write_bytes(b"\n".join([magic, checksum, forged]))
        try:
            Optimizer.load(tmp_path / "f")
        except ValueError as error:
            messages.append(str(error))
    assert len(messages) > 100
    assert all(message.startswith(f"{tmp_path / 'f'} ") for message in messages)


def test_a_driver_killed_at_twenty_random_moments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each life is a process of its own, ended by SIGKILL wherever it happens to be."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # where the server of processes looks
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["runs"])
    rng = random.Random(0)
    kills = 0
    for _ in range(20):
        alive = context.Event()
        process = context.Process(target=live, args=(tmp_path / "f", alive))
        process.start()
        assert alive.wait(60)
        time.sleep(rng.uniform(0, 0.2))
        kills += process.is_alive()
        process.kill()
        process.join()
    assert kills == 20
    reached = len(saving.read(tmp_path / "f")["history"]["nfev"])
    whole = solve_slowly()
    assert 20 < reached < whole.nit
    same(solve_slowly(checkpoint=tmp_path / "f"), whole)
