"""``r1nes run``, ``resume`` and ``report``: results, messages, exit codes, progress."""

from __future__ import annotations

import contextlib
import json
import math
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import r1nes
from r1nes.cli import output
from support.command_line import COMMAND, VALLEY, Call, run


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
        assert "Ctrl-C or SIGTERM interrupted the run" in driver.communicate()[0]
        assert driver.returncode == 130
    resumed = run("resume", "part.r1nes", "--workers=2", at=tmp_path)
    assert resumed.stdout == whole.stdout
    report = run("report", "part.r1nes", at=tmp_path)
    assert report.returncode == 0
    assert "landscape:valley" in report.stdout
    assert "rknes, 4 variables" in report.stdout
    assert report.stdout.splitlines()[-1] == "part.html"
    assert "landscape:valley" in (tmp_path / "part.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "landscape:hill", "--dim=3"], "landscape has no hill"),
        (
            ["run", "landscape", "--dim=3"],
            "must be named as MODULE:FUNCTION or FILE.py:FUNCTION, got 'landscape'",
        ),
        (
            ["run", "several.py", "--dim=3"],
            "several.py defines one, two: choose one with several.py:FUNC",
        ),
        (
            ["run", "broken.py:f", "--dim=3"],
            "broken.py cannot be imported: NameError: name 'nonsense'",
        ),
        (["run", "json.py:f", "--dim=3"], "json.py has the same name as the module"),
        (["run", "nowhere.py:f", "--dim=3"], "No such file or directory"),
        (
            ["run", "landscape:valley", "--x0=a,b"],
            "--x0 must be numbers like 0.5,-1,2 or a .npy file",
        ),
        (["run", "landscape:valley", "--dim=3", "--bounds=3"], "expected two numbers like -5,5, got '3'"),
        (["run", "landscape:valley", "--dim=3", "--sigma0=nan"], "sigma0 must be a number, got nan"),
        (["run", "landscape:valley"], "one of the arguments --x0 --dim is required"),
        (["run", "nowhere:f", "--dim=3"], "no module named 'nowhere' can be imported here"),
        (
            ["run", "landscape:valley", "--dim=3", "--method=r1nes", "--preset=mathlab"],
            "preset must be one of pybrain, heuristic, matlab, got 'mathlab'; did you mean matlab?",
        ),
        (["run", "landscape:valley", "--dim=3", "--preset=matlab"], "preset is not a setting of RkNES"),
        (["run", "landscape:valley", "--dim=3", "--restarts=often"], "restarts must be a number"),
        (["resume", "nothing.r1nes"], "r1nes: nothing.r1nes: No such file or directory\n"),
        (["resume", "landscape.py"], "landscape.py cannot be read: it is not an r1nes checkpoint"),
        (["report", "landscape.py"], "landscape.py cannot be read: it is not an r1nes checkpoint"),
        (["report", "/dev/zero"], "r1nes: /dev/zero cannot be read: it is a device or a pipe, not a file\n"),
        (["resume", "/dev/zero"], "r1nes: /dev/zero cannot be read: it is a device or a pipe, not a file\n"),
        (["resume", "lambda.r1nes"], "cannot be imported or takes further arguments"),
    ],
)
def test_mistakes_get_a_message(tmp_path: Path, call: Call, arguments: list[str], message: str) -> None:
    (tmp_path / "landscape.py").write_text(VALLEY)
    (tmp_path / "several.py").write_text("def one(x): ...\ndef two(x): ...\ndef _three(x): ...\n")
    (tmp_path / "broken.py").write_text("nonsense")
    (tmp_path / "json.py").write_text("def f(x): ...\n")
    r1nes.minimize(lambda x: x @ x, [1.0, 2.0], max_evals=50, checkpoint=tmp_path / "lambda.r1nes")
    code, _, err = call(*arguments)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


