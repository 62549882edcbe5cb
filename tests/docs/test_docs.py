"""What the pages show, runs: each page as one script, its commands through the parser, its links to files."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from r1nes.cli.main import _parser

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
OPTIONAL = {
    "evosax",
    "gymnasium",
    "jax",
    "mlflow",
    "optuna",
    "sklearn",
    "tensorboard",
    "torch",
}  # may be missing


def scripts() -> list[tuple[str, str]]:
    """The Python of each page; of ``coming_from`` that of each section, after that of its beginning."""
    found = []
    for page in PAGES:
        text = page.read_text()
        name = str(page.relative_to(DOCS))
        if page.stem != "coming_from":
            found.append((name, "\n".join(BLOCK.findall(text))))
            continue
        beginning, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
        for section in sections:
            code = "\n".join(BLOCK.findall(beginning) + BLOCK.findall(section))
            found.append((f"{name}, {section.splitlines()[0]}", code))
    return [(name, code) for name, code in found if code]


def imported(code: str) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= set(node.module.split("."))
    return names


def marked(name: str, code: str) -> ParameterSet:
    """What needs PyTorch or JAX runs where those are."""
    arrays = imported(code) & {"jax", "torch"}
    return pytest.param(name, code, id=name, marks=[pytest.mark.arrays] if arrays else [])


@pytest.mark.parametrize(("name", "code"), [marked(*script) for script in scripts()])
def test_its_python_runs(name: str, code: str, tmp_path: Path) -> None:
    for package in sorted(imported(code) & OPTIONAL):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{name} needs {package}")
    (tmp_path / "page.py").write_text(code)
    ended = subprocess.run(
        [sys.executable, "page.py"],
        cwd=tmp_path,
        env=os.environ | {"MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr
    assert "Warning" not in ended.stderr


def commands() -> list[str]:
    """Every ``r1nes …`` that is a line of an indented block, here or in the README."""
    found = set()
    for page in [*PAGES, DOCS.parent / "README.md"]:
        found |= set(
            re.findall(r"^    (?:until )?r1nes (.*?)(?:;|#|$)", page.read_text(), flags=re.MULTILINE)
        )
    return sorted(found)


@pytest.mark.parametrize("command", commands())
def test_its_commands_are_understood(command: str) -> None:
    _parser().parse_args(shlex.split(command))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_its_links_lead_to_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target
