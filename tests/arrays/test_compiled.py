"""With numba or without: the same noise bit for bit, the same run up to rounding, and numba where it pays."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import r1nes.arrays.compiled
from r1nes import Optimizer
from r1nes.arrays import Array
from r1nes.arrays.compiled import numba_available
from r1nes.ranking import assign, best_first
from r1nes.sampling.gaussian import BLOCK, GaussianNoise
from r1nes.strategies import STRATEGIES
from r1nes.strategies.rank_k.strategy import RankKGaussian
from support.ask_tell import run
from support.functions import cigar, rosenbrock

METHODS = sorted(STRATEGIES)
needs_numba = pytest.mark.skipif(not numba_available(), reason="numba is not installed")


def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(r1nes.arrays.compiled, "PATIENCE", 0.0)


@needs_numba
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("d", "popsize"), [(2, 6), (8, 10), (130, 12), (600, 12)])
def test_a_compiled_run_agrees_to_rounding(
    method: str, d: int, popsize: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x0 = np.linspace(-1, 2, d)
    plain = run(Optimizer(x0, 0.5, method=method, popsize=popsize, rng=1), 100).means
    at_once(monkeypatch)
    optimizer = Optimizer(x0, 0.5, method=method, popsize=popsize, rng=1)
    compiled = run(optimizer, 100).means
    assert optimizer.strategy.fast
    np.testing.assert_allclose(compiled, plain, rtol=1e-12, atol=1e-12)
    assert np.ptp(plain[:, 0]) > 0.01, "the run must have gone somewhere"


@needs_numba
def test_rounding_grows_in_the_search_and_not_in_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the cigar a run diverges as far when its initial directions are changed in the last digit."""

    def means(seed: int, *, changed: bool = False) -> Array:
        optimizer = Optimizer(np.linspace(-1, 2, 8), 0.5, method="rknes", rng=seed)
        assert isinstance(optimizer.strategy, RankKGaussian)
        if changed:
            V = optimizer.strategy.directions
            V[:] = np.nextafter(V, 1)
        return run(optimizer, 100, cigar).means

    seeds = range(5)
    plain, changed = [means(seed) for seed in seeds], [means(seed, changed=True) for seed in seeds]
    at_once(monkeypatch)
    compiled = [means(seed) for seed in seeds]
    far, as_far = (
        np.median([abs(b - a).max() for a, b in zip(plain, other, strict=True)])
        for other in (compiled, changed)
    )
    assert 1e-13 < far < 10 * as_far


@needs_numba
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("d", [2, 8, 100])
def test_a_compiled_step_is_the_same_to_rounding(method: str, d: int) -> None:
    """Both agree to 12 digits from every state of a run."""
    optimizer = Optimizer(np.linspace(-1, 2, d), 0.5, method=method, rng=1)
    for _ in range(100):
        X = optimizer.ask()
        noise, fast = optimizer._matching.pending, replace(optimizer.strategy, fast=True)
        np.testing.assert_allclose(fast.sample(noise), X, rtol=1e-12, atol=1e-12)
        w = assign(np.sort(rosenbrock(X)), best_first(rosenbrock(X)), optimizer.settings.weights)
        fast = fast.update(noise, w)
        optimizer.tell(X, rosenbrock(X))
        scale = optimizer.strategy.sigma
        np.testing.assert_allclose(fast.mean, optimizer.strategy.mean, rtol=1e-12, atol=1e-12 * scale)
        np.testing.assert_allclose(fast.stds(), optimizer.strategy.stds(), rtol=1e-12)
        assert fast.sigma == pytest.approx(scale, rel=1e-12)


