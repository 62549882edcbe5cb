"""Files under attack: full disks, killed writers, links, devices, and several processes at once."""

from __future__ import annotations

import errno
import multiprocessing
import os
import secrets
import stat
import subprocess
import sys
import threading
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import r1nes
from r1nes import Optimizer
from r1nes.storage import checkpoint, files, run_file
from r1nes.storage.files import locked, replace_file
from support.faulty_disk import FaultyDisk, PowerCut
from support.functions import sphere

OLD, NEW = b"old content", b"new content, and longer"


def calls_of_a_save(path: Path) -> list[str]:
    path.write_bytes(OLD)
    disk = FaultyDisk()
    with disk.installed():
        replace_file(path, NEW)
    assert path.read_bytes() == NEW
    return disk.calls


class TestFaults:
    """Every call of a save fails in turn."""

    def test_a_save_flushes_the_content_before_the_rename_and_the_folder_after_it(
        self, tmp_path: Path
    ) -> None:
        calls = calls_of_a_save(tmp_path / "f")
        assert calls[:2] == ["open", "fchmod"]
        assert calls.count("write") > 3
        assert calls[calls.index("fsync") :] == ["fsync", "close", "replace", "open", "fsync", "close"]

    @pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
    def test_an_error_leaves_the_old_file_or_the_new_one_and_no_draft(
        self, tmp_path: Path, code: int
    ) -> None:
        path, seen = tmp_path / "f", set()
        for number, name in enumerate(calls_of_a_save(path), 1):
            path.write_bytes(OLD)
            with FaultyDisk(number, code).installed(), pytest.raises(OSError, match=os.strerror(code)):
                replace_file(path, NEW)
            content = path.read_bytes()
            assert content in (OLD, NEW), name
            assert [file.name for file in tmp_path.iterdir()] == ["f"], name
            seen.add(content)
            replace_file(path, NEW)
            assert path.read_bytes() == NEW
        assert seen == {OLD, NEW}  # before the rename, and after it

    def test_a_power_cut_leaves_the_old_file_or_the_new_one(self, tmp_path: Path) -> None:
        path, seen = tmp_path / "f", set()
        for number, name in enumerate(calls_of_a_save(path), 1):
            path.write_bytes(OLD)
            with FaultyDisk(number, None).installed(), pytest.raises(PowerCut):
                replace_file(path, NEW)
            assert path.read_bytes() in (OLD, NEW), name
            seen.add(path.read_bytes())
            replace_file(path, NEW)  # a draft left behind is no obstacle
            assert path.read_bytes() == NEW
        assert seen == {OLD, NEW}

    def test_there_was_no_file_before(self, tmp_path: Path) -> None:
        path = tmp_path / "f"
        for number in range(1, len(calls_of_a_save(path)) + 1):
            path.unlink()
            with FaultyDisk(number, None).installed(), suppress(PowerCut):
                replace_file(path, NEW)
            assert not path.exists() or path.read_bytes() == NEW
            replace_file(path, NEW)

    def test_optimizers_are_written_that_way(self, tmp_path: Path) -> None:
        path = tmp_path / "f"
        optimizer = Optimizer(np.ones(4), rng=1)
        optimizer.save(path)
        before = path.read_bytes()
        X = optimizer.ask()
        optimizer.tell(X, sphere(X))
        disk = FaultyDisk()
        with disk.installed():
            optimizer.save(path)
        for number in range(1, len(disk.calls) + 1):
            path.write_bytes(before)
            with FaultyDisk(number).installed(), pytest.raises(OSError, match="No space left"):
                optimizer.save(path)
            assert Optimizer.load(path).generation == (path.read_bytes() != before)


