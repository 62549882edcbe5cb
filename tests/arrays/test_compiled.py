"""With numba or without: the same noise bit for bit, the same run up to rounding; and when it is used."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from r1nes import Optimizer, minimize
from r1nes.arrays.compiled import numba_available
from r1nes.ranking import assign, best_first
from r1nes.sampling.compact import ShiftedSequence
from r1nes.sampling.gaussian import BLOCK, GaussianNoise
from r1nes.strategies import STRATEGIES
from r1nes.strategies.rank_k.strategy import RankKGaussian
from support.ask_tell import run
from support.functions import rosenbrock

METHODS = sorted(STRATEGIES)
needs_numba = pytest.mark.skipif(not numba_available(), reason="numba is not installed")


CASES = [*((method, {}) for method in METHODS), ("rknes", {"base": "diagonal"})]


@needs_numba
@pytest.mark.parametrize(("method", "settings"), CASES)
@pytest.mark.parametrize(("d", "popsize"), [(2, 6), (8, 10), (130, 12), (600, 12)])
def test_a_compiled_run_agrees_to_rounding(
    method: str, settings: dict[str, Any], d: int, popsize: int
) -> None:
    plain, compiled = (
        Optimizer(
            np.linspace(-1, 2, d), 0.5, method=method, popsize=popsize, rng=1, compiled=compiled, **settings
        )
        for compiled in (False, True)
    )
    expected = run(plain, 60).means
    np.testing.assert_allclose(run(compiled, 60).means, expected, rtol=1e-9, atol=1e-9)
    assert compiled.strategy.compiled or method == "xnes"
    assert not plain.strategy.compiled
    assert np.ptp(expected[:, 0]) > 0.01, "the run must have gone somewhere"


@needs_numba
@pytest.mark.parametrize(("method", "settings"), [case for case in CASES if case[0] != "xnes"])
@pytest.mark.parametrize("d", [2, 8, 100])
def test_a_compiled_step_is_the_same_to_rounding(method: str, settings: dict[str, Any], d: int) -> None:
    """Both agree to 11 digits from every state of a run."""
    settings = settings | {"method": method, "noise": False}  # without probes, which repeat two points
    optimizer = Optimizer(np.linspace(-1, 2, d), 0.5, rng=1, compiled=False, **settings)
    for _ in range(100):
        X = optimizer.ask()
        noise = optimizer._matching.pending
        compiled: Any = replace(cast("Any", optimizer.strategy), compiled=True)
        np.testing.assert_allclose(compiled.sample(noise), X, rtol=1e-12, atol=1e-12)
        w = assign(np.sort(rosenbrock(X)), best_first(rosenbrock(X)), optimizer.settings.weights)
        compiled = compiled.update(noise, w)
        optimizer.tell(X, rosenbrock(X))
        scale = optimizer.strategy.sigma
        np.testing.assert_allclose(compiled.mean, optimizer.strategy.mean, rtol=1e-11, atol=1e-11 * scale)
        np.testing.assert_allclose(compiled.stds(), optimizer.strategy.stds(), rtol=1e-11)
        assert compiled.sigma == pytest.approx(scale, rel=1e-11)


@needs_numba
@pytest.mark.parametrize("base", ["diagonal", "full"])
@pytest.mark.parametrize("d", [10, 60, 310])  # a table, a table that ends within a generation, a sequence
@pytest.mark.parametrize(
    "settings",
    [
        {"rank": (1, 0)},
        {"rank": (0, 2)},
        {"rank": (4, 3)},
        {"rate_base": 10.0},  # clips the steps of the diagonal
        {"popsize": 7},
        {"popsize": 40, "utilities": np.linspace(1, 0, 40)},  # with a nonzero sum
    ],
    ids=lambda settings: "-".join(settings),
)
def test_a_compiled_step_of_rknes_agrees_for_all_settings(
    settings: dict[str, Any], d: int, base: str
) -> None:
    """Compare the whole state, up to the signs of directions, from states of a compiled run."""
    settings = settings | {"base": base, "noise": False}  # without probes, which repeat two points
    optimizer = Optimizer(np.linspace(-1, 2, d), 0.5, method="rknes", rng=1, compiled=True, **settings)
    for generation in range(1, 21):
        X = optimizer.ask()
        assert isinstance(optimizer.strategy, RankKGaussian)
        plain, noise = (
            replace(optimizer.strategy, compiled=False),
            optimizer._points.noise.rows(generation, 0, len(X)),
        )
        np.testing.assert_allclose(plain.sample(noise), X, rtol=1e-10, atol=1e-10)
        pending = optimizer._matching.pending
        if isinstance(pending, ShiftedSequence):
            pending = noise
        w = assign(np.sort(rosenbrock(X)), best_first(rosenbrock(X)), optimizer.settings.weights)
        plain = plain.update(pending, w)
        optimizer.tell(X, rosenbrock(X))
        found = optimizer.strategy.state
        signs = np.sign((found.V * plain.state.V).sum(axis=1))[:, None]
        for name, expected in plain.state._asdict().items():
            got, scale = np.asarray(getattr(found, name)), np.abs(expected).max(initial=1e-9)
            np.testing.assert_allclose(
                got * signs if name == "V" else got, expected, rtol=1e-8, atol=1e-8 * scale, err_msg=name
            )


@needs_numba
@pytest.mark.parametrize("width", [1, 3, 1000, BLOCK + 5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numba_draws_numpys_numbers(width: int, dtype: type) -> None:
    """Of a million numbers, about 10,000 come from the edges of the ziggurat and 250 from its tail."""
    ours, numpys = (GaussianNoise(np.random.SeedSequence(3), width, np.dtype(dtype)) for _ in range(2))
    ours.compiled = True
    rows = 1_000_000 // width
    np.testing.assert_array_equal(ours.rows(2, 0, rows), numpys.rows(2, 0, rows))


def test_single_precision_noise_is_rounded_double_precision() -> None:
    single, double = (
        GaussianNoise(np.random.SeedSequence(3), 5000, np.dtype(t)) for t in (np.float32, np.float64)
    )
    np.testing.assert_array_equal(single.rows(1, 0, 3), double.rows(1, 0, 3).astype(np.float32))


@pytest.mark.parametrize(
    ("settings", "compiled", "reason"),
    [
        ({}, False, "max_evals is not set or below 50,000 and d is below 10,000"),
        ({"max_evals": 49_999}, False, "max_evals is not set or below 50,000 and d is below 10,000"),
        pytest.param({"max_evals": 50_000}, True, "max_evals is at least 50,000", marks=needs_numba),
        pytest.param({"x0": np.zeros(10_000)}, True, "d at least 10,000", marks=needs_numba),
        pytest.param({"compiled": True}, True, "it was set", marks=needs_numba),
        ({"compiled": False, "max_evals": 10**6}, False, "it was set"),
        ({"x0": np.zeros(3, np.float32), "max_evals": 10**6}, False, "only NumPy arrays of float64"),
    ],
)
def test_numba_is_chosen_before_the_first_generation(
    settings: dict[str, Any], compiled: bool, reason: str
) -> None:
    given: dict[str, Any] = {"x0": np.zeros(6), "rng": 1, **settings}
    optimizer = Optimizer(**given)
    assert optimizer.strategy.compiled == compiled
    assert optimizer.result.choices["compiled"].startswith(f"{compiled}, because")
    assert reason in optimizer.result.choices["compiled"]


def test_numba_is_refused_for_single_precision() -> None:
    with pytest.raises(ValueError, match="compiled must not be True for x0 of float32, PyTorch or JAX"):
        Optimizer(np.zeros(3, np.float32), compiled=True)


@pytest.fixture
def no_numba(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "numba", None)
    numba_available.cache_clear()
    yield
    numba_available.cache_clear()


@pytest.mark.usefixtures("no_numba")
def test_without_numba_a_long_run_uses_numpy() -> None:
    optimizer = Optimizer(np.zeros(6), max_evals=10**6, rng=1)
    assert not optimizer.strategy.compiled
    assert optimizer.result.choices["compiled"] == "False, because numba is not installed"
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'r1nes\[fast\]' installs it"):
        Optimizer(np.zeros(6), compiled=True)


@needs_numba
def test_a_compiled_run_resumes_without_numba_only_if_asked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then it agrees up to rounding; otherwise the error names the extra."""
    settings: dict[str, Any] = {"sigma0": 0.5, "vectorized": True, "rng": 1, "checkpoint": tmp_path / "run"}
    minimize(rosenbrock, np.zeros(6), **settings, compiled=True, max_evals=200)
    saved = (tmp_path / "run").read_bytes()
    straight = minimize(rosenbrock, np.zeros(6), **settings, max_evals=400)
    assert straight.choices["compiled"].startswith("True")
    (tmp_path / "run").write_bytes(saved)
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'r1nes\[fast\]' installs it"):
        minimize(rosenbrock, np.zeros(6), **settings, max_evals=400)
    resumed = minimize(rosenbrock, np.zeros(6), **settings, max_evals=400, compiled=False)
    np.testing.assert_allclose(resumed.x, straight.x, rtol=1e-9)


