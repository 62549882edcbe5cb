"""Run every script in ``examples`` as a reader would, and check that it solves its problem."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
TENSORS = {"torch_model.py"}  # need PyTorch: run by `make test-arrays`
SAYS = {
    "calibration.py": "recovery   0.20",
    "cluster.py": "same result as in one process: True",
    "controller.py": "textbook cost",
    "network.py": "% of 200 new points are classified correctly",
    "policy_search.py": "114 weights: return 500 on 50 test episodes",
    "resume.py": "same as uninterrupted: True",
    "torch_model.py": "% of 1000 new points are classified correctly",
}


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(name, marks=[pytest.mark.arrays] if name in TENSORS else [])
        for name in sorted(path.name for path in EXAMPLES.glob("*.py"))
    ],
)
def test_it_runs_and_solves_its_problem(script: str, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, EXAMPLES / script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr
    assert SAYS.get(script, "") in ended.stdout


def test_every_script_is_explained() -> None:
    page = (EXAMPLES.parent / "docs" / "examples.md").read_text()
    for path in EXAMPLES.glob("*.py"):
        assert f"examples/{path.name}" in page, path.name
