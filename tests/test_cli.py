"""The command line, from the outside."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import r1nes
from r1nes.cli import main


def test_paper_draws_the_cigar(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["paper", "--figure", "cigar", "--out", str(tmp_path)]) == 0
    assert "target value was reached" in capsys.readouterr().out
    svg = (tmp_path / "cigar.svg").read_text()
    for label in ("log 1000", "best so far", "λ = log σ", "c = log ‖u‖"):
        assert label in svg
    assert (tmp_path / "cigar.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "cigar.pdf").read_bytes().startswith(b"%PDF")


def test_the_same_figure_gives_the_same_file(tmp_path: Path) -> None:
    for name in "ab":
        main(["paper", "--figure", "cigar", "--out", str(tmp_path / name)])
    for suffix in ("svg", "png", "pdf"):
        first, second = ((tmp_path / name / f"cigar.{suffix}").read_bytes() for name in "ab")
        assert first == second, suffix


def test_version_and_help() -> None:
    command = [sys.executable, "-c", "import sys; from r1nes.cli import main; sys.exit(main())"]
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout.strip() == f"r1nes {r1nes.__version__}"
    usage = subprocess.run(command, capture_output=True, text=True, check=False)
    assert usage.returncode == 2
    assert "Traceback" not in usage.stderr
