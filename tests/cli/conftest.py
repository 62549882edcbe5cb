"""The command line in the process of the tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from r1nes.cli import main
from support.command_line import Call


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Call ``main`` with ``tmp_path`` as the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def called(*arguments: str) -> tuple[int, str, str]:
        before = set(sys.modules)
        try:
            code = main(arguments)
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            for name in set(sys.modules) - before:
                if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
                    del sys.modules[name]
        return code, *capsys.readouterr()

    return called
