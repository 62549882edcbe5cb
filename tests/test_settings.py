"""Settings of an optimizer: starting points, defaults, and values that are honoured or refused by name."""

from __future__ import annotations

import inspect
import math
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np
import pytest

import r1nes
from r1nes import R1NES, SNES, XNES, Method, Optimizer, RkNES
from r1nes.settings import RunSettings, Settings
from r1nes.strategies import STRATEGIES
from support.ask_tell import run
from support.functions import rosenbrock, sphere
from support.runs import same

METHODS = sorted(STRATEGIES)


@pytest.mark.parametrize(
    "x0",
    [
        [1, 2, 3],
        (1.0, 2.0, 3.0),
        np.array([1, 2, 3]),
        np.array([1.0, 0, 2, 0, 3, 0])[::2],
        np.array([1, 2, 3], dtype=np.float16),
        np.array([1, 2, 3], dtype=">f8"),
    ],
)
def test_any_vector_of_numbers(x0: Any) -> None:
    optimizer = Optimizer(x0, 0.5, rng=1)
    points = run(optimizer, 5, sphere).points
    assert points.dtype == np.float64
    np.testing.assert_array_equal(points, run(Optimizer([1.0, 2.0, 3.0], 0.5, rng=1), 5, sphere).points)


def test_the_callers_array_is_never_changed() -> None:
    x0 = np.ones(4)
    frozen = np.ones(4)
    frozen.flags.writeable = False
    for start in (x0, frozen):
        run(Optimizer(start, 0.5, rng=1), 5)
        np.testing.assert_array_equal(start, np.ones(4))


@pytest.mark.parametrize("method", METHODS)
def test_float32_stays_float32(method: str) -> None:
    optimizer = Optimizer(np.ones(6, np.float32), 0.5, method=method, bounds=[(-9, 9)] * 6, rng=1)
    assert run(optimizer, 5).points.dtype == np.float32
    assert optimizer.strategy.mean.dtype == np.float32
    assert optimizer.result.x.dtype == np.float32


@pytest.mark.parametrize("method", ["snes", "xnes"])
def test_one_variable(method: str) -> None:
    result = r1nes.minimize(lambda x: (x[0] - 3) ** 2, 0.0, method=method, ftarget=1e-10, rng=1)
    assert result.success
    assert result.x == pytest.approx([3], abs=1e-4)


def test_r1nes_refuses_one_variable_and_says_what_to_use() -> None:
    with pytest.raises(ValueError, match="at least 2 free variables, got 1; use 'snes' or 'xnes'"):
        Optimizer([1.0], 0.5, method="r1nes")


