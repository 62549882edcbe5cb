"""One run of the soak: undisturbed, disturbed by its faults, and resumed to its end."""

from __future__ import annotations

import errno
import multiprocessing
import os
import pickle
import signal
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

import r1nes
from r1nes.storage import run_file
from soak.configurations import OF_CALLS, Configuration
from soak.objectives import Drifting, OutageError, Watched, number_of_calls, recorded, struck
from soak.promises import WORKERS, check_best, check_points, check_same, check_whole, promise
from support.faulty_disk import CALLS, FaultyDisk

CALLS_PER_SAVE = 32  # of the disk, about
CODES = {"full disk": errno.ENOSPC, "broken disk": errno.EIO}
fork = multiprocessing.get_context("fork")


class DyingDisk(FaultyDisk):
    """A disk during whose n-th call the process is killed."""

    def __init__(self, at: int, folder: Path) -> None:
        super().__init__()
        self._at, self._folder = at, folder

    def __getattr__(self, name: str) -> Any:
        if name in CALLS and len(self.calls) >= self._at and struck(self._folder):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getattr__(name)


def soak(setup: Configuration, folder: Path) -> int:
    """Run a configuration; return how many faults struck, or raise BrokenError."""
    undisturbed = None
    if not setup.options["asynchronous"]:
        undisturbed = attempt(setup, _new(folder, "undisturbed"), evaluator="serial")
        check_whole(setup, undisturbed, recorded(folder / "undisturbed", setup.dim))
    if not setup.fault:
        outcome = attempt(setup, _new(folder, "last"), setup.evaluator)
        check_whole(setup, outcome, recorded(folder / "last", setup.dim))
        if undisturbed is not None:
            check_same(outcome, undisturbed)
        return 0
    most = (
        setup.options["max_evals"]
        if undisturbed is None
        else len(recorded(folder / "undisturbed", setup.dim))
    )
    path = folder / "run.r1nes"
    strikes = 0
    for number, moment in enumerate(setup.moments):
        here = _new(folder, f"disturbed{number}")
        outcome = in_process(setup, here, path, moment, most)
        strikes += setup.fault == "damaged file" or (here / "struck").exists()
        check_disturbed(setup, outcome, undisturbed, folder)
        if path.exists():
            run_file.read(path)  # the old one or the new one, never a torn one
        if setup.fault == "damaged file":
            check_damage(setup, here, path, moment)
    last = attempt(setup, _new(folder, "last"), setup.evaluator, path)
    finish(setup, last, undisturbed, folder)
    again = attempt(setup, _new(folder, "again"), setup.evaluator, path)
    if not isinstance(last, Exception):
        promise(len(recorded(folder / "again", setup.dim)) == 0, "a finished run called fun again")
        check_same(again, last)
    return strikes


def finish(setup: Configuration, last: Any, undisturbed: Any, folder: Path) -> None:
    """Check the outcome of the attempt that nothing disturbed."""
    calls = all_calls(setup, folder)
    check_points(setup, calls)
    if undisturbed is not None:
        check_same(last, undisturbed)
    elif isinstance(last, Exception):
        check_whole(setup, last, recorded(folder / "last", setup.dim))
    else:
        check_best(last, calls)
        promise(last.nfev <= setup.options["max_evals"], f"{last.nfev=} exceeds max_evals")
    kills = setup.fault in ("SIGKILL", *CODES, "kill while saving")
    left = sorted(each.name for each in folder.glob("run.r1nes.*"))
    promise(kills or not left, f"left behind: {left}")


def all_calls(setup: Configuration, folder: Path) -> Any:
    """The calls of all attempts but the undisturbed one."""
    names = [*(f"disturbed{n}" for n in range(len(setup.moments))), "last"]
    return np.concatenate([recorded(folder / name, setup.dim) for name in names])


