"""Files and processes that fail leave the result as it is, the old file or the new one."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import r1nes
from faults.rows import Row, f
from support import misbehaving
from support.faulty_disk import FaultyDisk, PowerCut
from support.functions import rosenbrock
from support.runs import rosenbrock_slowly, same

solve = partial(r1nes.minimize, f, np.ones(3), max_evals=60, rng=1)


def unreadable(make: Callable[[Path], object], says: str) -> Callable[[Path], None]:
    """A checkpoint that ``make`` has made is refused with a ValueError that names it."""

    def check(folder: Path) -> None:
        path = folder / "run"
        make(path)
        with pytest.raises(ValueError, match=f"{path} .*{says}"):
            solve(checkpoint=path)

    return check


def undisturbed(fun: Any, **options: Any) -> Callable[[Path], None]:
    """The result with workers that misbehave is that of an undisturbed run."""

    def check(folder: Path) -> None:
        again = partial(r1nes.minimize, x0=np.zeros(6), sigma0=0.5, max_evals=120, rng=2)
        same(again(fun, args=(folder,), workers=2, **options), again(rosenbrock))

    return check


def full_disk(folder: Path) -> None:
    disk = FaultyDisk(10**9)

    def callback(_: Any) -> None:
        disk._fails_at = len(disk.calls) + 3

    with disk.installed(), pytest.warns(RuntimeWarning, match="could not be written"):
        result = solve(checkpoint=folder / "run", callback=callback)
    assert result.x.tobytes() == solve().x.tobytes()


def power_cut(folder: Path) -> None:
    path = folder / "run"
    for number in range(1, 60):
        with FaultyDisk(number, None).installed():
            try:
                solve(checkpoint=path)
            except PowerCut:
                continue
        break
    same(solve(checkpoint=path), solve())


def two_runs(folder: Path) -> None:
    def callback(_: Any) -> None:
        with pytest.raises(BlockingIOError, match="is being written to by another process"):
            solve(checkpoint=folder / "run")

    same(solve(checkpoint=folder / "run", callback=callback, max_evals=14), solve(max_evals=14))


def time_is_up(_: Path) -> None:
    result = r1nes.minimize(rosenbrock_slowly, np.ones(3), popsize=10**4, max_seconds=2, workers=2, rng=1)
    assert result.stop == {"max_seconds": 2.0}
    assert 0 < result.nfev < 5000  # a generation takes 25 s
    assert result.fun == rosenbrock(result.x)


def truncated(path: Path) -> None:
    solve(checkpoint=path)
    path.write_bytes(path.read_bytes()[:-9])


ROWS = [
    Row("a checkpoint that is a pipe", "`ValueError`, at once", unreadable(os.mkfifo, "a device or a pipe")),
    Row(
        "a checkpoint that links to `/dev/zero`",
        "`ValueError`, at once",
        unreadable(lambda path: path.symlink_to("/dev/zero"), "a device or a pipe"),
    ),
    Row("a truncated checkpoint", "`ValueError`", unreadable(truncated, "the checksum does not match")),
    Row(
        "a file of another program",
        "`ValueError`",
        unreadable(lambda path: path.write_text("x"), "it is not an r1nes checkpoint"),
    ),
    Row("the disk is full when a checkpoint is due", "a warning, and the result", full_disk),
    Row("a power cut at any call of a save", "the same call continues the run", power_cut),
    Row("a second run on the same checkpoint", "`BlockingIOError`; the first is undisturbed", two_runs),
    Row("a worker is killed", "the result of an undisturbed run", undisturbed(misbehaving.dying)),
    Row("a worker hangs", "with `timeout`, the same result", undisturbed(misbehaving.hanging, timeout=1)),
    Row(
        "a worker is stopped", "with `timeout`, the same result", undisturbed(misbehaving.stopping, timeout=1)
    ),
    Row("a worker forks and answers twice", "the same result", undisturbed(misbehaving.forking)),
    Row(
        "`max_seconds` pass within a generation",
        "no further call of the function begins, and the values so far count",
        time_is_up,
    ),
]
