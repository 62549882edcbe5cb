"""Flags and commands: suggestions for unknown ones, abbreviations, completion, imports."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import r1nes
from r1nes.cli import minimization, run
from support.command_line import COMMAND, Call

PROGRESS = "Progress is shown by default; --quiet turns it off."


def test_version_and_missing_command() -> None:
    version = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout.strip() == f"r1nes {r1nes.__version__}"
    usage = subprocess.run(COMMAND, capture_output=True, text=True, check=False)
    assert usage.returncode == 2
    assert "Traceback" not in usage.stderr


@pytest.mark.parametrize("arguments", [["-h"], ["--help"], ["run", "-h"], ["run", "--help"]])
def test_help(call: Call, arguments: list[str]) -> None:
    code, out, err = call(*arguments)
    assert (code, err) == (0, "")
    assert out.startswith("usage: r1nes")


@pytest.mark.parametrize(
    ("command", "flag", "answer"),
    [
        ("run f.py --dim=3", "--maxiter", "Did you mean --max-evals?"),
        ("run f.py --dim=3", "--maxfev", "Did you mean --max-evals?"),
        ("run f.py --dim=3", "--max_evals", "Did you mean --max-evals?"),
        ("run f.py --dim=3", "--max-evlas", "Did you mean --max-evals?"),
        ("run f.py --dim=3", "--rng", "Did you mean --seed?"),
        ("run f.py --dim=3", "--lam", "Did you mean --popsize?"),
        ("run f.py --dim=3", "--population-size", "Did you mean --popsize?"),
        ("run f.py --dim=3", "--population_size", "Did you mean --popsize?"),
        ("run f.py --dim=3", "--pop-size", "Did you mean --popsize?"),
        ("run f.py --dim=3", "--sigma_0", "Did you mean --sigma0?"),
        ("run f.py --dim=3", "--step-size", "Did you mean --sigma0?"),
        ("run f.py --dim=3", "--verbose", PROGRESS),
        ("run f.py --dim=3", "--disp", PROGRESS),
        ("run f.py", "--dimension", "Did you mean --dim?"),  # rather than: --dim is required
        ("resume run.r1nes", "--n_jobs", "Did you mean --workers?"),
        ("report run.r1nes", "--output", "Did you mean --out?"),
        ("paper", "--verbose", ""),  # it has no --quiet
        ("paper", "--workers", "Did you mean --jobs?"),
        ("bench", "--max-evals", "Did you mean --budget?"),
        ("coco", "--xyz", ""),
    ],
)
@pytest.mark.parametrize("value", ["=1", " 1"])
def test_an_unknown_flag_gets_a_suggestion(
    call: Call, command: str, flag: str, answer: str, value: str
) -> None:
    prog = f"r1nes {command.split()[0]}"
    code, _, err = call(*f"{command} {flag}{value}".split())
    assert code == 2
    expected = f"{prog}: unknown flag {flag}. {answer} See {prog} --help.\n"
    assert err == (expected if answer else expected.replace("  ", " "))


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("runn", "unknown command runn. Did you mean run?"),
        ("reprot run.r1nes --out page.html", "unknown command reprot. Did you mean report?"),
        ("optimise f.py --dim 3", "unknown command optimise."),
        ("--verison", "unknown flag --verison. Did you mean --version?"),
        ("", "the following arguments are required: COMMAND."),
    ],
)
def test_an_unknown_command_gets_a_suggestion(call: Call, command: str, message: str) -> None:
    assert call(*command.split()) == (2, "", f"r1nes: {message} See r1nes --help.\n")


def test_flags_can_be_abbreviated(call: Call, tmp_path: Path) -> None:
    (tmp_path / "bowl.py").write_text("def bowl(x):\n    return float(x @ x)\n")
    start = ["run", "bowl.py", "--x0=1,1", "--sigma=0.5"]
    code, out, err = call(*start, "--max-eval=50", "--see=1", "--js")
    assert (code, err) == (0, "")
    same = r1nes.minimize(lambda x: float(x @ x), [1, 1], sigma0=0.5, max_evals=50, rng=1)
    assert json.loads(out)["x"] == same.x.tolist()
    code, _, err = call(*start, "--max=50")
    assert code == 2
    assert "could match --max-evals, --max-seconds" in err


def test_each_flag_of_the_tables_sets_a_keyword_of_minimize() -> None:
    known = inspect.signature(r1nes.minimize).parameters
    assert {flag.keyword for flag in (*run.FLAGS, *minimization.FLAGS)} <= set(known)


def test_a_command_imports_only_what_it_needs() -> None:
    code = "import sys; from r1nes.cli.main import _parser; _parser(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = loaded.stdout.split()
    unwanted = {
        "r1nes.bench",
        "r1nes.display.progress",
        "r1nes.display.report",
        "jinja2",
        "matplotlib",
        "rich",
    }
    assert unwanted.isdisjoint(modules)


@pytest.mark.parametrize(
    ("typed", "offered"), [("r1nes re", {"resume", "report"}), ("r1nes run f.py --max-", {"--max-evals"})]
)
def test_a_shell_completes_what_was_typed(typed: str, offered: set[str], tmp_path: Path) -> None:
    """By argcomplete's protocol: the shell passes the line and reads the completions from another file."""
    answers = tmp_path / "answers"
    shell = {"COMP_LINE": typed, "COMP_POINT": str(len(typed)), "_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n"}
    subprocess.run(
        COMMAND, env={**os.environ, **shell, "_ARGCOMPLETE_STDOUT_FILENAME": str(answers)}, check=True
    )
    assert offered <= {answer.strip() for answer in answers.read_text().splitlines()}