def check_disturbed(setup: Configuration, outcome: Any, undisturbed: Any, folder: Path) -> None:
    """Check how an attempt ended during which the fault may have struck."""
    if isinstance(outcome, int):
        expected = {"SIGKILL": -9, "kill while saving": -9, "SIGTERM": -15}.get(setup.fault)
        promise(outcome == expected, f"the process ended with {outcome}")
    elif isinstance(outcome, OutageError):
        promise(setup.fault == "exception", "an exception from nowhere")
    elif isinstance(outcome, OSError) and setup.fault in CODES:
        promise(outcome.errno == CODES[setup.fault], f"it raised {outcome!r}")
    elif isinstance(outcome, Exception):
        check_whole(setup, outcome, recorded(folder / "last", setup.dim))
    else:
        check_best(outcome, all_calls(setup, folder))
        early = {"callback", "interrupt"} & outcome.stop.keys()
        if not early and undisturbed is not None:
            check_same(outcome, undisturbed)


def check_damage(setup: Configuration, here: Path, path: Path, moment: float) -> None:
    """A file that was cut or changed is refused and stays as it is."""
    content = path.read_bytes()
    place = int(moment * len(content))
    damaged = (
        content[:place]
        if moment < 0.5
        else content[:place] + bytes([content[place] ^ 16]) + content[place + 1 :]
    )
    path.write_bytes(damaged)
    outcome = attempt(setup, here, setup.evaluator, path)
    promise(isinstance(outcome, ValueError) and str(path) in str(outcome), f"a damaged file gave {outcome!r}")
    promise(path.read_bytes() == damaged, "a damaged file was overwritten")
    path.write_bytes(content)


def in_process(setup: Configuration, here: Path, path: Path, moment: float, most: int) -> Any:
    """Run an attempt with the fault in a process of its own; return its outcome, or its exit code."""

    def main() -> None:
        outcome = attempt(setup, here, setup.evaluator, path, setup.fault, moment, most)
        (here / "outcome").write_bytes(pickle.dumps(outcome))

    process = fork.Process(target=main)
    process.start()
    process.join()
    if process.exitcode:
        return process.exitcode
    return pickle.loads((here / "outcome").read_bytes())


def attempt(
    setup: Configuration,
    here: Path,
    evaluator: str,
    path: Path | None = None,
    fault: str = "",
    moment: float = 0.0,
    most: int = 0,
) -> Any:
    """Call ``minimize`` once, with a fault at a ``moment`` of ``most`` calls; return its result or error."""
    at = 1 + int(moment * most)
    kind = Drifting if setup.is_stateful else Watched
    fun = kind(setup.landscape, setup.shape, here, fault if fault in OF_CALLS else "", at)

    def callback(_: Any) -> None:
        if fault in ("callback", "damaged file") and number_of_calls(here, setup.dim) >= at and struck(here):
            raise StopIteration

    options = dict(setup.options)
    if evaluator != "processes":
        options.pop("timeout", None)
    with ExitStack() as stack:
        stack.enter_context(_disk(fault, at, here, most))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "the values of a generation hardly differ", RuntimeWarning)
        warnings.filterwarnings("ignore", "the checkpoint .* could not be written", RuntimeWarning)
        try:
            return r1nes.minimize(
                fun,
                **options,
                **_evaluation(evaluator, stack),
                callback=callback,
                checkpoint=path,
                checkpoint_every=setup.every,
            )
        except Exception as error:
            return error


def _evaluation(evaluator: str, stack: ExitStack) -> dict[str, Any]:
    if evaluator == "vectorized":
        return {"vectorized": True}
    workers: dict[str, Any] = {"serial": 1, "map": map, "threads": f"threads:{WORKERS}", "processes": WORKERS}
    if evaluator == "executor":
        return {"workers": stack.enter_context(ThreadPoolExecutor(WORKERS))}
    return {"workers": workers[evaluator]}


def _disk(fault: str, at: int, here: Path, most: int) -> Any:
    """The disk of an attempt; its faults strike during one of its first saves."""
    call = 1 + at * 10 * CALLS_PER_SAVE // max(1, most)
    if fault == "kill while saving":
        return DyingDisk(call, here).installed()
    if fault in CODES:
        return _failing(FaultyDisk(call, CODES[fault]), call, here)
    return nullcontext()


@contextmanager
def _failing(disk: FaultyDisk, call: int, here: Path) -> Iterator[None]:
    with disk.installed():
        yield
    if len(disk.calls) >= call:
        struck(here)


def _new(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name
