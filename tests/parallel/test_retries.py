"""How lost evaluations are repeated, with a backend that loses what it is told to."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from r1nes.parallel.backend import Lost, Outcome, RetryPolicy, Ticket
from r1nes.parallel.errors import EvaluationsLost, TimeIsUp
from r1nes.parallel.evaluation import Rows, evaluate_with_retries


class Losing:
    """Loses every task of the first attempts, and notes how many tasks it had at a time."""

    workers = 2

    def __init__(self, attempts: int) -> None:
        self.attempts, self.most = attempts, [0]
        self._under_way: list[tuple[Ticket, Rows]] = []
        self._tickets = 0

    def submit(self, rows: Rows) -> Ticket:
        self._tickets += 1
        self._under_way.append((self._tickets, rows))
        self.most[-1] = max(self.most[-1], len(self._under_way))
        return self._tickets

    def collect(self) -> list[tuple[Ticket, Outcome]]:
        lost = len(self.most) <= self.attempts
        ended, self._under_way = self._under_way, []
        return [
            (ticket, Lost("of bad luck") if lost else [float(row) for row in rows]) for ticket, rows in ended
        ]

    def recover(self, losses: int) -> None:
        assert losses == len(self.most)
        self.most.append(0)

    def end(self) -> None:
        raise AssertionError


def evaluate(lost_attempts: int, *, retries: int = 3, nan_on_failure: bool = False) -> tuple[Any, list[int]]:
    backend, policy = Losing(lost_attempts), RetryPolicy(nan_on_failure, retries)
    return evaluate_with_retries(6, 2, backend.submit, backend, policy), backend.most


def test_points_share_tasks_then_have_their_own_and_are_alone_in_the_last_attempt() -> None:
    values, most = evaluate(3)
    np.testing.assert_array_equal(values, np.arange(6))
    assert most == [2, 6, 6, 1]


def test_a_first_attempt_that_is_the_last_runs_in_parallel() -> None:
    assert evaluate(0, retries=0)[1] == [2]


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_there_are_as_many_repetitions_as_allowed(retries: int) -> None:
    np.testing.assert_array_equal(evaluate(retries, retries=retries)[0], np.arange(6))
    with pytest.raises(EvaluationsLost, match=r"6 of 6 evaluations were lost .* because of bad luck"):
        evaluate(retries + 1, retries=retries)
    values, most = evaluate(retries + 1, retries=retries, nan_on_failure=True)
    assert all(map(math.isnan, values))
    assert len(most) == retries + 1


def test_tasks_grow_while_they_take_little_time_and_shrink_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("r1nes.parallel.evaluation.time", SimpleNamespace(monotonic=lambda: 0.0))
    backend = Losing(0)
    sizes: list[int] = []

    def submit(rows: Rows) -> Ticket:
        sizes.append(len(rows))
        return backend.submit(rows)

    policy = RetryPolicy(nan_on_failure=False, retries=3)
    values = evaluate_with_retries(100, 2, submit, backend, policy, lambda: False)
    np.testing.assert_array_equal(values, np.arange(100))
    assert sizes[:4] == [1, 1, 2, 2]
    assert max(sizes) > 8
    assert sizes[-1] == 1
    assert backend.most == [2]


def test_points_without_a_value_when_the_time_is_up_are_not_submitted_again() -> None:
    backend, looks = Losing(1), iter([False] * 4 + [True] * 100)
    policy = RetryPolicy(nan_on_failure=True, retries=3)
    with pytest.raises(TimeIsUp) as up:
        evaluate_with_retries(6, 2, backend.submit, backend, policy, lambda: next(looks))
    assert up.value.rows.tolist() == []
    assert backend.most == [2]


def test_what_was_evaluated_in_time_is_kept() -> None:
    backend, looks = Losing(0), iter([False] * 3 + [True] * 100)
    policy = RetryPolicy(nan_on_failure=False, retries=3)
    with pytest.raises(TimeIsUp) as up:
        evaluate_with_retries(9, 2, backend.submit, backend, policy, lambda: next(looks))
    rows = up.value.rows
    assert 0 < len(rows) < 9
    np.testing.assert_array_equal(up.value.values, rows)