@needs_numba
@pytest.mark.parametrize("d", [10, 60, 1100])  # a table, a table that ends within a generation, strips
@pytest.mark.parametrize(
    "settings",
    [
        {"rank": (1, 0)},
        {"rank": (0, 2)},
        {"rank": (4, 3)},
        {"base": "identity"},
        {"rate_scales": 50.0},  # clips the steps of log D
        {"popsize": 7},
        {"popsize": 40, "utilities": np.linspace(1, 0, 40)},  # with a nonzero sum
    ],
    ids=lambda settings: "-".join(settings),
)
def test_a_compiled_step_of_rknes_agrees_for_all_settings(
    settings: dict[str, Any], d: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compare the whole state, up to the signs of directions, from states of a compiled run."""
    at_once(monkeypatch)
    optimizer = Optimizer(np.linspace(-1, 2, d), 0.5, method="rknes", rng=1, **settings)
    for generation in range(1, 41):
        X = optimizer.ask()
        assert isinstance(optimizer.strategy, RankKGaussian)
        plain, noise = replace(optimizer.strategy, fast=False), optimizer._noise.rows(generation, 0, len(X))
        np.testing.assert_allclose(plain.sample(noise), X, rtol=1e-12, atol=1e-12)
        w = assign(np.sort(rosenbrock(X)), best_first(rosenbrock(X)), optimizer.settings.weights)
        plain = plain.update(noise, w)
        optimizer.tell(X, rosenbrock(X))
        compiled = optimizer.strategy
        assert compiled.fast
        compiled.directions[:] *= np.sign((compiled.directions * plain.directions).sum(axis=1))[:, None]
        for name in ("rows", "stretches", "log_sigma", "signal_noise", "largest_scale"):
            expected = np.asarray(getattr(plain, name))
            np.testing.assert_allclose(
                getattr(compiled, name), expected, rtol=1e-10, atol=1e-11 * abs(expected).max()
            )


@needs_numba
@pytest.mark.parametrize("method", METHODS)
def test_single_precision_is_not_widened(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x0 = np.linspace(-1, 2, 8, dtype=np.float32)
    plain = run(Optimizer(x0, 0.5, method=method, rng=1), 20).means
    at_once(monkeypatch)
    compiled = run(Optimizer(x0, 0.5, method=method, rng=1), 20).means
    np.testing.assert_array_equal(compiled, plain)
    assert compiled.dtype == np.float32


@needs_numba
@pytest.mark.parametrize("width", [1, 3, 1000, BLOCK + 5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numba_draws_numpys_numbers(width: int, dtype: type) -> None:
    """Of a million numbers, about 10,000 come from the edges of the ziggurat and 250 from its tail."""
    ours, numpys = (GaussianNoise(np.random.SeedSequence(3), width, np.dtype(dtype)) for _ in range(2))
    ours.fast = True
    rows = 1_000_000 // width
    np.testing.assert_array_equal(ours.rows(2, 0, rows), numpys.rows(2, 0, rows))


def test_single_precision_noise_is_rounded_double_precision() -> None:
    single, double = (
        GaussianNoise(np.random.SeedSequence(3), 5000, np.dtype(t)) for t in (np.float32, np.float64)
    )
    np.testing.assert_array_equal(single.rows(1, 0, 3), double.rows(1, 0, 3).astype(np.float32))


@needs_numba
@pytest.mark.parametrize("method", ["r1nes", "snes"])
def test_a_resumed_run_switches_to_compiled_code_at_the_same_generation(
    method: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The two round differently, so both runs must switch at the same generation."""

    def new() -> Optimizer:
        return Optimizer(np.zeros(6), 0.5, method=method, rng=1)

    compiled, numbers = r1nes.arrays.compiled, 6 * new().popsize
    saving = compiled.SAVING + compiled.SAVING_PER_NUMBER * numbers
    monkeypatch.setattr(compiled, "PATIENCE", 20.5 * saving)
    straight, resumed = new(), new()
    speeds = []
    for _ in range(40):
        run(straight, 1)
        resumed.save(tmp_path / "run")
        resumed = Optimizer.load(tmp_path / "run")
        run(resumed, 1)
        speeds.append(resumed.strategy.fast)
        np.testing.assert_array_equal(resumed.strategy.mean, straight.strategy.mean)
    assert speeds == [False] * 20 + [True] * 20


def test_without_numba_a_long_run_stays_with_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = run(Optimizer(np.zeros(6), 0.5, rng=1), 10).means
    at_once(monkeypatch)
    monkeypatch.setitem(sys.modules, "numba", None)
    numba_available.cache_clear()
    try:
        optimizer = Optimizer(np.zeros(6), 0.5, rng=1)
        np.testing.assert_array_equal(run(optimizer, 10).means, expected)
        assert not optimizer.strategy.fast
    finally:
        numba_available.cache_clear()


@pytest.mark.parametrize(
    "code",
    ["import r1nes", "import r1nes; r1nes.minimize(lambda x: x @ x, [1.0, 2.0, 3.0], max_evals=500)"],
)
def test_a_short_run_does_not_import_numba(code: str) -> None:
    script = f"{code}\nimport sys; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@needs_numba
@pytest.mark.parametrize("method", METHODS)
def test_a_compiled_stream_gives_the_same_run(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once(monkeypatch)
    whole, streamed = (
        Optimizer(np.linspace(-1, 2, 130), 0.5, method=method, popsize=12, rng=1) for _ in range(2)
    )
    for _ in range(30):
        X = whole.ask()
        whole.tell(X, rosenbrock(X))
        stream = streamed.ask(streaming=True)
        streamed.tell(stream, [rosenbrock(x) for x in stream])
        np.testing.assert_allclose(streamed.strategy.mean, whole.strategy.mean, rtol=1e-9, atol=1e-9)
    assert streamed.strategy.fast


CALLER = """
from part import times
from r1nes.arrays.compiled import compiled
@compiled
def f(x: float) -> float:
    return times(x)
print(f.fast(1.0), sum(f.fast.stats.cache_hits.values()))
"""
PART = """
from r1nes.arrays.compiled import kernel
@kernel
def times(x):
    return {} * x
"""


@needs_numba
def test_cached_machine_code_is_rebuilt_when_the_source_of_a_callee_changes(tmp_path: Path) -> None:
    (tmp_path / "caller.py").write_text(CALLER)
    command = [sys.executable, str(tmp_path / "caller.py")]

    def answer(factor: float) -> str:
        (tmp_path / "part.py").write_text(PART.format(factor))
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    assert [answer(2.0), answer(2.0), answer(3.0)] == ["2.0 0", "2.0 1", "3.0 0"]


@pytest.mark.parametrize("numbers", [16, 160, 2500, 22_500, 10**6])  # two of them round badly
def test_numba_starts_in_the_first_generation_that_repays_it(numbers: int) -> None:
    saving = r1nes.arrays.compiled.SAVING + r1nes.arrays.compiled.SAVING_PER_NUMBER * numbers
    generation = r1nes.arrays.compiled.repaying_generation(numbers)
    assert generation * saving <= r1nes.arrays.compiled.PATIENCE < (generation + 1) * saving
