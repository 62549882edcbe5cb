"""The command line, from the outside."""

from __future__ import annotations

import subprocess
import sys

import r1nes


def test_version_and_help() -> None:
    command = [sys.executable, "-c", "import sys; from r1nes.cli import main; sys.exit(main())"]
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout.strip() == f"r1nes {r1nes.__version__}"
    usage = subprocess.run(command, capture_output=True, text=True, check=False)
    assert usage.returncode == 2
    assert "Traceback" not in usage.stderr
