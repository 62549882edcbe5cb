"""A missing optional package is named together with what installs it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import r1nes
from r1nes.cli import main
from r1nes.extras import needs

EXTRAS = ["distributed", "jinja2", "matplotlib", "numba", "optuna", "rich"]


def test_a_missing_package_names_its_extra() -> None:
    with (
        pytest.raises(ModuleNotFoundError, match=r"not_there is not installed; pip install 'r1nes\[plot\]'"),
        needs("not_there", extra="plot"),
    ):
        import not_there.at_all  # type: ignore[import-not-found]  # noqa: F401


def test_other_missing_packages_are_not_blamed_on_the_extra() -> None:
    with (
        pytest.raises(ModuleNotFoundError, match="No module named 'elsewhere'"),
        needs("there", extra="plot"),
    ):
        import elsewhere  # type: ignore[import-not-found]  # noqa: F401


@pytest.fixture
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what ``pip install .`` brings."""
    for name in [*sys.modules]:
        if name.partition(".")[0] in EXTRAS:
            monkeypatch.delitem(sys.modules, name)
    for name in EXTRAS:
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.usefixtures("_bare")
def test_without_extras_runs_go_and_pictures_name_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    Path("bare_bowl.py").write_text("def bowl(x):\n    return float(x @ x)\n")
    command = ["run", "bare_bowl.py", "--x0=1,2,3", "--seed=1", "--json", "--checkpoint=run.r1nes"]
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["success"]
    assert main(["report", "run.r1nes"]) == 2
    assert "pip install 'r1nes[plot]'" in capsys.readouterr().err
    result = r1nes.minimize(lambda x: float(x @ x), np.ones(3), max_evals=100, rng=1)
    with pytest.raises(
        ModuleNotFoundError, match=r"matplotlib is not installed; pip install 'r1nes\[plot\]'"
    ):
        result.plot()
    del sys.modules["bare_bowl"]
