"""Keyed streams: reproducible individually, mutually independent, standard normal."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from r1nes.sampling.gaussian import BLOCK, GaussianNoise, seed_sequence

DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)


def noise(seed: int = 1, width: int = 10, dtype: np.dtype[np.floating] = DOUBLE) -> GaussianNoise:
    return GaussianNoise(np.random.SeedSequence(seed), width, dtype)


@pytest.mark.parametrize("width", [1, 3, 100, BLOCK // 2 + 1, BLOCK + 5])
@pytest.mark.parametrize("dtype", [DOUBLE, SINGLE])
def test_any_row_can_be_drawn_on_its_own(width: int, dtype: np.dtype[np.floating]) -> None:
    n = 3 * (BLOCK // width) + 5
    whole = noise(width=width, dtype=dtype).rows(4, 0, n)
    assert whole.dtype == dtype
    for i in {0, 1, n // 2, n - 2, n - 1}:
        np.testing.assert_array_equal(noise(width=width, dtype=dtype).rows(4, i, i + 1)[0], whole[i])


@pytest.mark.parametrize("cuts", [[7], [1, 2, 3], [40, 41, 99], [50]])
def test_chunking_does_not_matter(cuts: list[int]) -> None:
    source = noise(width=50)
    edges = [0, *cuts, 100]
    pieces = [source.rows(9, a, b) for a, b in itertools.pairwise(edges)]
    np.testing.assert_array_equal(np.vstack(pieces), noise(width=50).rows(9, 0, 100))


def test_draws_do_not_depend_on_earlier_draws() -> None:
    used = noise()
    used.rows(1, 0, 20)
    used.stream(0).standard_normal(7)
    np.testing.assert_array_equal(used.rows(2, 0, 5), noise().rows(2, 0, 5))


def test_stream_matches_a_reference_construction() -> None:
    """The stream is a protocol: every machine must draw the same numbers."""
    reference = np.random.SFC64(0)
    state = reference.state
    state["state"]["state"][:] = [*np.random.SeedSequence(1).generate_state(2, np.uint64)[:1], 3, 0, 0]
    state["state"]["state"][3] = np.random.SeedSequence(1).generate_state(2, np.uint64)[1]
    reference.state = state
    reference.random_raw(18)
    expected = np.random.Generator(reference).standard_normal((2, 10))
    np.testing.assert_array_equal(noise().rows(3, 0, 2), expected)


def test_neighbouring_streams_are_normal_and_uncorrelated() -> None:
    """Compare the first draws of streams whose keys differ by small numbers."""
    width = BLOCK + 1  # one row per stream
    sources = [noise(seed, width) for seed in range(3)]
    first = np.array([s.rows(g, i, i + 1)[0, :8] for s in sources for g in range(1, 41) for i in range(10)])
    assert stats.kstest(first.ravel(), "norm").pvalue > 1e-4
    correlations = np.corrcoef(first.T)[np.triu_indices(8, 1)]
    assert np.abs(correlations).max() < 5 / np.sqrt(len(first))
    lagged = [np.corrcoef(first[:-lag, 0], first[lag:, 0])[0, 1] for lag in (1, 2, 10, 400)]
    assert np.abs(lagged).max() < 5 / np.sqrt(len(first) - 400)


def test_accepted_seeds() -> None:
    def key(rng: object) -> list[int]:
        return list(seed_sequence(rng).generate_state(2, np.uint64))  # type: ignore[arg-type]

    assert key(0) == key(np.int64(0)) == key(np.random.SeedSequence(0)) != key(1)
    assert key(None) != key(None)
    generator = np.random.default_rng(5)
    assert key(generator) != key(generator)
    assert key(np.random.default_rng(5)) == key(np.random.default_rng(5))
    child = np.random.SeedSequence(0).spawn(1)[0]
    assert key(child) != key(0)


@pytest.mark.parametrize("rng", [-1, 1.5, "seed", True, np.random.RandomState(0)])
def test_invalid_seeds_are_refused(rng: object) -> None:
    with pytest.raises(TypeError, match="rng must be None, an int"):
        seed_sequence(rng)  # type: ignore[arg-type]