def test_the_default_is_rknes_and_snes_for_one_variable() -> None:
    methods = [Optimizer(np.ones(d), 0.5).settings.method for d in (1, 2, 100)]
    assert methods == [SNES(), RkNES(), RkNES()]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"x0": []}, ValueError, r"x0 must be a vector .* got shape \(0,\)"),
        ({"x0": np.zeros((2, 2))}, ValueError, r"x0 must be a vector .* got shape \(2, 2\)"),
        ({"x0": [1, np.nan]}, ValueError, r"x0 must be finite, got x0\[1\] = nan"),
        ({"x0": [1j, 2]}, TypeError, "x0 must hold real numbers, got dtype complex"),
        ({"x0": ["a", "b"]}, TypeError, "x0 must hold real numbers"),
        ({"sigma0": 0}, ValueError, "sigma0 must be finite and above 0, got 0"),
        ({"sigma0": math.inf}, ValueError, "sigma0 must be finite and above 0, got inf"),
        ({"sigma0": "1"}, TypeError, "sigma0 must be a number, got '1'"),
        ({"sigma0": [1, 2, 3]}, ValueError, "sigma0 must be a number or 2, one per variable; got 3"),
        ({"sigma0": [1, 0]}, ValueError, "sigma0 must be finite and above 0"),
        ({"sigma0": [[1, 2]]}, TypeError, "sigma0 must be a number or a vector of numbers"),
        ({"sigma0": ["1", "2"]}, TypeError, "sigma0 must hold real numbers"),
        ({"min_sigma": 1}, ValueError, "min_sigma must be at most sigma0, 0.5, got 1"),
        ({"min_sigma": -1}, ValueError, "min_sigma must be finite and not below 0"),
        ({"weight_decay": 1}, ValueError, "weight_decay must be below 1, and 0 with bounds; got 1"),
        ({"weight_decay": 0.1, "bounds": [(0, 9)] * 2}, ValueError, "weight_decay must be below 1, and 0"),
        ({"method": "cma"}, ValueError, "method must be one of r1nes, rknes, snes, xnes, got 'cma'"),
        ({"popsize": 1}, ValueError, "popsize must be a whole number from 2 to 2147483647, got 1"),
        ({"popsize": 7.5}, ValueError, "popsize must be a whole number from 2 to 2147483647, got 7.5"),
        ({"max_evals": 3}, ValueError, "max_evals must be a whole number of at least 4, got 3"),
        ({"max_seconds": -1}, ValueError, "max_seconds must be finite and above 0, got -1"),
        ({"ftarget": math.nan}, TypeError, "ftarget must be a number, got nan"),
        ({"xtol": -1e-9}, ValueError, "xtol must be finite and not below 0"),
        ({"ftol": None}, TypeError, "ftol must be a number, got None"),
        (
            {"utilities": [1, 2, 3]},
            ValueError,
            r"utilities must hold one weight per rank, 4, got .*\(3,\)",
        ),
        ({"utilities": [1, 2, 3, 4]}, ValueError, "utilities must be finite and fall"),
        ({"utilities": [1, 1, 1, 1]}, ValueError, "utilities must be finite and fall"),
        ({"rate_size": 1}, TypeError, r"rate_size is not a keyword; did you mean rate_\w+\?"),
        ({"asynchronous": "no"}, TypeError, "asynchronous must be True or False, got 'no'"),
        ({"sampling": "gpu"}, ValueError, "sampling must be None or 'device', got 'gpu'"),
        ({"noise": "device"}, ValueError, "where to draw is now sampling='device'"),
        ({"noise": "yes"}, ValueError, "noise must be 'auto', True or False, got 'yes'"),
        ({"noise": True, "method": "snes"}, ValueError, "only RkNES adapts its rates"),
        ({"method": 3}, TypeError, r"method must be a name or a Method such as RkNES\(\), got 3"),
        ({"method": "rkne"}, ValueError, "got 'rkne'; did you mean rknes?"),
        ({"method": RkNES(), "rank": 2}, TypeError, r"rank must be set on the method, as RkNES\(rank=2\)"),
        (
            {"method": "snes", "rank": 2},
            TypeError,
            "rank is not a setting of SNES; it has rate_mean, rate_sigma",
        ),
        ({"rate_mean": -1}, ValueError, "rate_mean must be between 0 and 10, got -1"),
        ({"rng": "x"}, TypeError, "rng must be None, an int"),
    ],
)
def test_bad_settings_are_refused_by_name(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Optimizer(**{"x0": [1.0, 2.0], "sigma0": 0.5, **options})


def test_snes_has_no_rate_for_a_shape() -> None:
    with pytest.raises(TypeError, match="rate_shape is not a setting of SNES; it has rate_mean, rate_sigma"):
        Optimizer([1.0, 2.0], 0.5, method="snes", rate_shape=0.1)


@pytest.mark.parametrize("method", METHODS)
def test_settings_are_honoured(method: str) -> None:
    utilities = [3.0, 1.0, -1.0, -3.0]
    optimizer = Optimizer(
        np.ones(3),
        0.25,
        method=method,
        popsize=4,
        utilities=utilities,
        rate_mean=0.5,
        rate_sigma=0.0,
        rng=1,
        base="diagonal" if method == "rknes" else None,  # a full base takes over stretches of the layer
    )
    X = optimizer.ask()
    assert X.shape == (4, 3)
    optimizer.tell(X, [0, 1, 2, 3])
    expected = 1 + 0.5 * (np.array(utilities) @ (X - 1))
    np.testing.assert_allclose(optimizer.strategy.mean, expected, rtol=1e-12)
    assert optimizer.strategy.sigma == pytest.approx(0.25, rel=1e-12)
    run(optimizer, 20)
    assert optimizer.strategy.sigma == pytest.approx(0.25, rel=1e-12)


def test_too_large_a_population_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*_: object) -> None:
        raise MemoryError

    optimizer = Optimizer(np.ones(1000), 0.5, popsize=100)
    monkeypatch.setattr(type(optimizer._points.noise), "draw", no_memory)
    with pytest.raises(MemoryError, match="100 points of 1000 variables do not fit"):
        optimizer.ask()


