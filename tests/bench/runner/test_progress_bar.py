from __future__ import annotations

import sys

import pytest

from r1nes.bench.runner.progress_bar import progress_bar


def test_progress_lines_show_runs_and_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar([3.0, 1.0]) as advance:
        advance(3.0, "first")
        advance(1.0, "second")
    assert capsys.readouterr().err == "2/2 runs, 0 s left, second\n"


def test_progress_is_a_bar_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    with progress_bar([3.0, 1.0]) as advance:
        advance(3.0, "first")
        advance(1.0, "second")
    bar = capsys.readouterr().err
    assert "━" in bar
    assert "2/2 runs 0 s left second" in bar


def test_a_bar_needs_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with pytest.raises(ModuleNotFoundError, match=r"r1nes\[bench\]"), progress_bar([1.0]):
        pass
