"""Restarts: one budget, one best point, seeds of their own, and a run that can be told from its history."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import r1nes
from r1nes.arrays import Array
from r1nes.bench.functions.problems import problem
from r1nes.reasons import STATUS
from r1nes.restarts import Plan, Search
from support.functions import rastrigin, sphere
from support.runs import same

solve = partial(r1nes.minimize, rastrigin, np.full(4, 2.2), sigma0=0.3, method="snes", vectorized=True)


def runs(history: dict[str, Array]) -> list[tuple[int, int]]:
    """(popsize, evaluations) of each run, from the history alone."""
    popsizes = np.diff(history["nfev"], prepend=0)
    ends = np.flatnonzero(np.diff(history["restart"], append=np.inf))
    return [
        (int(popsizes[end]), int(spent))
        for end, spent in zip(ends, np.diff(history["nfev"][ends], prepend=0), strict=True)
    ]


def first_points(**options: Any) -> list[Array]:
    """Those of the first generation of each run on a constant function, which converges at once."""
    asked: list[Array] = []

    def constant(X: Array) -> Array:
        asked.append(X.copy())
        return np.ones(len(X))

    result = r1nes.minimize(constant, vectorized=True, popsize=8, rng=1, **options)
    starts = np.flatnonzero(np.diff(result.history["restart"], prepend=-1))
    assert len(starts) > 2
    return [asked[start] for start in starts]


def test_ipop_doubles_the_population_until_the_target_is_reached() -> None:
    counted = 0

    def fun(X: Array) -> Array:
        nonlocal counted
        counted += len(X)
        return rastrigin(X)

    result = r1nes.minimize(
        fun, np.full(8, 2.2), sigma0=2.0, method="snes", ftarget=1e-8, restarts="ipop:9", vectorized=True,
        rng=1,
    )  # fmt: skip
    assert result.success
    assert 0 < result.restarts < 9
    assert result.fun == rastrigin(result.x[None])[0] == result.history["best"][-1] <= 1e-8
    assert result.nfev == counted == result.history["nfev"][-1]
    assert result.nit == len(result.history["nfev"])
    n = runs(result.history)[0][0]
    assert [popsize for popsize, _ in runs(result.history)] == [n * 2**i for i in range(result.restarts + 1)]
    assert (np.diff(result.history["best"]) <= 0).all()


def test_the_first_run_is_that_without_restarts() -> None:
    single, restarted = solve(rng=3), solve(rng=3, restarts=2)
    assert single.restarts == 0
    assert restarted.restarts >= 2
    for name, column in single.history.items():
        np.testing.assert_array_equal(restarted.history[name][: single.nit], column)
    assert restarted.fun <= single.fun


def test_each_run_has_noise_of_its_own_and_begins_about_sigma0_away_from_x0() -> None:
    firsts = [X[:8] for X in first_points(x0=np.full(30, 5.0), sigma0=1e-3, restarts=4)]
    for one, other in pairwise(firsts):
        assert abs(one - other).min() > 0
    centres = np.array([X.mean(axis=0) - 5 for X in firsts])
    assert abs(centres[0]).max() < 1e-3
    distances = np.sqrt((centres[1:] ** 2).mean(axis=1))
    assert 5e-4 < distances.min() < distances.max() < 2e-3


def test_a_restart_respects_bounds_on_one_side() -> None:
    firsts = first_points(x0=[1.0, 1.0], bounds=[(0.9, None), (None, 1.1)], sigma0=3.0, restarts=4)
    assert all((X[:, 0] >= 0.9).all() and (X[:, 1] <= 1.1).all() for X in firsts)


@pytest.mark.parametrize(
    ("ftarget", "ftol", "expected"),
    [(-1.0, 1e-12, 1e-6), (-1.0, 1e-3, 1e-3), (-1.0, 0.0, 0.0), (None, 1e-12, 1e-12)],
)
def test_with_a_target_a_restarted_run_need_not_converge_to_the_last_digit(
    ftarget: float | None, ftol: float, expected: float
) -> None:
    search = Search(r1nes.Optimizer(np.ones(2), ftarget=ftarget, ftol=ftol, rng=1), 1)
    while search.continues() and search.optimizer.restart == 0:
        X = search.optimizer.ask()
        search.optimizer.tell(X, sphere(X))
    assert search.optimizer.settings.ftol == expected


@pytest.mark.parametrize("restarts", [3, "ipop:3"])
def test_the_same_seed_gives_the_same_search(restarts: int | str) -> None:
    first = solve(rng=5, restarts=restarts)
    same(first, solve(rng=5, restarts=restarts))
    same(first, solve(rng=first.seed, restarts=restarts))
    assert solve(rng=6, restarts=restarts).nfev != first.nfev


def test_a_users_seed_sequence_is_left_alone() -> None:
    seed = np.random.SeedSequence(1)
    solve(rng=seed, restarts=2)
    assert seed.n_children_spawned == 0


def test_bipop_spends_a_fifth_on_small_runs() -> None:
    result = solve(rng=2, restarts="bipop:4")
    same(result, solve(rng=2, restarts=4))
    n, first = runs(result.history)[0]
    large, small, doubled, last = 0, first, 0, 0
    for popsize, spent in runs(result.history)[1:]:
        if 4 * small >= large:
            doubled += 1
            assert popsize == n * 2**doubled
            large, last = large + spent, spent
        else:
            assert popsize == n
            assert spent <= last // 2
            small += spent
    assert doubled == 4
    assert result.restarts > 4  # there were small runs


@pytest.mark.parametrize("restarts", [9, "ipop:9"])
def test_all_runs_share_one_budget(restarts: int | str) -> None:
    for budget in (777, 3000, 9999):
        result = solve(rng=1, max_evals=budget, restarts=restarts)
        assert result.nfev <= budget
        popsizes = [n for n, _ in runs(result.history)]
        assert result.nfev > budget - 2 * max(popsizes)  # what was left had no room for the next generation


def test_within_a_finite_box_a_restart_begins_anywhere_in_it() -> None:
    box = [(-8.0, 8.0), (100.0, 300.0)]
    firsts = first_points(x0=[0.0, 101.0], sigma0=0.01, bounds=box, restarts=4)
    centres = np.array([X.mean(axis=0) for X in firsts])
    assert abs(centres[0] - [0, 101]).max() < 0.1
    assert (centres >= [-8, 100]).all()
    assert (centres <= [8, 300]).all()
    assert np.ptp(centres[1:], axis=0).min() > 1


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"ftarget": 1.0, "sigma0": 1e-6}, "ftarget"),
        ({"max_evals": 100}, "max_evals"),
        ({"max_seconds": 1e-9}, "max_seconds"),
    ],
)
def test_what_ends_the_search_is_not_restarted(options: dict[str, Any], reason: str) -> None:
    result = r1nes.minimize(sphere, np.full(2, 0.1), restarts=5, rng=1, **options)
    assert result.restarts == 0
    assert reason in result.stop


def test_a_callback_ends_the_whole_search() -> None:
    seen: list[tuple[int, int]] = []

    def callback(intermediate_result: Any) -> None:
        seen.append((intermediate_result.restarts, intermediate_result.nit))
        if intermediate_result.restarts == 1:
            raise StopIteration

    result = solve(restarts=5, rng=1, callback=callback)
    assert seen[-1] == (1, len(seen))
    assert result.status == STATUS["callback"]
    assert result.restarts == 1


def test_minus_infinity_cannot_be_beaten() -> None:
    result = r1nes.minimize(lambda _: -math.inf, np.ones(3), restarts=5, rng=1)
    assert result.restarts == 0


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"restarts": -1}, ValueError, "restarts must be a whole number of at least 0, got -1"),
        ({"restarts": "ipop"}, ValueError, "restarts must be a number, 'ipop:N' or 'bipop:N', got 'ipop'"),
        ({"restarts": "9"}, ValueError, "restarts must be a number, 'ipop:N' or 'bipop:N', got '9'"),
        ({"restarts": None}, TypeError, "restarts must be a number, got None"),
        (
            {"restarts": 1, "popsize": 3, "utilities": [3, 2, 1]},
            ValueError,
            "utilities must be None with restarts",
        ),
    ],
)
def test_bad_restarts_are_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        solve(**options)


def test_the_result_has_the_reasons_of_the_best_run() -> None:
    """Later runs are interrupted by the budget; the first one converged to the best point."""
    found = 0
    for seed in range(1, 9):
        result = solve(rng=seed, restarts=3, max_evals=4000)
        history = result.history
        best_run = int(history["restart"][np.argmax(history["best"] == result.fun)])
        if best_run < result.restarts:
            found += 1
            assert next(iter(result.stop)) != "max_evals"
            assert result.status == STATUS[next(iter(result.stop))]
            assert result.success == bool({"xtol", "ftol"} & result.stop.keys())
    assert found


def test_a_larger_population_changes_its_step_size_more_slowly() -> None:
    search = Search(r1nes.Optimizer(np.ones(3), method=r1nes.RkNES(rate_sigma=0.8), rng=1), "ipop:2")
    rates = []
    while search.continues():
        optimizer = search.optimizer
        if optimizer.generation == 0:
            rates.append(optimizer.settings.algorithm.rate_sigma)  # type: ignore[attr-defined]
            search.restore(search.state())
            assert search.optimizer.settings.algorithm == optimizer.settings.algorithm
            optimizer = search.optimizer
        X = optimizer.ask()
        optimizer.tell(X, np.ones(len(X)))
    np.testing.assert_allclose(rates, [0.8, 0.8 / 2**0.4, 0.8 / 4**0.4])


@pytest.mark.parametrize(("budget", "nfev", "restarts"), [(88, 88, 1), (87, 80, 0)])
def test_a_restart_needs_the_evaluations_of_one_generation(budget: int, nfev: int, restarts: int) -> None:
    """20 flat generations of 4 points end the first run; a generation of the next one has 8."""
    result = r1nes.minimize(
        lambda _: 1.0, np.ones(3), popsize=4, restarts="ipop:1", max_evals=budget, noise=False, rng=1
    )
    assert (result.nfev, result.restarts) == (nfev, restarts)


@pytest.mark.parametrize(("small", "next_is_large"), [(100, True), (99, False)])
def test_a_fifth_of_the_evaluations_is_enough_for_small_runs(small: int, next_is_large: bool) -> None:
    plan = Plan(doubled=1, large_evals=400, last_large=400, began=400)
    after = plan.after(400 + small, None, alternate=True)
    assert (after.is_large, after.doubled) == (next_is_large, 1 + next_is_large)
    assert after.small_evals == small


@pytest.mark.parametrize(
    ("left", "doubled"),
    [(None, 4), (math.inf, 4), (1600, 4), (1599, 3), (800, 3), (799, 2), (200, 1), (1, 1)],
)
def test_the_population_doubles_only_if_the_run_is_likely_to_end(left: float | None, doubled: int) -> None:
    """The last large run took 800 evaluations with 8 times the first population."""
    plan = Plan(doubled=3, large_evals=1400, small_evals=400, last_large=800, began=1800)
    budget = None if left is None else 1800 + left
    after = plan.after(1800, budget, alternate=True)
    assert (after.is_large, after.doubled) == (True, doubled)


def test_too_few_evaluations_do_not_change_the_doublings_of_a_small_run() -> None:
    plan = Plan(doubled=3, large_evals=1400, last_large=800, is_large=True, began=600)
    after = plan.after(1400, 1500, alternate=True)
    assert (after.is_large, after.doubled) == (False, 3)


def test_a_small_run_gets_half_of_what_the_last_large_one_took() -> None:
    plan = Plan(doubled=1, large_evals=400, small_evals=100, last_large=300, began=500)
    assert plan.limit(None) == 650
    assert plan.limit(600) == 600


def test_many_points_see_beyond_the_steps_of_a_plateau() -> None:
    """The best algorithm of COCO's workshop of 2009 took 1.8e4 evaluations on f7 in 20 dimensions."""
    results = []
    for trial in range(1, 6):
        start = np.random.default_rng(trial).uniform(-4, 4, 20)
        results.append(
            r1nes.minimize(
                problem("f7", 20, trial).formula, start, sigma0=2.0, ftarget=1e-8, max_evals=60_000,
                restarts=9, vectorized=True, compiled=False, rng=trial,
            )
        )  # fmt: skip
    assert sum(result.success for result in results) >= 4
    assert np.median([result.nfev if result.success else math.inf for result in results]) < 36_000
    repeated = next(result for result in results if result.restarts)
    assert runs(repeated.history)[1][0] == 192  # 16 times 12: about ten per variable


