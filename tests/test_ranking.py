"""Ranks and utilities, with ties, NaN and infinities."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from r1nes.arrays import Array
from r1nes.ranking import assign, best_first, linear, logarithmic, median, ranking
from support import oracles

some_values = st.lists(
    st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from([0.0, 1.0, math.nan, math.inf]),
    min_size=2,
    max_size=30,
)


def utilities_of(values: list[float], utilities: Array | None = None) -> Array:
    array = np.array(values)
    order = best_first(array)
    if utilities is None:
        utilities = logarithmic(len(values), zero_sum=True)
    return assign(array[order], order, utilities)


def rank_key(value: float) -> tuple[bool, float]:
    return (math.isnan(value), 0.0 if math.isnan(value) else value)


def naive(values: list[float], utilities: Array) -> list[float]:
    """The mean utility of the ranks that equal values share, by counting."""
    keys = [rank_key(value) for value in values]
    if len(set(keys)) == 1:
        return [0.0] * len(values)
    ranks = {key: [i for i, other in enumerate(sorted(keys)) if other == key] for key in keys}
    return [float(np.mean([utilities[i] for i in ranks[key]])) for key in keys]


@given(some_values)
def test_utilities_match_a_naive_count(values: list[float]) -> None:
    for zero_sum in (True, False):
        w = logarithmic(len(values), zero_sum=zero_sum)
        np.testing.assert_allclose(utilities_of(values, w), naive(values, w), atol=1e-15)


@given(some_values, st.randoms())
def test_order_does_not_matter(values: list[float], random: object) -> None:
    shuffled = list(range(len(values)))
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    w = utilities_of(values)
    np.testing.assert_allclose(utilities_of([values[i] for i in shuffled]), w[shuffled], atol=1e-15)


@given(some_values)
def test_better_values_never_get_smaller_utilities(values: list[float]) -> None:
    w = utilities_of(values)
    for i in range(len(values)):
        for j in range(len(values)):
            if rank_key(values[i]) < rank_key(values[j]):
                assert w[i] >= w[j] - 1e-15


@given(some_values)
def test_ties_preserve_the_sum_of_utilities(values: list[float]) -> None:
    w = utilities_of(values, logarithmic(len(values), zero_sum=False))
    assert w.sum() == pytest.approx(1.0) or not w.any()


@pytest.mark.parametrize("n", [2, 3, 5, 20, 101])
@pytest.mark.parametrize("zero_sum", [True, False])
def test_logarithmic_utilities_match_the_paper(n: int, zero_sum: bool) -> None:
    np.testing.assert_allclose(
        logarithmic(n, zero_sum=zero_sum), oracles.log_utilities(n, zero_sum=zero_sum), atol=1e-15
    )


@pytest.mark.parametrize("n", [2, 3, 20])
def test_linear_utilities_fall_evenly_with_sum_0_and_the_norm_of_the_others(n: int) -> None:
    like = logarithmic(n, zero_sum=True)
    w = linear(n, like)
    np.testing.assert_allclose(np.diff(w, 2), 0, atol=1e-15)
    assert w.sum() == pytest.approx(0, abs=1e-15)
    assert w[0] > w[-1]
    assert np.linalg.norm(w) == pytest.approx(np.linalg.norm(like))


def test_nan_ranks_after_infinity() -> None:
    w = np.array([4.0, 3.0, 2.0, 1.0])
    np.testing.assert_array_equal(utilities_of([math.nan, 1.0, math.inf, -math.inf], w), [1, 3, 2, 4])
    np.testing.assert_array_equal(utilities_of([math.nan, 1.0, math.nan, 0.0], w), [1.5, 3, 1.5, 4])


@pytest.mark.parametrize("value", [0.0, 3.0, math.inf, math.nan])
def test_equal_values_get_zero_utilities(value: float) -> None:
    assert not utilities_of([value] * 6, logarithmic(6, zero_sum=False)).any()


@given(some_values)
def test_ranking_puts_the_best_first(values: list[float]) -> None:
    first, ranked, _ = ranking(np.array(values), logarithmic(len(values), zero_sum=True))
    np.testing.assert_array_equal(ranked, sorted(values, key=rank_key))
    assert rank_key(values[first]) == min(map(rank_key, values))


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=9))
def test_the_median_is_that_of_the_statistics_module(values: list[float]) -> None:
    assert median(sorted(values)) == pytest.approx(statistics.median(values))


def test_the_median_of_huge_values_does_not_overflow() -> None:
    assert median([1.5e308, 1.7e308]) == pytest.approx(1.6e308)
