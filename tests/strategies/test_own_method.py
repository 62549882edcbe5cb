"""A method of the user's own: the smallest one that the protocol allows, in every role of ours."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import r1nes
from r1nes import Method, Optimizer
from support.functions import sphere
from support.own_method import RoundNES
from support.runs import same


def solve(**options: Any) -> Any:
    options = {"sigma0": 0.5, "method": RoundNES(), "max_evals": 2000, "rng": 1, **options}
    return r1nes.minimize(sphere, np.ones(6), **options)


def test_it_converges_on_the_sphere() -> None:
    values = [solve(rng=seed).fun for seed in range(5)]
    assert np.median(values) < 1e-6


def test_what_it_leaves_out_is_derived_from_its_samples() -> None:
    strategy = RoundNES().start(np.arange(4.0), 0.3, np.random.default_rng(0))
    np.testing.assert_allclose(strategy.cov(), 0.09 * np.eye(4), atol=1e-15)
    assert strategy.condition() == pytest.approx(1)
    assert strategy.largest_std() == (0.3, 0.3)
    assert strategy.noise_size == 4
    assert strategy.scalars() == {"sigma": 0.3}
    assert repr(strategy) == "Ball(d=4, sigma=0.3)"


def test_streaming_gives_the_same_run() -> None:
    whole, streamed = (Optimizer(np.ones(6), 0.5, method=RoundNES(), rng=1) for _ in range(2))
    for _ in range(20):
        X = whole.ask()
        whole.tell(X, sphere(X))
        stream = streamed.ask(streaming=True)
        streamed.tell(stream, [sphere(x) for x in stream])
    np.testing.assert_array_equal(streamed.strategy.mean, whole.strategy.mean)


def test_bounds_workers_and_restarts_take_it() -> None:
    options = {"bounds": [(-2, 3)] * 6, "restarts": 2, "ftol": 1e-3}
    serial = solve(**options)
    assert serial.restarts > 0
    same(solve(**options, workers="threads:2"), serial)


def test_a_run_resumes_if_the_method_is_passed_again(tmp_path: Path) -> None:
    whole = solve()
    solve(checkpoint=tmp_path / "run", max_evals=500)
    resumed = solve(checkpoint=tmp_path / "run")
    assert resumed.x.tobytes() == whole.x.tobytes()
    with pytest.raises(ValueError, match=r"rate_radius must be as in the checkpoint .*, 0.7, got 0.5"):
        solve(checkpoint=tmp_path / "run", method=RoundNES(rate_radius=0.5))


def test_loading_asks_for_the_method_that_the_file_cannot_hold(tmp_path: Path) -> None:
    optimizer = Optimizer(np.ones(3), method=RoundNES(rate_radius=0.5), rng=1)
    optimizer.save(tmp_path / "f")
    with pytest.raises(ValueError, match=r"RoundNES\(rate_radius=0.5\) is a method of your own"):
        Optimizer.load(tmp_path / "f")
    with pytest.raises(ValueError, match=r"one that was saved, .*RoundNES\(rate_radius=0.5\), got RoundNES"):
        Optimizer.load(tmp_path / "f", method=RoundNES)
    loaded = Optimizer.load(tmp_path / "f", method=RoundNES(rate_radius=0.5))
    np.testing.assert_array_equal(loaded.ask(), optimizer.ask())


def test_an_incomplete_method_is_refused() -> None:
    class Nothing(Method):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Nothing()  # type: ignore[abstract]


@dataclass(frozen=True, kw_only=True)
class Namesake(RoundNES):
    sigma0: float = 2.0
    timeout: float = 1.0


def test_its_settings_may_be_called_like_ours(tmp_path: Path) -> None:
    method = Namesake(sigma0=3.0, timeout=2.0)
    solve(method=method, checkpoint=tmp_path / "run", max_evals=500)
    same(solve(method=method, checkpoint=tmp_path / "run"), solve(method=method))
