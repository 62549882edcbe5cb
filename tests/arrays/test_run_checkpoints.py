"""Checkpoints of runs whose points are PyTorch tensors or JAX arrays, and packages they need."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("array_api_compat")
pytest.importorskip("torch")
pytest.importorskip("jax")

import r1nes
from r1nes import Optimizer
from r1nes.arrays.libraries import namespace_of
from support.libraries import (
    START,
    both_ways,
    ellipsoid,
    every_method,
    every_other,
    like,
    maker,
    plain,
    run,
    started,
)

pytestmark = pytest.mark.arrays


@every_method
@every_other
@both_ways
@pytest.mark.parametrize("sampling", [None, "device"])
def test_a_resumed_run_continues_bit_for_bit(
    method: str, library: str, width: str, sampling: str | None, bounds: Any, tmp_path: Path
) -> None:
    settings = {"method": method, "sampling": sampling, "bounds": bounds}
    straight, resumed = started(library, width, **settings), started(library, width, **settings)
    for generation in range(9):
        run(straight, 1)
        if generation % 3 == 0:
            resumed.ask()
            resumed.save(tmp_path / "run")
            resumed = Optimizer.load(tmp_path / "run")
        run(resumed, 1)
        np.testing.assert_array_equal(plain(resumed.strategy.mean), plain(straight.strategy.mean))
    assert like(resumed.result.x, maker(library)(START, width))
    np.testing.assert_array_equal(plain(resumed.result.x), plain(straight.result.x))


@every_other
def test_minimize_resumes(library: str, tmp_path: Path) -> None:
    def solve(**limits: Any) -> Any:
        return r1nes.minimize(ellipsoid, maker(library)(START), rng=1, **limits)

    solve(checkpoint=tmp_path / "run", max_evals=200)
    whole = solve(checkpoint=tmp_path / "run", max_evals=1000)
    np.testing.assert_array_equal(plain(whole.x), plain(solve(max_evals=1000).x))
    with pytest.raises(ValueError, match=f"arrays must be as in the checkpoint .* '{library}:cpu"):
        r1nes.minimize(ellipsoid, START, checkpoint=tmp_path / "run", rng=1)


@every_other
def test_a_missing_library_is_named(library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started(library).save(tmp_path / "run")
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ModuleNotFoundError, match=rf"pip install 'r1nes\[{library}\]' installs it"):
        Optimizer.load(tmp_path / "run")


@every_other
def test_a_missing_extra_is_named(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*sys.modules]:
        if name.partition(".")[0] == "array_api_compat":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    namespace_of.cache_clear()
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'r1nes\[arrays\]' installs it"):
        started(library)
