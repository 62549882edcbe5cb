"""Make each mistake of the table in a copy of the source, and report those that no test notices.

python -m mutants [--jobs 2] [part of a path]      from the folder tests
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mutants.table import MUTANTS, Mutant

ROOT = Path(__file__).parents[2]
LONGEST = 120  # seconds of a test: a mistake may make it wait for ever


def passes(tests: str, path: str = "", old: str = "", new: str = "") -> bool:
    """Return whether the ``tests`` pass with a change of the source, if one is given."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(shutil.copytree(ROOT / "src", Path(folder) / "src"))
        if path:
            file = source / "r1nes" / path
            file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
        quick = ["-x", "-p", "no:cacheprovider", "-m", "not slow", "--timeout", str(LONGEST)]
        command = [sys.executable, "-m", "pytest", *quick, *tests.split()]
        environment = os.environ | {"PYTHONPATH": str(source)}
        ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
    return ended.returncode == 0


def survives(mutant: Mutant) -> bool:
    """Return whether no test notices the mistake."""
    return passes(mutant.tests, mutant.path, mutant.old, mutant.new)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("path", nargs="?", default="", help="only files whose path contains this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="mistakes tried at the same time")
    given = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if given.path in mutant.path]
    for mutant in chosen:
        found = (ROOT / "src" / "r1nes" / mutant.path).read_text(encoding="utf-8").count(mutant.old)
        if found != 1:
            raise SystemExit(f"{mutant.path} must have {mutant.old!r} once, has it {found} times")
    began, made, noticed = time.monotonic(), Counter[str](), Counter[str]()
    rooms = sorted({mutant.tests for mutant in chosen})
    with ThreadPoolExecutor(given.jobs) as executor:
        for tests, passed in zip(rooms, executor.map(passes, rooms), strict=True):
            if not passed:  # else all mistakes would count as noticed
                executor.shutdown(cancel_futures=True)
                raise SystemExit(f"without a mistake, this must pass: pytest {tests}")
        for mutant, survived in zip(chosen, executor.map(survives, chosen), strict=True):
            made[mutant.path] += 1
            noticed[mutant.path] += not survived
            if survived:
                print(f"SURVIVED {mutant.path}: {mutant.old!r} -> {mutant.new!r}", flush=True)
    for path, n in made.items():
        print(f"{path}: {noticed[path]} of {n}")
    print(f"{noticed.total()} of {made.total()} mutants were noticed, {time.monotonic() - began:.0f} s")
    raise SystemExit(noticed.total() < made.total())


if __name__ == "__main__":
    main()
