"""The command line as a subprocess, and a function to minimise with it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

Call = Callable[..., tuple[int, str, str]]  # arguments → exit code, standard output, standard error

COMMAND = [sys.executable, "-c", "import sys; from r1nes.cli import main; sys.exit(main())"]

VALLEY = """
import time

def valley(x):
    time.sleep(1e-3)
    return float(sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))
"""


def run(*arguments: str, at: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, cwd=at, check=False)
