"""The command line, from the outside."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import r1nes

COMMAND = [sys.executable, "-c", "import sys; from r1nes.cli import main; sys.exit(main())"]


def test_version_and_help() -> None:
    version = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout.strip() == f"r1nes {r1nes.__version__}"
    usage = subprocess.run(COMMAND, capture_output=True, text=True, check=False)
    assert usage.returncode == 2
    assert "Traceback" not in usage.stderr


VALLEY = """
import time

def valley(x):
    time.sleep(1e-3)
    return float(sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))
"""


def run(*arguments: str, at: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, cwd=at, check=False)


def test_a_run_that_was_interrupted_is_resumed_and_reported(tmp_path: Path) -> None:
    (tmp_path / "landscape.py").write_text(VALLEY)
    start = ["run", "landscape:valley", "--x0=-1,0,1,0", "--restarts=bipop:1", "--max-evals=1500", "--seed=4"]
    whole = run(*start, at=tmp_path)
    assert whole.returncode == 0
    assert whole.stderr == ""
    with subprocess.Popen(
        [*COMMAND, *start, "--checkpoint=part.r1nes"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as driver:
        while not (tmp_path / "part.r1nes").exists():
            time.sleep(0.01)
        time.sleep(0.3)
        driver.send_signal(signal.SIGINT)
        assert "Ctrl-C was pressed" in driver.communicate()[0]
        assert driver.returncode == 130
    resumed = run("resume", "part.r1nes", "--workers=2", at=tmp_path)
    assert resumed.stdout == whole.stdout
    report = run("report", "part.r1nes", at=tmp_path)
    assert report.returncode == 0
    assert "landscape:valley" in report.stdout
    assert "rknes, 4 variables" in report.stdout
    assert (tmp_path / "part.svg").stat().st_size > 1000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "landscape:hill", "--dim=3"], "landscape has no hill"),
        (["run", "landscape", "--dim=3"], "must be named as MODULE:FUNCTION, got 'landscape'"),
        (["run", "nowhere:f", "--dim=3"], "No module named 'nowhere'"),
        (["run", "landscape:valley", "--dim=3", "--restarts=often"], "restarts must be a number"),
        (["resume", "nothing.r1nes"], "No such file or directory: 'nothing.r1nes'"),
        (["resume", "landscape.py"], "landscape.py cannot be read: it is not an r1nes checkpoint"),
        (["report", "landscape.py"], "landscape.py cannot be read: it is not an r1nes checkpoint"),
        (["resume", "lambda.r1nes"], "cannot be imported or takes further arguments"),
    ],
)
def test_mistakes_get_a_message(tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "landscape.py").write_text(VALLEY)
    r1nes.minimize(lambda x: x @ x, [1.0, 2.0], max_evals=50, checkpoint=tmp_path / "lambda.r1nes")
    failed = run(*arguments, at=tmp_path)
    assert failed.returncode == 2
    assert message in failed.stderr
    assert "Traceback" not in failed.stderr
