"""Make each mistake of the table in a copy of the source, and report those that no test notices.

python -m mutants [part of a path]      from the folder tests
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mutants.table import MUTANTS, Mutant

ROOT = Path(__file__).parents[2]


def survives(mutant: Mutant, source: Path) -> bool:
    """Return whether the tests pass with the mistake."""
    path = source / "r1nes" / mutant.path
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        raise ValueError(
            f"{mutant.path} must have {mutant.old!r} once, has it {text.count(mutant.old)} times"
        )
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", *mutant.tests.split()]
        environment = os.environ | {"PYTHONPATH": str(source)}
        ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
    finally:
        path.write_text(text, encoding="utf-8")
    return ended.returncode == 0


def main() -> None:
    chosen = [mutant for mutant in MUTANTS if not sys.argv[1:] or sys.argv[1] in mutant.path]
    began, survivors = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as folder:
        source = Path(shutil.copytree(ROOT / "src", Path(folder) / "src"))
        for mutant in chosen:
            if survives(mutant, source):
                survivors += 1
                print(f"SURVIVED {mutant.path}: {mutant.old!r} -> {mutant.new!r}", flush=True)
    killed = len(chosen) - survivors
    print(f"{killed} of {len(chosen)} mutants were noticed, {time.monotonic() - began:.0f} s")
    raise SystemExit(survivors > 0)


if __name__ == "__main__":
    main()
