"""The contract of a search distribution holds for the arrays of every library as for NumPy's."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

pytest.importorskip("array_api_compat")
pytest.importorskip("torch")
pytest.importorskip("jax")

from r1nes.arrays import array_type_of
from r1nes.strategies import STRATEGIES, Strategy
from r1nes.strategies.protocol import placed
from support.libraries import ellipsoid, every_library, every_method, every_width, like, maker, plain

pytestmark = pytest.mark.arrays


def pair(method: str, library: str, width: str, d: int = 6) -> tuple[Strategy, Strategy]:
    """The same initial strategy in NumPy and in another library."""
    x0 = np.linspace(-1, 2, d).astype(width)
    start = STRATEGIES[method]().start(x0, 0.5, np.random.default_rng(3))
    return start, placed(start, array_type_of(maker(library)(x0, width)))


def advance(
    ours: Strategy, theirs: Strategy, method: str, library: str, width: str, steps: int
) -> tuple[Strategy, Strategy]:
    """Update both on an ellipsoid, with the noise and the ranks of the first."""
    rng, d, n = np.random.default_rng(1), len(ours.mean), 8
    for _ in range(steps):
        noise = rng.standard_normal((n, ours.noise_size)).astype(width)
        weights = STRATEGIES[method]().default_utilities(n, d).astype(width)
        w = np.empty_like(weights)
        w[..., np.argsort(ellipsoid(ours.sample(noise)))] = weights
        ours, theirs = ours.update(noise, w), theirs.update(maker(library)(noise, width), w)
    return ours, theirs


def copy_of(value: Any) -> Any:
    return plain(value) if hasattr(value, "shape") else value


def values_of(strategy: Strategy) -> dict[str, Any]:
    """The numbers and arrays of a strategy; directions without a sign, which libraries choose differently."""
    values: dict[str, Any] = {field.name: getattr(strategy, field.name) for field in fields(strategy)}
    if "state" in values:
        values |= values.pop("state")._asdict()
    if "pace" in values:
        pace = values.pop("pace")._asdict()
        values |= {f"pace_{name}": value for name, value in pace.items() if name != "doubt"}
    return values


def agree(ours: Strategy, theirs: Strategy, within: float) -> None:
    others = values_of(theirs)
    for name, one in values_of(ours).items():
        other = copy_of(others[name])
        if name == "V":
            other = other * np.sign((other * one).sum(axis=1))[:, None]
        np.testing.assert_allclose(other, one, rtol=within, atol=within, err_msg=name)


@every_method
@every_library
@pytest.mark.parametrize("d", [2, 100])
def test_a_step_agrees_with_numpy_to_10_digits(method: str, library: str, d: int) -> None:
    ours, theirs = pair(method, library, "float64", d)
    noise = np.random.default_rng(2).standard_normal((8, ours.noise_size))
    np.testing.assert_allclose(
        plain(theirs.sample(maker(library)(noise))), ours.sample(noise), rtol=1e-10, atol=1e-10
    )
    agree(*advance(ours, theirs, method, library, "float64", 1), within=1e-10)
    # and one step from a distribution that has adapted
    state = advance(ours, ours, method, "numpy", "float64", 30)[0]
    moved = placed(state, array_type_of(maker(library)(state.mean)))
    agree(*advance(state, moved, method, library, "float64", 1), within=1e-10)


@every_method
@every_library
@every_width
def test_its_statistics_agree_with_numpy(method: str, library: str, width: str) -> None:
    close = 1e-9 if width == "float64" else 1e-3
    ours, theirs = advance(*pair(method, library, width), method, library, width, 20)
    agree(ours, theirs, within=close)
    np.testing.assert_allclose(plain(theirs.stds()), ours.stds(), rtol=close)
    np.testing.assert_allclose(theirs.cov(), ours.cov(), rtol=close, atol=close)
    assert theirs.largest_std() == pytest.approx(ours.largest_std(), rel=close)
    assert theirs.condition() == pytest.approx(ours.condition(), rel=close)
    assert theirs.scalars() == pytest.approx(ours.scalars(), rel=close, abs=close)
    assert type(theirs.sigma) is float
    assert theirs.sigma == pytest.approx(ours.sigma, rel=close)
    limits = maker(library)(ours.stds() * np.linspace(0.5, 0.9, 6), width)
    agree(ours.capped(plain(limits)), theirs.capped(limits), within=close)


@every_method
@every_library
@every_width
def test_arrays_keep_their_library_and_width(method: str, library: str, width: str) -> None:
    _, strategy = advance(*pair(method, library, width), method, library, width, 5)
    x0 = maker(library)(np.zeros(6), width)
    noise = maker(library)(np.ones((3, strategy.noise_size)), width)
    assert like(strategy.sample(noise), x0)
    assert like(strategy.stds(), x0)
    for name, value in values_of(strategy).items():
        assert isinstance(value, float | int | tuple) or like(value, x0), name


@every_method
@every_library
def test_sample_and_update_change_nothing_in_place(method: str, library: str) -> None:
    _, strategy = advance(*pair(method, library, "float64"), method, library, "float64", 5)
    noise = maker(library)(np.random.default_rng(2).standard_normal((8, strategy.noise_size)))
    w = STRATEGIES[method]().default_utilities(8, 6)
    before = {name: copy_of(value) for name, value in values_of(strategy).items()}
    kept = plain(noise), w.copy()
    strategy.sample(noise)
    strategy.update(noise, w)
    for name, value in values_of(strategy).items():
        np.testing.assert_array_equal(copy_of(value), before[name])
    np.testing.assert_array_equal(plain(noise), kept[0])
    np.testing.assert_array_equal(w, kept[1])


@every_method
@every_library
def test_gathering_samples_in_parts_gives_the_same_update(method: str, library: str) -> None:
    if method == "xnes":
        pytest.skip("it needs all samples at once")
    settings = {"base": "diagonal"} if method == "rknes" else {}
    start = STRATEGIES[method](**settings).start(np.linspace(-1, 2, 6), 0.5, np.random.default_rng(3))
    moved = placed(start, array_type_of(maker(library)(start.mean)))
    strategy: Any = advance(start, moved, method, library, "float64", 5)[1]
    noise = maker(library)(np.random.default_rng(2).standard_normal((8, strategy.noise_size)))
    w = STRATEGIES[method]().default_utilities(8, 6)
    moments = strategy.moments()
    for part in (slice(0, 3), slice(3, 8)):
        moments = strategy.accumulate(moments, noise[part], w[..., part])
    whole, parts = strategy.update(noise, w), strategy.step(moments)
    np.testing.assert_allclose(plain(parts.mean), plain(whole.mean), rtol=1e-10)
    np.testing.assert_allclose(parts.cov(), whole.cov(), rtol=1e-9, atol=1e-12)
