"""Directions: orthogonal in blocks, uniform, and determined by the seed and their number."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from r1nes.arrays import Array
from r1nes.sampling.compact import ShiftedSequence
from r1nes.sampling.orthogonal import DENSE, OrthogonalDirections, Pairs, _orthogonal_matrices, pairs_of

DIMS = [2, 3, DENSE, DENSE + 1, 33, 128, 129, 200]


def directions(
    d: int, per_generation: int = 1, seed: int = 1, dtype: type = np.float64
) -> OrthogonalDirections:
    return OrthogonalDirections(np.random.SeedSequence(seed), d, np.dtype(dtype), per_generation)


def first_rows(source: OrthogonalDirections, count: int) -> Array:
    generations = -(-count // source.per_generation)
    rows = [source.rows(g + 1, 0, source.per_generation) for g in range(generations)]
    return np.concatenate(rows)[:count]


@pytest.mark.parametrize("d", DIMS)
def test_each_block_is_orthogonal(d: int) -> None:
    rows = first_rows(directions(d), 3 * d)
    for block in np.split(rows, 3):
        assert_allclose(block @ block.T, d * np.eye(d), atol=1e-10 * d)


@pytest.mark.parametrize(
    ("d", "n", "m"),
    [(2, 6, 3), (3, 7, 3), (8, 10, 5), (9, 10, 5), (9, 7, 2), (12, 11, 5), (27, 16, 2), (28, 14, 0)],
)
def test_the_last_directions_are_the_opposites_of_the_first(d: int, n: int, m: int) -> None:
    """The others are orthogonal to each other in blocks of d."""
    source = directions(d, per_generation=n)
    assert source.pairs == m
    generations = [source.rows(g + 1, 0, n) for g in range(3 * d)]
    for rows in generations:
        assert_array_equal(rows[n - m :], -rows[:m])
    rows = np.concatenate([rows[: n - m] for rows in generations])[: 3 * d]
    for block in np.split(rows / np.linalg.norm(rows, axis=1, keepdims=True), 3):
        assert_allclose(block @ block.T, np.eye(d), atol=1e-10)


@pytest.mark.parametrize("d", [2, 7, 42, 1000])
def test_two_generations_cover_the_space_before_directions_are_paired(d: int) -> None:
    """Two more samples are at most two more pairs, so that similar populations behave alike."""
    counts = [pairs_of(n, d) for n in range(1, 3 * d)]
    for n, m in enumerate(counts, start=1):
        assert m == 0 or 2 * (n - m) >= d
    assert counts[d - 1 :] == [n // 2 for n in range(d, 3 * d)]
    assert set(np.diff(counts)) == {0, 1}


@pytest.mark.parametrize("d", DIMS)
@pytest.mark.parametrize("per_generation", [1, 7])
def test_any_row_can_be_drawn_on_its_own(d: int, per_generation: int) -> None:
    rows = first_rows(directions(d, per_generation), 3 * d)
    for number in np.random.default_rng(0).integers(3 * d, size=20):
        generation, i = divmod(int(number), per_generation)
        alone = directions(d, per_generation).rows(generation + 1, i, i + 1)
        assert_array_equal(alone[0], rows[number])


@pytest.mark.parametrize(
    ("d", "n"),
    [(2, 6), (8, 10), (8, 11), (20, 12), (21, 12), (33, 14), (33, 18), (40, 11), (100, 30), (150, 12)],
)
def test_draw_returns_the_rows(d: int, n: int) -> None:
    """This includes blocks that end within a generation, and reuse of the previous result as a buffer."""
    source, other = directions(d, per_generation=n), directions(d, per_generation=n)
    drawn = None
    generations = 3 * source.rows_at_once // n
    for generation in range(1, generations, 1 + generations // 300):
        drawn = source.draw(generation, 0, n, drawn)
        assert isinstance(drawn, Pairs) == (source.pairs > 0)
        rows = (
            np.concatenate([drawn.rows, -drawn.rows[: drawn.opposites]])
            if isinstance(drawn, Pairs)
            else drawn
        )
        assert_array_equal(rows, other.rows(generation, 0, n))


def test_directions_that_were_drawn_do_not_change() -> None:
    """The next table must not take the place of the last one."""
    source = directions(10, per_generation=10)
    drawn = source.draw(1, 0, 10)
    assert isinstance(drawn, Pairs)
    kept = drawn.rows.copy()
    source.draw(10_000, 0, 10)
    assert_array_equal(drawn.rows, kept)


def test_the_compact_form_holds_the_same_directions() -> None:
    """Generation 11 spans two blocks (the second starts at row 130) and has no compact form."""
    source = directions(130, per_generation=12)
    source.compiled = True
    for generation in range(1, 22):
        shifts, rows = source.draw(generation, 0, 12), source.rows(generation, 0, 12)
        if generation == 11:
            assert_array_equal(shifts, rows)
            continue
        assert isinstance(shifts, ShiftedSequence)
        for start, row in zip(shifts.starts, rows, strict=True):
            assert_array_equal(shifts.sequence[start : start + 130] * shifts.signs, row)


def test_orthogonal_matrices_agree_with_lapack() -> None:
    """One of the matrices has nearly parallel columns."""
    A = np.random.default_rng(1).standard_normal((50, 6, 6))
    A[7, :, 3] = A[7, :, 1] + 1e-9 * A[7, :, 3]
    Q, R = np.linalg.qr(A)
    Q *= np.sign(np.diagonal(R, axis1=1, axis2=2))[:, None]
    ours = _orthogonal_matrices(A)
    np.testing.assert_allclose(
        ours.transpose(0, 2, 1) @ ours, np.broadcast_to(np.eye(6), A.shape), atol=1e-14
    )
    np.testing.assert_allclose(np.delete(ours, 7, 0), np.delete(Q, 7, 0), atol=1e-12)


@pytest.mark.parametrize("d", DIMS)
def test_another_seed_gives_other_directions(d: int) -> None:
    first, second = (first_rows(directions(d, seed=seed), 4) for seed in (1, 2))
    assert (abs(first - second).max(axis=1) > 1e-3).all()


@pytest.mark.parametrize("d", [2, DENSE, 20, 150])
def test_coordinates_have_the_moments_of_uniform_directions(d: int) -> None:
    """Over many blocks, E y = 0, E y⁴ ≈ 3d/(d + 2), and squares correlate only by −1/(d − 1)."""
    blocks = 20_000 // d
    rows = first_rows(directions(d), blocks * d)
    assert_allclose(rows.mean(axis=0), 0, atol=5 / np.sqrt(len(rows)))
    assert (rows**4).mean() == pytest.approx(3 * d / (d + 2), rel=0.08)
    squares = np.corrcoef(rows.T**2) - np.eye(d)
    assert abs(squares[0, 1:] + 1 / (d - 1)).max() < 6 / np.sqrt(len(rows))


def test_magnitudes_of_nearby_rows_are_uncorrelated() -> None:
    """Otherwise the next generation would favour the same coordinates as the last one."""
    d, blocks = 300, 40
    squares = first_rows(directions(d), blocks * d) ** 2
    for lag in (1, 2, 3, 10):
        for shift in range(-3, 4):
            pairs = np.corrcoef(squares[lag:].ravel(), np.roll(squares, shift, axis=1)[:-lag].ravel())
            assert abs(pairs[0, 1]) < 5 / np.sqrt(blocks * d)  # a block has only d different magnitudes


def test_more_directions_than_variables_have_the_lengths_of_normal_vectors() -> None:
    rows = first_rows(directions(10, per_generation=22), 5000)
    lengths = (rows**2).sum(axis=1)
    assert lengths.mean() == pytest.approx(10, rel=0.03)
    assert lengths.var() == pytest.approx(20, rel=0.1)
    cosines = rows[:10] @ rows[:10].T / np.sqrt(lengths[:10] * lengths[:10, None])
    assert_allclose(cosines, np.eye(10), atol=1e-12)


@pytest.mark.parametrize("d", [3, 10, 128])
def test_lengths_vary_on_demand_and_nothing_else_does(d: int) -> None:
    source = directions(d, per_generation=6)
    plain = first_rows(source, 4000)
    source.vary(True)
    varied = first_rows(source, 4000)
    lengths = (varied**2).sum(axis=1)
    assert lengths.mean() == pytest.approx(d, rel=0.03)
    assert lengths.var() == pytest.approx(2 * d, rel=0.15)
    assert_allclose(varied * np.sqrt(d / lengths)[:, None], plain, atol=1e-12)
    source.vary(False)
    assert_array_equal(first_rows(source, 100), plain[:100])


def test_many_variables_keep_one_length() -> None:
    source = directions(129)
    source.vary(True)
    assert_allclose((first_rows(source, 50) ** 2).sum(axis=1), 129)


@pytest.mark.parametrize("d", [5, 40, 200])
def test_single_precision_is_rounded_double_precision(d: int) -> None:
    single = directions(d, dtype=np.float32).rows(1, 0, 1)
    assert single.dtype == np.float32
    assert_array_equal(single, directions(d).rows(1, 0, 1).astype(np.float32))