def test_a_search_that_stands_on_a_plateau_is_resumed_bit_for_bit() -> None:
    def new() -> Search:
        start = np.random.default_rng(2).uniform(-4, 4, 20)
        return Search(r1nes.Optimizer(start, 2.0, ftarget=1e-8, max_evals=14_000, rng=2), 9)

    steps, uninterrupted, resumed = problem("f7", 20, 2), new(), new()
    while uninterrupted.continues() and resumed.continues():
        for search in (uninterrupted, resumed):
            X = search.optimizer.ask()
            search.optimizer.tell(X, steps.formula(X))
        if resumed.optimizer.stop() or resumed.optimizer.generation % 50 == 0:
            resumed = Search.from_state(resumed.state())
    assert not resumed.continues()
    first, second = uninterrupted.result, resumed.result
    assert uninterrupted.optimizer.popsize == 192  # a restart
    assert first.x.tobytes() == second.x.tobytes()
    assert (first.nfev, first.nit, first.restarts, first.stop) == (
        second.nfev, second.nit, second.restarts, second.stop,
    )  # fmt: skip


@pytest.mark.parametrize(("doubled", "least", "next_doubled"), [(0, 4, 4), (3, 4, 4), (4, 4, 5), (0, -2, 1)])
def test_a_plateau_asks_for_a_least_population(doubled: int, least: int, next_doubled: int) -> None:
    plan = Plan(doubled=doubled, large_evals=100 * doubled, small_evals=400)
    assert plan.after(900, None, alternate=True, least=least).doubled == next_doubled


def test_a_budget_that_is_too_small_limits_the_population_of_a_plateau() -> None:
    plan = Plan(doubled=1, large_evals=500, small_evals=300, last_large=500, began=800)
    assert plan.after(1000, None, alternate=True, least=4).doubled == 4
    assert plan.after(1000, 1000 + 4000, alternate=True, least=4).doubled == 4
    assert plan.after(1000, 1000 + 3999, alternate=True, least=4).doubled == 3