FAILING = """
def raises(x):
    return 1 / 0

def says(x):
    return "four"

def knows_nothing(x):
    return float("nan")
"""


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        ("raises", [], "failing.py:raises failed: ZeroDivisionError: division by zero (failing.py:3)"),
        ("raises", ["--workers=2"], "failing.py:raises failed: ZeroDivisionError: division by zero"),
        ("says", [], "failing.py:says failed: TypeError: fun must return one real number, got 'four'\n"),
        ("knows_nothing", [], "FloatingPointError: fun must return a number for some points"),
    ],
)
def test_a_function_that_fails_has_an_exit_code_of_its_own(
    tmp_path: Path, call: Call, function: str, options: list[str], message: str
) -> None:
    (tmp_path / "failing.py").write_text(FAILING)
    code, _, err = call("run", f"failing.py:{function}", "--dim=3", *options)
    assert code == 3
    assert message in err
    assert err.count("\n") == 1
    with pytest.raises((ArithmeticError, TypeError)):
        call("run", f"failing.py:{function}", "--dim=3", "--traceback", *options)


def test_a_preset_is_chosen_on_the_command_line(tmp_path: Path, call: Call) -> None:
    (tmp_path / "landscape.py").write_text(VALLEY)
    start = ["run", "landscape:valley", "--dim=3", "--method=r1nes", "--max-evals=70", "--seed=1", "--json"]
    found = {preset: json.loads(call(*start, f"--preset={preset}")[1]) for preset in ("matlab", "heuristic")}
    assert found["matlab"]["nfev"] % 8 == 0  # ⌊8 ln 3⌋ points per generation
    assert found["heuristic"]["nfev"] % 7 == 0
    assert found["matlab"]["fun"] != found["heuristic"]["fun"]


def test_exit_codes_and_json(tmp_path: Path, call: Call) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "bowl.py").write_text("def bowl(X):\n    return ((X - 3) ** 2).sum(axis=1)\n")
    np.save(tmp_path / "start.npy", np.full(30, 2.0))
    start = ["run", "elsewhere/bowl.py", "--x0=start.npy", "--vectorized", "--seed=1", "--json"]
    code, _, _ = call(*start, "--ftarget=-1", "--max-evals=200", "--checkpoint=run.r1nes")
    assert code == 1
    code, out, _ = call(*start, "--max-evals=200")
    assert code == 0
    result = json.loads(out)
    assert list(result["stop"]) == ["max_evals"]
    assert len(result["x"]) == 30
    expected = {"success": False, "seed": 1, "function": "elsewhere/bowl.py", "checkpoint": None}
    assert {name: result[name] for name in expected} == expected
    code, out, _ = call(*start, "--bounds=-5,2.5")
    assert code == 0
    assert json.loads(out)["x"] == pytest.approx([2.5] * 30, abs=1e-6)
    sys.path.remove(str(folder))
    code, _, err = call("resume", "run.r1nes")  # bowl cannot be imported from this folder
    assert code == 2
    assert "no module named 'bowl' can be imported here" in err
    code, out, _ = call("resume", "run.r1nes", "--function=elsewhere/bowl.py", "--max-evals=400")
    assert code == 1
    assert "evaluations. Another generation would exceed max_evals" in out
    assert call("report", "run.r1nes", "--json")[1].startswith('{"fun": ')


def test_json_has_no_infinity() -> None:
    plain = output.plain(r1nes.minimize(lambda _: math.inf, [0.0, 1.0], max_evals=60, rng=1))
    assert plain["fun"] is None
    json.dumps(plain, allow_nan=False)


def test_a_terminal_gets_a_live_display_and_a_pipe_gets_lines(tmp_path: Path) -> None:
    (tmp_path / "landscape.py").write_text(VALLEY)
    command = [
        "run",
        "landscape.py",
        "--dim=200",
        "--max-seconds=1.5",
        "--every=0.3",
        "--seed=1",
        "--ftarget=-1",
    ]
    piped = run(*command, at=tmp_path)
    lines = piped.stderr.splitlines()
    assert len(lines) >= 2
    assert all(re.match(r"best \S+  σ \S+  evaluations \S+  per second", line) for line in lines)
    assert run(*command, "--quiet", at=tmp_path).stderr == ""
    master, terminal = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100", "NO_COLOR": "1"}
    with subprocess.Popen(
        [*COMMAND, *command],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=terminal,
        text=True,
        env=environment,
    ) as process:
        os.close(terminal)
        seen = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while piece := os.read(master, 4096):
                seen += piece
        out, _ = process.communicate()
    os.close(master)
    assert "evaluations. The time limit" in out
    for name in ("best", "σ", "evaluations", "per second", "left"):
        assert name in seen.decode()
    assert b"\x1b[" in seen
