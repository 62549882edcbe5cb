"""What the README shows, runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import r1nes

README = Path(__file__).parents[2] / "README.md"


def test_its_python_runs_and_solves_the_problem() -> None:
    scope: dict[str, Any] = {"r1nes": r1nes}
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        exec(block, scope)
    assert scope["result"].success
    assert scope["optimizer"].result.success


def test_it_lists_every_method() -> None:
    from r1nes.strategies import STRATEGIES

    for method in STRATEGIES:
        assert f'`"{method}"`' in README.read_text()
