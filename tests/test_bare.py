"""The package in an environment that holds only what ``pip install .`` installs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

WITHOUT = """
import numpy as np, r1nes
result = r1nes.minimize(lambda x: float(x @ x), np.ones(10), ftarget=1e-8, rng=1)
assert result.success
optimizer = r1nes.Optimizer(np.ones(10), 1.0, ftarget=1e-8, rng=1)
while not optimizer.stop():
    X = optimizer.ask()
    optimizer.tell(X, (X**2).sum(axis=1))
assert "ftarget" in optimizer.stop()
"""
CALLS = {  # and the extra that each of them needs
    "result.plot()": "plot",
    "import r1nes.integrations.optuna": "optuna",
    "from r1nes.integrations.gymnasium import Rollouts; Rollouts('CartPole-v1')": "gymnasium",
    "from r1nes.integrations.torch import minimize_module; minimize_module(sum, None)": "torch",
    "from r1nes.integrations.trackers import tensorboard; tensorboard('.').__enter__()": "tensorboard",
    "from r1nes.integrations.trackers import mlflow; mlflow().__enter__()": "mlflow",
    "r1nes.minimize(sum, [1, 2], workers=r1nes.Replicas('x'))": "dask",
}
EACH_CALL = """
import json, sys
messages = {}
for call in json.loads(sys.argv[1]):
    try:
        exec(call)
    except ImportError as error:
        messages[call] = str(error)
print(json.dumps(messages))
"""
COMMANDS = {"report run.r1nes": "plot", "paper": "bench", "bench": "bench", "coco": "coco"}


@pytest.fixture(scope="module")
def binaries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of the environment, filled by the pip of this environment."""
    place = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python")]
    install = ["install", "--quiet", "--disable-pip-version-check", "--no-compile", str(ROOT)]
    subprocess.run([*pip, *install], check=True)
    return place / "bin"


def test_the_core_runs_and_each_missing_extra_is_named(binaries: Path, tmp_path: Path) -> None:
    def called(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [binaries / command[0], *command[1:]], cwd=tmp_path, capture_output=True, text=True, check=False
        )

    ended = called("python", "-c", WITHOUT + EACH_CALL, json.dumps([*CALLS]))
    assert ended.returncode == 0, ended.stderr
    messages = json.loads(ended.stdout)
    for call, extra in CALLS.items():
        assert f"pip install 'r1nes[{extra}]'" in messages[call]

    (tmp_path / "bowl.py").write_text("def bowl(x):\n    return float(x @ x)\n")
    ended = called("r1nes", "run", "bowl.py", "--x0=1,2,3", "--seed=1", "--json", "--checkpoint=run.r1nes")
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["success"]
    for command, extra in COMMANDS.items():
        ended = called("r1nes", *command.split())
        assert ended.returncode == 2
        assert f"pip install 'r1nes[{extra}]'" in ended.stderr, (command, ended.stderr)