class TestReplace:
    def test_the_mode_of_the_file_is_kept(self, tmp_path: Path) -> None:
        path = tmp_path / "f"
        path.write_bytes(OLD)
        for mode in (0o600, 0o640, 0o644, 0o664):
            path.chmod(mode)
            replace_file(path, NEW)
            assert stat.S_IMODE(path.stat().st_mode) == mode

    def test_a_new_file_has_the_mode_that_open_gives(self, tmp_path: Path) -> None:
        (tmp_path / "plain").write_bytes(OLD)
        replace_file(tmp_path / "f", NEW)
        assert (tmp_path / "f").stat().st_mode == (tmp_path / "plain").stat().st_mode

    def test_a_link_stays_and_the_file_that_it_points_to_is_replaced(self, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").mkdir()
        target, link = tmp_path / "elsewhere" / "f", tmp_path / "link"
        link.symlink_to(target)
        for content in (OLD, NEW):  # at first, the link dangles
            replace_file(link, content)
            assert link.is_symlink()
            assert target.read_bytes() == content
        assert sorted(file.name for file in tmp_path.rglob("*")) == ["elsewhere", "f", "link"]

    def test_a_draft_that_somebody_else_made_is_not_written_to(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A link planted under the name of the draft must not lead the write elsewhere."""
        monkeypatch.setattr(secrets, "token_hex", lambda _: "guessed")
        victim = tmp_path / "victim"
        victim.write_bytes(OLD)
        (tmp_path / "f.guessed.tmp").symlink_to(victim)
        with pytest.raises(FileExistsError):
            replace_file(tmp_path / "f", NEW)
        assert victim.read_bytes() == OLD
        assert (tmp_path / "f.guessed.tmp").is_symlink()


class TestRead:
    @pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom", "/dev/null"])
    def test_devices_are_not_read(self, device: str) -> None:
        with pytest.raises(ValueError, match="cannot be read: it is a device or a pipe, not a file"):
            checkpoint.read(device)

    def test_a_pipe_does_not_block(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ValueError, match="cannot be read: it is a device or a pipe, not a file"):
            checkpoint.read(tmp_path / "pipe")

    def test_a_large_file_of_another_kind_is_not_read(self, tmp_path: Path) -> None:
        with (tmp_path / "f").open("wb") as file:
            file.truncate(1 << 42)
        with pytest.raises(ValueError, match="it is not an r1nes checkpoint"):
            checkpoint.read(tmp_path / "f")

    def test_neither_is_one_that_is_too_large_to_be_ours(self, tmp_path: Path) -> None:
        with (tmp_path / "f").open("wb") as file:
            file.write(b"r1nes checkpoint 4\n")
            file.truncate(1 << 42)
        with pytest.raises(ValueError, match="it has 4,398,046,511,104 bytes, and at most"):
            checkpoint.read(tmp_path / "f")

    def test_what_could_not_be_read_is_not_written(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(checkpoint, "LARGEST", 1000)
        with pytest.raises(OSError, match=r"would have .* bytes, and at most 1,000 can be read"):
            checkpoint.write(tmp_path / "f", np.ones(200))
        assert not (tmp_path / "f").exists()


def save_again_and_again(path: Path, start: Any, number: int) -> None:
    start.wait(60)
    for i in range(200):
        checkpoint.write(path, np.full(1000 + 500 * number, float(i)))


def test_processes_that_write_one_file_never_tear_it(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    path, start = tmp_path / "f", context.Barrier(4)
    checkpoint.write(path, np.zeros(1000))
    writers = [context.Process(target=save_again_and_again, args=(path, start, i)) for i in range(3)]
    for writer in writers:
        writer.start()
    start.wait(60)
    while any(writer.is_alive() for writer in writers):
        assert len(set(checkpoint.read(path).tolist())) == 1
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert [file.name for file in tmp_path.iterdir()] == ["f"]


class TestLock:
    def test_a_second_run_on_the_same_file_is_refused_while_the_first_lasts(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(files, "PATIENCE", 0.05)
        path = tmp_path / "run.r1nes"
        (tmp_path / "link").symlink_to(path)
        refused = []

        def callback(_: Any) -> None:
            for name in (path, tmp_path / "link"):
                with pytest.raises(
                    BlockingIOError, match=r"run\.r1nes is being written to by another process"
                ):
                    r1nes.minimize(sphere, np.ones(3), max_evals=60, rng=1, checkpoint=name)
                refused.append(name)
            raise StopIteration

        r1nes.minimize(sphere, np.ones(3), max_evals=60, rng=1, checkpoint=path, callback=callback)
        assert len(refused) == 2
        whole = r1nes.minimize(sphere, np.ones(3), max_evals=60, rng=1, checkpoint=path)
        assert "max_evals" in whole.stop
        assert sorted(file.name for file in tmp_path.iterdir()) == ["link", "run.r1nes"]

    def test_another_process_is_refused_too(self, tmp_path: Path) -> None:
        code = (
            "import sys, numpy as np, r1nes\n"
            "r1nes.minimize(lambda x: float(x @ x), np.ones(3), max_evals=60, rng=1, checkpoint=sys.argv[1])"
        )
        path = tmp_path / "f"
        with locked(path):
            second = subprocess.run(
                [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False
            )
        assert "BlockingIOError" in second.stderr
        assert not path.exists()

    def test_a_lock_that_its_owner_has_just_deleted_is_none(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It is deleted between opening and locking, so that others would lock a new one."""
        lock_descriptor, deleted = files.lock_descriptor, list[Path]()

        def too_late(descriptor: int, path: Path) -> None:
            if not deleted:
                deleted.extend(tmp_path.iterdir())
                deleted[0].unlink()
            lock_descriptor(descriptor, path)

        monkeypatch.setattr(files, "lock_descriptor", too_late)
        monkeypatch.setattr(files, "PATIENCE", 0.05)
        with locked(tmp_path / "f"):
            with pytest.raises(BlockingIOError), locked(tmp_path / "f"):
                raise AssertionError
            assert deleted == list(tmp_path.iterdir())

    def test_it_is_deleted_before_others_can_lock_it(self, tmp_path: Path) -> None:
        disk = FaultyDisk()
        with disk.installed(), locked(tmp_path / "f"):
            pass
        assert disk.calls == ["open", "unlink", "close"]

    def test_of_many_that_compete_one_has_it_at_a_time(self, tmp_path: Path) -> None:
        """Those that end delete the lock; those that wait must not lock the deleted one."""
        inside, most, entered = 0, 0, 0
        count = threading.Lock()

        def compete() -> None:
            nonlocal inside, most, entered
            for _ in range(30):
                try:
                    with locked(tmp_path / "f"):
                        with count:
                            inside, entered = inside + 1, entered + 1
                            most = max(most, inside)
                        with count:
                            inside -= 1
                except BlockingIOError:
                    continue

        threads = [threading.Thread(target=compete) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert most == 1
        assert entered > 30
        assert list(tmp_path.iterdir()) == []

    def test_a_lock_that_a_killed_process_left_behind_is_no_obstacle(self, tmp_path: Path) -> None:
        (tmp_path / "f.lock").touch()
        r1nes.minimize(sphere, np.ones(3), max_evals=60, checkpoint=tmp_path / "f")
        assert [file.name for file in tmp_path.iterdir()] == ["f"]

    @pytest.mark.filterwarnings("default:.* without locks:RuntimeWarning")
    def test_a_file_system_without_locks_is_reported(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import fcntl

        def flock(*_: Any) -> None:
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

        monkeypatch.setattr(fcntl, "flock", flock)
        with pytest.warns(RuntimeWarning, match="is on a file system without locks"):
            r1nes.minimize(sphere, np.ones(3), max_evals=60, checkpoint=tmp_path / "f")
        assert run_file.read(tmp_path / "f")


class TestFullDisk:
    """Of a run: what it has found is returned, whatever happens to its checkpoint."""

    def test_the_result_is_returned_with_a_warning(self, tmp_path: Path) -> None:
        def solve(**more: Any) -> Any:
            return r1nes.minimize(sphere, np.ones(4), max_evals=200, rng=1, **more)

        disk = FaultyDisk(10**9)

        def callback(_: Any) -> None:
            disk._fails_at = len(disk.calls) + 3  # the first write of the next save

        with disk.installed(), pytest.warns(RuntimeWarning) as warned:
            result = solve(checkpoint=tmp_path / "f", callback=callback)
        assert "f could not be written ([Errno 28] No space left on device)" in str(warned[0].message)
        whole = solve()
        assert (result.x.tolist(), result.fun, result.nfev) == (whole.x.tolist(), whole.fun, whole.nfev)
        assert run_file.read(tmp_path / "f")["search"]["optimizer"]["counts"]["nfev"] == 0

    def test_a_save_on_the_way_that_fails_does_not_end_the_run(self, tmp_path: Path) -> None:
        disk = FaultyDisk(10**9)

        def callback(intermediate_result: Any) -> None:
            disk._fails_at = len(disk.calls) + 3 if intermediate_result.nit == 5 else 10**9

        with disk.installed(), pytest.warns(RuntimeWarning, match="could not be written"):
            result = r1nes.minimize(
                sphere,
                np.ones(4),
                max_evals=200,
                rng=1,
                checkpoint=tmp_path / "f",
                checkpoint_every=0,
                callback=callback,
            )
        assert result.nfev > 150
        kept = run_file.read(tmp_path / "f")["search"]["optimizer"]["counts"]["nfev"]
        assert kept == result.nfev  # later saves succeeded

    @pytest.mark.parametrize("action", ["ignore", "error"])
    def test_an_error_of_the_objective_is_not_hidden(self, tmp_path: Path, action: Any) -> None:
        disk = FaultyDisk(10**9)
        calls = 0

        def fails(x: Any) -> float:
            nonlocal calls
            calls += 1
            if calls == 20:
                disk._fails_at = len(disk.calls) + 3
                raise ArithmeticError("of the objective")
            return float(x @ x)

        with disk.installed(), warnings.catch_warnings():
            warnings.simplefilter(action)
            with pytest.raises(ArithmeticError, match="of the objective"):
                r1nes.minimize(fails, np.ones(4), rng=1, checkpoint=tmp_path / "f")

    def test_before_the_first_evaluation_it_is_an_error(self, tmp_path: Path) -> None:
        with FaultyDisk(3).installed(), pytest.raises(OSError, match="No space left on device"):
            r1nes.minimize(lambda _: pytest.fail("evaluated"), np.ones(4), checkpoint=tmp_path / "f")