@needs_numba
def test_an_optimizer_resumes_compiled_bit_for_bit(tmp_path: Path) -> None:
    straight, resumed = (Optimizer(np.zeros(6), 0.5, compiled=True, rng=1) for _ in range(2))
    for _ in range(10):
        run(straight, 1)
        run(resumed, 1)
        resumed.save(tmp_path / "run")
        resumed = Optimizer.load(tmp_path / "run")
        assert resumed.strategy.compiled
        np.testing.assert_array_equal(resumed.strategy.mean, straight.strategy.mean)
    assert not Optimizer.load(tmp_path / "run", compiled=False).strategy.compiled


@pytest.mark.parametrize(
    "code",
    ["import r1nes", "import r1nes; r1nes.minimize(lambda x: x @ x, [1.0, 2.0, 3.0], max_evals=500)"],
)
def test_a_short_run_does_not_import_numba(code: str) -> None:
    script = f"{code}\nimport sys; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@needs_numba
@pytest.mark.parametrize("method", METHODS)
def test_a_compiled_stream_gives_the_same_run(method: str) -> None:
    whole, streamed = (
        Optimizer(np.linspace(-1, 2, 130), 0.5, method=method, popsize=12, rng=1, compiled=True)
        for _ in range(2)
    )
    for _ in range(30):
        X = whole.ask()
        whole.tell(X, rosenbrock(X))
        stream = streamed.ask(streaming=True)
        streamed.tell(stream, [rosenbrock(x) for x in stream])
        np.testing.assert_allclose(streamed.strategy.mean, whole.strategy.mean, rtol=1e-9, atol=1e-9)
    assert streamed.strategy.compiled or method == "xnes"


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
