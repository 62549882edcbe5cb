"""Run random configurations with random faults for a while, and report every promise that did not hold.

python -m soak --minutes 60 --seed 1 --log soak.log      from the folder tests
python -m soak --seed 1 --only 17                        run number 17 of that soak alone
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing.connection
import os
import platform
import signal
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from soak.attempts import fork, soak
from soak.configurations import configuration
from soak.promises import BrokenError

DEADLINE = 300.0  # seconds of a run; most take one


class Run:
    """One configuration in a process of its own, which leads a process session."""

    def __init__(self, seed: int, number: int) -> None:
        self.number, self.setup = number, configuration(seed, number)
        self.deadline = time.monotonic() + DEADLINE
        self._pipe, theirs = fork.Pipe(duplex=False)
        self.process = fork.Process(target=self._main, args=(theirs,))
        self.process.start()
        theirs.close()

    def _main(self, pipe: Any) -> None:
        os.setsid()
        with tempfile.TemporaryDirectory(prefix="soak") as folder:
            try:
                pipe.send((soak(self.setup, Path(folder)), ""))
            except BrokenError as error:
                pipe.send((0, str(error)))
            except Exception:
                pipe.send((0, " | ".join(traceback.format_exc().splitlines()[-4:])))

    def ended(self) -> tuple[int, str] | None:
        """Return the number of faults and the failure, or '', once the run has ended."""
        if not self.process.is_alive():
            self.process.join()
            try:
                return self._pipe.recv() if self._pipe.poll() else (0, f"exit code {self.process.exitcode}")
            except EOFError:
                return 0, f"exit code {self.process.exitcode}"
        if time.monotonic() > self.deadline:
            os.killpg(self.process.pid or 0, signal.SIGKILL)
            return 0, f"no end within {DEADLINE:g} s"
        return None


class Log:
    """Prints lines, and writes them to a file if there is a path."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        if path is not None:
            path.write_text("", encoding="utf-8")

    def line(self, text: str) -> None:
        print(text, flush=True)
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(text + "\n")


def repeat(seed: int, numbers: Any, minutes: float, jobs: int, log: Log) -> int:
    """Run one configuration after the other; return the number of failures."""
    began, last = time.monotonic(), time.monotonic() + 60 * minutes
    runs: list[Run] = []
    done: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    failures, ahead = 0, iter(numbers)
    while True:
        while len(runs) < jobs and time.monotonic() < last:
            number = next(ahead, None)
            if number is None:
                last = 0.0
                break
            runs.append(Run(seed, number))
        if not runs:
            break
        multiprocessing.connection.wait([run.process.sentinel for run in runs], timeout=1.0)
        for run in list(runs):
            if (end := run.ended()) is None:
                continue
            runs.remove(run)
            done[run.setup.evaluator] += 1
            faults[run.setup.fault] += end[0]
            if end[1]:
                failures += 1
                log.line(f"FAILURE --seed {seed} --only {run.number}: {end[1]} [{run.setup}]")
    for title, counter in (("runs", done), ("faults", faults)):
        parts = ", ".join(f"{name} {n}" for name, n in sorted(counter.items()) if n)
        log.line(f"{title}: {counter.total()} ({parts})")
    log.line(f"failures: {failures}")
    log.line(f"seconds: {time.monotonic() - began:.0f}")
    return failures


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60.0, help="how long to start new runs")
    parser.add_argument("--seed", type=int, default=1, help="determines, with its number, each run")
    parser.add_argument("--only", type=int, help="the number of a single run")
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time")
    parser.add_argument("--log", type=Path, help="a file for the failures and the summary")
    given = parser.parse_args()
    log = Log(given.log)
    numbers = itertools.count() if given.only is None else [given.only]
    log.line(
        f"soak --seed {given.seed} --minutes {given.minutes:g} --jobs {given.jobs}, {platform.system()}, "
        f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}"
    )
    raise SystemExit(repeat(given.seed, numbers, given.minutes, given.jobs, log) > 0)


if __name__ == "__main__":
    main()
