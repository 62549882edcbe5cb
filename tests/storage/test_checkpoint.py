"""Checkpoint files: what is written is read back, an optimizer resumes bit for bit, damage is refused."""

from __future__ import annotations

import hashlib
import math
import pickle
import random
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import Bounds

import r1nes
from r1nes import Optimizer, RkNES
from r1nes.storage import checkpoint
from r1nes.strategies import STRATEGIES
from support.functions import rosenbrock, sphere


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
            (b"r1nes checkpoint 1\n", "its format is 1, but this version of r1nes reads formats 2 and 3"),
            (b"r1nes checkpoint x\n", "its first line is damaged"),
            (b"r1nes checkpoint 4\n", "the checksum does not match"),
        ],
    )
    def test_other_files_are_refused(self, tmp_path: Path, content: bytes, message: str) -> None:
        path = tmp_path / "f"
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"{path} cannot be read: .*{message}"):
            checkpoint.read(path)

    def test_a_malicious_pickle_is_not_executed(self, tmp_path: Path) -> None:
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
    def test_it_resumes_bit_for_bit(
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

    def test_points_of_a_stream_can_be_told_after_loading(self, tmp_path: Path) -> None:
        optimizer = Optimizer(np.zeros(5), 0.5, method="snes", rng=1)  # which rounds one row as many
        X = np.array([x.copy() for x in optimizer.ask(streaming=True)])
        optimizer.save(tmp_path / "f")
        Optimizer.load(tmp_path / "f").tell(X, sphere(X))

    def test_a_subclass_is_made_by_its_own_init(self, tmp_path: Path) -> None:
        class Labelled(Optimizer):
            def __init__(self, *args: Any, **keywords: Any) -> None:
                super().__init__(*args, **keywords)
                self.label = "mine"

        Labelled(np.zeros(5)).save(tmp_path / "f")
        assert Labelled.load(tmp_path / "f").label == "mine"

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

    def test_the_clock_continues(self, tmp_path: Path) -> None:
        optimizer = Optimizer(np.zeros(5), max_seconds=0.05)
        time.sleep(0.06)
        optimizer.save(tmp_path / "f")
        assert list(Optimizer.load(tmp_path / "f").stop()) == ["max_seconds"]

    def test_runs_and_optimizers_are_not_mixed_up(self, tmp_path: Path) -> None:
        r1nes.minimize(sphere, np.ones(3), max_evals=50, checkpoint=tmp_path / "run")
        with pytest.raises(ValueError, match="run holds no Optimizer"):
            Optimizer.load(tmp_path / "run")
        Optimizer(np.ones(3)).save(tmp_path / "one")
        with pytest.raises(ValueError, match="one holds no run of minimize"):
            r1nes.minimize(sphere, np.ones(3), checkpoint=tmp_path / "one")


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


def test_forged_files_with_a_valid_checksum_raise_clear_errors(tmp_path: Path) -> None:
    """A forged tree either loads or raises a ValueError that names the file."""
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
