"""The solution of a run on the command line is never lost; mistakes are one line."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import r1nes
from support.command_line import COMMAND, Call

BOWL = """
def bowl(x):
    return float(((x - 3) ** 2).sum())

def cone(x):  # which cannot overflow
    return float(abs(x).max())

def fails(x, calls=[]):
    calls.append(x)
    if len(calls) > 100:
        raise ArithmeticError("licence lost")
    return bowl(x)

def ends(x, calls=[]):
    import signal
    calls.append(x)
    if len(calls) == 100:
        signal.raise_signal(signal.SIGTERM)
    return bowl(x)
"""


@pytest.fixture
def bowl(tmp_path: Path) -> list[str]:
    (tmp_path / "bowl.py").write_text(BOWL)
    return ["run", "bowl.py:bowl", "--dim=30", "--max-evals=300", "--seed=1", "--quiet"]


def best() -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    x: np.ndarray[tuple[int], np.dtype[np.float64]] = r1nes.minimize(
        lambda x: float(((x - 3) ** 2).sum()), np.zeros(30), max_evals=300, rng=1
    ).x
    return x


def test_a_long_point_goes_to_a_new_file(bowl: list[str], tmp_path: Path, call: Call) -> None:
    for name in ("bowl-best.npy", "bowl-best-2.npy"):
        code, out, _ = call(*bowl)
        assert code == 0
        assert out.splitlines()[-1] == f"x is in {name}"
        np.testing.assert_array_equal(np.load(tmp_path / name), best())
    assert call(*bowl, "--x0=bowl-best.npy")[0] == 2  # --dim and --x0
    assert call("run", "bowl.py:bowl", "--x0", "bowl-best.npy", "--max-evals=300")[0] == 0


def test_out_names_the_file(bowl: list[str], tmp_path: Path, call: Call) -> None:
    for _ in range(2):  # a file that the user names is replaced
        assert call(*bowl, "--out=x.npy")[1].splitlines()[-1] == "x is in x.npy"
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), best())
    code, out, err = call(*bowl, "--out=result.json", "--json")
    assert (code, err) == (0, "x is in result.json\n")
    assert json.loads((tmp_path / "result.json").read_text())["x"] == json.loads(out)["x"] == best().tolist()
    code, _, err = call(*bowl, "--out=nowhere/x.npy")
    assert code == 2
    assert "--out must be in a folder that exists and can be written to, got nowhere/x.npy" in err


def test_a_disk_that_is_full_at_the_end(bowl: list[str], call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("r1nes.cli.solution.replace_file", full)
    code, out, err = call(*bowl)
    assert code == 2
    assert err == "r1nes: x could not be written to a file (No space left on device)\n"
    printed = [float(number) for number in out.splitlines()[-1].removeprefix("x = ").split(",")]
    np.testing.assert_allclose(printed, best(), rtol=1e-11)


def test_a_function_that_fails_after_a_while(bowl: list[str], tmp_path: Path, call: Call) -> None:
    code, _, err = call(*bowl[:1], "bowl.py:fails", *bowl[2:])
    assert code == 3
    assert err.splitlines()[0] == "x is in fails-best.npy"
    assert np.load(tmp_path / "fails-best.npy").shape == (30,)


def test_sigterm_ends_a_run_like_ctrl_c(bowl: list[str], tmp_path: Path) -> None:
    ended = subprocess.run(
        [*COMMAND, *bowl[:1], "bowl.py:ends", *bowl[2:]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGTERM, "")
    assert "SIGTERM interrupted the run" in ended.stdout
    assert (tmp_path / "ends-best.npy").exists()


def test_python_m_r1nes() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "r1nes", "--version"], capture_output=True, text=True, check=True
    )
    assert shown.stdout == f"r1nes {r1nes.__version__}\n"


@pytest.mark.parametrize("bounds", [["--bounds", "-5,5"], ["--bounds=-5,5"], ["--bounds", "-.5,5"]])
def test_values_may_begin_with_a_minus_sign(bowl: list[str], call: Call, bounds: list[str]) -> None:
    assert call(*bowl, *bounds)[0] == 0
    code, out, _ = call("run", "bowl.py:bowl", "--x0", "-1,-2", "--max-evals=50", "--json", "--seed=1")
    assert (code, len(json.loads(out)["x"])) == (0, 2)


def test_absurd_numbers_are_refused_in_one_line(bowl: list[str], call: Call) -> None:
    code, out, err = call("run", "bowl.py:cone", *bowl[2:], "--sigma0=1e300")
    assert (code, out) == (2, "")
    assert err.startswith("r1nes: sigma0 must be above 1.49e-154 and below 1.16e+77, the limits of float64")
    assert err.count("\n") == 1


def test_report_as_json_needs_no_page(
    bowl: list[str], tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    call(*bowl, "--checkpoint=run.r1nes")
    with monkeypatch.context() as without:
        for package in ("jinja2", "matplotlib"):
            without.setitem(sys.modules, package, None)
        code, out, _ = call("report", "run.r1nes", "--json")
    assert (code, json.loads(out)["page"]) == (0, None)
    assert not (tmp_path / "run.html").exists()
    assert json.loads(call("report", "run.r1nes", "--json", "--out=p.html")[1])["page"] == "p.html"
    assert (tmp_path / "p.html").exists()
