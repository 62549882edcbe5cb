"""Runs with PyTorch tensors or JAX arrays as points."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("array_api_compat")
torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")

import r1nes  # noqa: E402
from r1nes import Optimizer  # noqa: E402
from r1nes.arrays.libraries import _namespace_of  # noqa: E402
from r1nes.sampling.on_device import DeviceDirections  # noqa: E402
from r1nes.sampling.orthogonal import OrthogonalDirections  # noqa: E402
from r1nes.strategies import STRATEGIES  # noqa: E402
from support.libraries import LIBRARIES, WIDTHS, ellipsoid, like, maker, plain  # noqa: E402

pytestmark = pytest.mark.arrays

METHODS = sorted(STRATEGIES)
OTHERS = ["torch", "jax"]
every_method = pytest.mark.parametrize("method", METHODS)
every_library = pytest.mark.parametrize("library", LIBRARIES)
every_other = pytest.mark.parametrize("library", OTHERS)
every_width = pytest.mark.parametrize("width", WIDTHS)

START = np.linspace(-1, 2, 6)
BOUNDS = [(-1.5, 2.5)] * 6
both_ways = pytest.mark.parametrize(("width", "bounds"), [("float64", None), ("float32", BOUNDS)])


def started(library: str, width: str = "float64", **settings: Any) -> Optimizer:
    return Optimizer(maker(library)(START, width), 0.5, **{"popsize": 8, "rng": 1, **settings})


def run(optimizer: Optimizer, generations: int) -> list[Any]:
    """Run some generations and return the mean after each of them."""
    means = []
    for _ in range(generations):
        X = optimizer.ask()
        optimizer.tell(X, ellipsoid(X))
        means.append(plain(optimizer.strategy.mean))
    return means


class TestAskAndTell:
    @every_method
    @every_library
    @both_ways
    def test_points_have_the_array_type_of_x0(
        self, method: str, library: str, width: str, bounds: Any
    ) -> None:
        x0 = maker(library)(START, width)
        optimizer = Optimizer(x0, 0.5, method=method, bounds=bounds, popsize=8, rng=1)
        for _ in range(3):
            X = optimizer.ask()
            assert like(X, x0)
            assert X.shape == (optimizer.popsize, 6)
            optimizer.tell(X, ellipsoid(X))
        assert like(optimizer.result.x, x0)
        assert like(optimizer.strategy.mean, x0)
        assert isinstance(optimizer.result.fun, float)

    @every_method
    @every_other
    @pytest.mark.parametrize("bounds", [None, BOUNDS])
    def test_fifty_generations_agree_with_numpy(self, method: str, library: str, bounds: Any) -> None:
        ours, theirs = (started(kind, method=method, bounds=bounds) for kind in ("numpy", library))
        np.testing.assert_allclose(run(theirs, 50), run(ours, 50), rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(plain(theirs.result.x), ours.result.x, rtol=1e-6, atol=1e-6)
        assert theirs.best == pytest.approx(ours.best, rel=1e-5)

    @every_method
    @every_other
    def test_single_precision_converges(self, method: str, library: str) -> None:
        optimizer = started(library, "float32", method=method)
        run(optimizer, 100)
        assert optimizer.best < 0.05 * float(ellipsoid(START))

    @every_library
    def test_values_may_be_any_sequence_of_numbers(self, library: str) -> None:
        forms = (
            lambda values: values,
            plain,
            list,
            lambda values: [float(value) for value in values],
            lambda values: values[:, None],
        )
        bests = set()
        for form in forms:
            optimizer = started(library)
            for _ in range(3):
                X = optimizer.ask()
                optimizer.tell(X, form(ellipsoid(X)))
            bests.add(optimizer.best)
        assert len(bests) == 1

    @every_library
    def test_tell_accepts_shuffled_rows_as_numpy_arrays(self, library: str) -> None:
        straight, shuffled = started(library), started(library)
        for _ in range(3):
            X = straight.ask()
            straight.tell(X, ellipsoid(X))
            Z = plain(shuffled.ask())[::-1]
            shuffled.tell(Z, ellipsoid(Z))
        np.testing.assert_array_equal(plain(shuffled.strategy.mean), plain(straight.strategy.mean))
        with pytest.raises(ValueError, match="X must hold the rows of the last ask unchanged; row 0"):
            straight.tell(straight.ask() + 1, np.arange(straight.popsize))

    @every_method
    @every_library
    def test_streaming_gives_the_same_run(self, method: str, library: str) -> None:
        whole, streamed = started(library, method=method), started(library, method=method)
        for _ in range(10):
            X = whole.ask()
            whole.tell(X, ellipsoid(X))
            stream = streamed.ask(streaming=True)
            streamed.tell(stream, [float(ellipsoid(x)) for x in stream])
        mean = plain(streamed.strategy.mean)
        np.testing.assert_allclose(mean, plain(whole.strategy.mean), rtol=1e-8, atol=1e-8)
        assert like(streamed.result.x, whole.result.x)

    @every_method
    @every_library
    def test_asynchronous_tell_accepts_single_points(self, method: str, library: str) -> None:
        optimizer, waiting = started(library, method=method, asynchronous=True), []
        for _ in range(300):
            waiting.append(optimizer.ask())
            if len(waiting) > 3:
                x = waiting.pop(0)
                optimizer.tell(x, ellipsoid(x))
        assert optimizer.generation > 10
        assert like(optimizer.result.x, maker(library)(START))

    def test_points_and_results_require_no_gradients(self) -> None:
        x0 = torch.nn.Parameter(torch.ones(5, dtype=torch.float64))
        optimizer = Optimizer(x0, 0.5, rng=1)
        for _ in range(3):
            X = optimizer.ask()
            assert type(X) is torch.Tensor
            assert not getattr(X, "requires_grad", None)
            optimizer.tell(X, [(x * x0).sum() for x in X])  # values that require gradients
        x: Any = optimizer.result.x
        assert not x.requires_grad
        assert x0.requires_grad
        assert torch.equal(x0, torch.ones(5, dtype=torch.float64))

    @every_other
    def test_the_callers_array_is_not_changed(self, library: str) -> None:
        x0 = maker(library)(START)
        optimizer = Optimizer(x0, 0.5, rng=1)
        run(optimizer, 3)
        np.testing.assert_array_equal(plain(x0), START)
        if library == "torch":
            x0 += 100
            np.testing.assert_array_equal(plain(optimizer.settings.x0), START)


class TestRefusals:
    @pytest.mark.parametrize("width", ["float16", "bfloat16", "int64", "bool"])
    @every_other
    def test_other_dtypes(self, library: str, width: str) -> None:
        x0 = maker(library)([1, 0, 1], width)
        with pytest.raises(TypeError, match=f"float32 or float64, got a {library} array of {width}"):
            Optimizer(x0, rng=1)

    @every_other
    def test_invalid_x0(self, library: str) -> None:
        make = maker(library)
        with pytest.raises(
            ValueError, match=r"x0 must be a vector of at least one number, got shape \(2, 2\)"
        ):
            Optimizer(make([[1.0, 2.0], [3.0, 4.0]]))
        with pytest.raises(ValueError, match=r"x0 must be finite, got x0\[1\] = nan"):
            Optimizer(make([1.0, np.nan]))

    @every_other
    def test_out_with_other_libraries(self, library: str) -> None:
        optimizer = started(library)
        X = optimizer.ask()
        with pytest.raises(ValueError, match=f"out needs arrays of NumPy, and x0 is one of {library}"):
            optimizer.ask(out=X)

    @every_other
    def test_workers_that_fork(self, library: str) -> None:
        with pytest.raises(ValueError, match="workers must be 1, 'threads:N', an Executor"):
            r1nes.minimize(ellipsoid, maker(library)(START), workers=2)

    def test_device_noise_without_a_device(self) -> None:
        with pytest.raises(ValueError, match="noise='device' needs x0 as a tensor of PyTorch or an array of"):
            Optimizer(START, noise="device")
        with pytest.raises(ValueError, match="noise must be None or 'device', got 'gpu'"):
            Optimizer(START, noise="gpu")


class TestMinimize:
    @every_method
    @every_library
    @pytest.mark.parametrize(("vectorized", "bounds"), [(False, BOUNDS), (True, None)])
    def test_it_finds_the_minimum(self, method: str, library: str, vectorized: bool, bounds: Any) -> None:
        x0 = maker(library)(START)
        seen = []

        def fun(x: Any) -> Any:
            seen.append(x)
            return ellipsoid(x)

        result = r1nes.minimize(
            fun,
            x0,
            sigma0=0.5,
            method=method,
            bounds=bounds,
            popsize=8,
            vectorized=vectorized,
            max_evals=1200,
            rng=1,
        )
        assert result.fun < 0.01 * float(ellipsoid(START))
        assert like(result.x, x0)
        assert all(like(x, x0) and x.ndim == 1 + vectorized for x in seen)
        assert float(ellipsoid(result.x)) == pytest.approx(result.fun, rel=1e-6)

    @every_other
    @pytest.mark.parametrize("workers", ["threads:2", "executor", map])
    def test_workers_change_nothing(self, library: str, workers: Any) -> None:
        x0 = maker(library)(START)

        def fun(x: Any) -> float:
            assert like(x, x0)
            return float(ellipsoid(x))

        serial = r1nes.minimize(fun, x0, max_evals=200, rng=1)
        with ThreadPoolExecutor(2) as executor:
            workers = executor if workers == "executor" else workers
            parallel = r1nes.minimize(fun, x0, max_evals=200, workers=workers, rng=1)
            late = r1nes.minimize(fun, x0, max_evals=200, workers=executor, asynchronous=True, rng=1)
        np.testing.assert_array_equal(plain(parallel.x), plain(serial.x))
        assert like(late.x, x0)

    @every_other
    def test_fun_may_change_its_argument(self, library: str) -> None:
        def fun(x: Any) -> float:
            value = float(ellipsoid(x))
            x *= 0
            return value

        x0 = maker(library)(START)
        one, other = (r1nes.minimize(f, x0, max_evals=200, rng=1) for f in (fun, ellipsoid))
        np.testing.assert_array_equal(plain(one.x), plain(other.x))

    @every_other
    @pytest.mark.parametrize("restarts", [2, "bipop:2"])
    def test_restarts_keep_the_array_type(self, library: str, restarts: Any) -> None:
        x0 = maker(library)(START)
        result = r1nes.minimize(
            ellipsoid, x0, bounds=BOUNDS, restarts=restarts, vectorized=True, ftol=0.1, rng=1
        )
        assert result.restarts >= 2
        assert like(result.x, x0)

    @every_other
    def test_result_with_two_variables_can_be_plotted(self, library: str) -> None:
        x0 = maker(library)([1.0, 2.0])
        result = r1nes.minimize(ellipsoid, x0, max_evals=100, rng=1)
        assert result.history["mean1"].dtype == np.float64
        result.plot(contour=lambda x: float(ellipsoid(x)))


class TestCheckpoints:
    @every_method
    @every_other
    @both_ways
    @pytest.mark.parametrize("noise", [None, "device"])
    def test_a_resumed_optimizer_continues_bit_for_bit(
        self, method: str, library: str, width: str, noise: str | None, bounds: Any, tmp_path: Path
    ) -> None:
        settings = {"method": method, "noise": noise, "bounds": bounds}
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
    def test_minimize_resumes(self, library: str, tmp_path: Path) -> None:
        def solve(**limits: Any) -> Any:
            return r1nes.minimize(ellipsoid, maker(library)(START), rng=1, **limits)

        solve(checkpoint=tmp_path / "run", max_evals=200)
        whole = solve(checkpoint=tmp_path / "run", max_evals=1000)
        np.testing.assert_array_equal(plain(whole.x), plain(solve(max_evals=1000).x))
        with pytest.raises(ValueError, match=f"arrays must be as in the checkpoint .* '{library}:cpu"):
            r1nes.minimize(ellipsoid, START, checkpoint=tmp_path / "run", rng=1)

    @every_other
    def test_a_missing_library_is_named(
        self, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
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
    _namespace_of.cache_clear()
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'r1nes\[arrays\]' installs it"):
        started(library)


class TestDeviceNoise:
    @every_method
    @every_other
    @every_width
    def test_noise_is_determined_by_the_seed(self, method: str, library: str, width: str) -> None:
        settings = {"method": method, "noise": "device"}
        first, second = started(library, width, **settings), started(library, width, **settings)
        other = started(library, width, rng=2, **settings)
        np.testing.assert_array_equal(run(first, 5), run(second, 5))
        assert not np.array_equal(run(first, 1), run(other, 1))

    @every_other
    @pytest.mark.parametrize("method", ["r1nes", "snes", "xnes"])
    def test_noise_is_standard_normal(self, method: str, library: str) -> None:
        optimizer = Optimizer(
            maker(library)(np.zeros(50)), 0.5, method=method, popsize=200, noise="device", rng=1
        )
        rows = plain(optimizer._noise.rows(1, 0, 200))
        assert abs(rows.mean()) < 0.05
        assert abs(rows.std() - 1) < 0.05
        correlations = np.asarray(np.corrcoef(rows))[np.triu_indices(200, 1)]
        assert abs(correlations).max() < 0.8
        np.testing.assert_array_equal(plain(optimizer._noise.rows(1, 77, 79)), rows[77:79])

    @every_other
    @pytest.mark.parametrize(
        ("d", "popsize", "width"),
        [
            (2, 30, "float64"),
            (5, 6, "float32"),
            (9, 12, "float64"),
            (64, 10, "float32"),
            (200, 12, "float64"),
            (201, 12, "float32"),
        ],
    )
    def test_directions_are_orthogonal(self, library: str, width: str, d: int, popsize: int) -> None:
        optimizer = Optimizer(maker(library)(np.zeros(d), width), 0.5, popsize=popsize, noise="device", rng=1)
        host = Optimizer(np.zeros(d), 0.5, popsize=popsize, rng=1)
        drawn, sent = optimizer._noise, host._noise
        assert isinstance(drawn, DeviceDirections)
        assert isinstance(sent, OrthogonalDirections)
        pairs = drawn.pairs
        assert pairs == sent.pairs
        generations = 2 * d // (pairs or popsize) + 2
        rows = np.concatenate([plain(optimizer._noise.rows(g + 1, 0, popsize)) for g in range(generations)])
        if pairs:
            np.testing.assert_array_equal(rows[pairs : 2 * pairs], -rows[:pairs])
            rows = rows.reshape(generations, 2, pairs, d)[:, 0].reshape(-1, d)
        block = rows[:d].astype(np.float64)
        gram = block @ block.T
        close = 1e-9 if width == "float64" else 1e-3
        off = gram - np.diag(np.diag(gram))
        assert abs(off).max() < close * d
        if pairs > d:
            lengths = (rows * rows).sum(axis=1)
            assert lengths.std() > 0.1
            assert abs(lengths.mean() / d - 1) < 0.3
        else:
            np.testing.assert_allclose(np.diag(gram), d, rtol=close)
        assert abs(rows.mean(axis=0)).max() < 1.0

    @every_method
    @every_other
    def test_runs_converge(self, method: str, library: str) -> None:
        optimizer = started(library, method=method, noise="device")
        run(optimizer, 100)
        assert optimizer.best < 0.05 * float(ellipsoid(START))