def test_a_generator_and_its_seed_reproduce_the_run() -> None:
    optimizer = Optimizer(np.ones(3), 0.5, rng=np.random.default_rng(4))
    again = Optimizer(np.ones(3), 0.5, rng=optimizer.result.seed)
    unseeded = Optimizer(np.ones(3), 0.5)
    np.testing.assert_array_equal(run(optimizer, 3).points, run(again, 3).points)
    replay = Optimizer(np.ones(3), 0.5, rng=np.random.SeedSequence(unseeded.seed.entropy))
    np.testing.assert_array_equal(run(unseeded, 3).points, run(replay, 3).points)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("seed", "rng"),
        ("random_state", "rng"),
        ("maxiter", "max_evals"),
        ("maxfev", "max_evals"),
        ("max_eval", "max_evals"),
        ("verbose", "callback, which can show the progress of a run"),
        ("disp", "callback, which can show the progress of a run"),
        ("pop_size", "popsize"),
        ("lam", "popsize"),
        ("population_size", "popsize"),
        ("sigma", "sigma0"),
        ("n_jobs", "workers"),
        ("func", "fun"),
        ("vectorised", "vectorized"),
        ("checkpoint_evry", "checkpoint_every"),
        ("rate_sigm", "rate_sigma"),
    ],
)
def test_an_unknown_keyword_is_answered_with_the_one_meant(name: str, meant: str) -> None:
    unknown: dict[str, Any] = {name: 1}
    for call in (Optimizer, partial(r1nes.minimize, sphere), partial(r1nes.scipy_method, sphere)):
        if call is Optimizer or name not in ("maxiter", "disp"):  # which scipy_method honours
            with pytest.raises(TypeError, match=rf"^{name} is not a keyword; did you mean {meant}\?$"):
                call(np.ones(3), **unknown)
    unheard_of: dict[str, Any] = {"xyzzy": 1}
    with pytest.raises(TypeError, match=r"^xyzzy is not a keyword$"):
        Optimizer(np.ones(3), **unheard_of)


@pytest.mark.parametrize(
    ("name", "short", "method"),
    [
        ("rknes", {"rank": (2, 2), "rate_base": 0.5}, RkNES(rank=(2, 2), rate_base=0.5)),
        ("rknes", {"base": "diagonal"}, RkNES(base="diagonal")),
        ("r1nes", {"rate_shape": 0.05}, R1NES(rate_shape=0.05)),
        ("r1nes", {"preset": "matlab"}, R1NES(preset="matlab")),
        ("snes", {"rate_sigma": 0.2}, SNES(rate_sigma=0.2)),
        ("xnes", {"rate_shape": 0.2, "rate_mean": 0.9}, XNES(rate_shape=0.2, rate_mean=0.9)),
    ],
)
def test_a_method_object_is_the_name_with_its_keywords(
    name: str, short: dict[str, Any], method: Method
) -> None:
    by_name, by_object = (
        r1nes.minimize(rosenbrock, np.zeros(6), max_evals=600, rng=1, vectorized=True, **options)
        for options in ({"method": name, **short}, {"method": method})
    )
    same(by_name, by_object)
    by_class = Optimizer(np.zeros(6), method=type(method))
    assert by_class.settings.method == type(method)()


def test_each_keyword_is_in_the_signature_and_the_help_of_what_takes_it() -> None:
    for function, settings in ((Optimizer.__init__, Settings), (r1nes.minimize, RunSettings)):
        parameters = list(inspect.signature(function).parameters)[1:]
        assert parameters == [field.name for field in fields(settings) if field.init]
        for name in parameters:
            assert f"        {name}: " in (function.__doc__ or ""), name


def test_a_glance_at_an_optimizer_tells_its_state() -> None:
    optimizer = Optimizer(np.ones(20), 0.5, method=SNES(rate_mean=0.9), max_evals=500, rng=1)
    run(optimizer, 3, sphere)
    assert repr(optimizer).startswith(
        "<Optimizer: snes, 20 variables, generation 3 of 12, 36 evaluations, best "
    )
    assert repr(optimizer).endswith(", running>")
    assert "max_evals=500" in repr(optimizer.settings)
    assert repr(optimizer.strategy).startswith("DiagonalGaussian(d=20, sigma=0.")
    assert "generation 4, 12 points of 20 variables" in repr(optimizer.ask(streaming=True))


def test_a_keyword_of_minimize_alone_is_named_as_such() -> None:
    keywords: dict[str, Any] = {"workers": 2}
    with pytest.raises(TypeError, match="workers is a keyword of minimize, but not of Optimizer"):
        Optimizer(np.ones(3), **keywords)
