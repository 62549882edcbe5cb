"""Whatever is asked, told, saved, lost and resumed in whatever order: the promises of a run hold.

Hypothesis chooses the order. ``HYPOTHESIS=thorough pytest tests/test_states.py`` tries many more, at random.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from r1nes import Optimizer
from r1nes.arrays import Array
from r1nes.strategies import STRATEGIES
from support.functions import sphere

SHIFT = np.array([8.0, -4.0, 2.0])


def value(X: Array) -> Array:
    """A function with plateaus and points without a value."""
    values = np.where(X[..., 0] > 1, np.round(sphere(X)), sphere(X))
    return np.where(X[..., 1] > 2, np.nan, values)


class Runs(RuleBasedStateMachine):
    """One search by ask and tell, with twins: undisturbed, with transformed values, and elsewhere."""

    @initialize(
        method=st.sampled_from(sorted(STRATEGIES)),
        bounds=st.sampled_from([None, [(-2, 3)] * 3, [(-2, 3), (0.5, 0.5), (None, 3)]]),
        seed=st.integers(0, 2**32),
        popsize=st.integers(4, 9),
    )
    def start(self, method: str, bounds: Any, seed: int, popsize: int) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "state"
        self.bounds = bounds
        options: dict[str, Any] = {"method": method, "popsize": popsize, "max_evals": 400, "rng": seed}
        start, here, there = np.full(3, 0.5), {**options, "bounds": bounds}, options
        if bounds is not None:
            there["bounds"] = [
                tuple(None if bound is None else bound + by for bound in pair)
                for pair, by in zip(bounds, SHIFT, strict=True)
            ]
        self.optimizer, self.twin, self.bent = (Optimizer(start, 0.5, **here) for _ in range(3))
        self.moved = Optimizer(start + SHIFT, 0.5, **there)
        self.optimizer.save(self.path)
        self.saved = 0  # generations in the file
        self.told: list[Array] = []  # the values of each generation, in the order of ask
        self.least = math.inf

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()

    def _replay(self, optimizer: Optimizer, generations: int) -> None:
        """Tell the values of ``generations`` that were told before."""
        for values in self.told[len(self.told) - generations :]:
            optimizer.tell(optimizer.ask(), values)

    @rule()
    def ask(self) -> None:
        np.testing.assert_array_equal(self.optimizer.ask(), self.optimizer.ask())

    @precondition(lambda self: not self.optimizer.stop())
    @rule(order=st.randoms(use_true_random=False), times=st.integers(1, 12))
    def tell(self, order: Any, times: int) -> None:
        """Tell generations in any order of their rows."""
        for _ in range(times):
            if self.optimizer.stop():
                return
            X = self.optimizer.ask()
            np.testing.assert_array_equal(X, self.twin.ask())
            np.testing.assert_array_equal(X, self.bent.ask())
            values = value(X)
            if np.isnan(values).all():
                values[0] = 9.0
            rows = list(range(len(X)))
            order.shuffle(rows)
            self.optimizer.tell(X[rows], values[rows])
            self.twin.tell(X, values)
            self.bent.tell(X, np.arctan(values))
            Z = self.moved.ask()
            np.testing.assert_allclose(Z - SHIFT, X, rtol=1e-8, atol=1e-8)
            self.moved.tell(Z, values)
            self.told.append(values)
            self.least = min(self.least, float(np.nanmin(values)))

    @rule()
    def save(self) -> None:
        self.optimizer.save(self.path)
        self.saved = len(self.told)

    @rule()
    def kill(self) -> None:
        """Lose everything since the last save; the same values lead to where the run was."""
        self.optimizer = Optimizer.load(self.path)
        assert self.optimizer.generation == self.saved
        self._replay(self.optimizer, len(self.told) - self.saved)

    @rule()
    def load(self) -> None:
        self.save()
        self.optimizer = Optimizer.load(self.path)

    @invariant()
    def same_as_undisturbed(self) -> None:
        if not hasattr(self, "twin"):
            return
        ours, theirs = self.optimizer, self.twin
        assert ours.strategy.mean.tobytes() == theirs.strategy.mean.tobytes()
        assert ours.strategy.sigma == theirs.strategy.sigma == self.bent.strategy.sigma
        assert ours.stop() == theirs.stop()
        assert ours.result.x.tobytes() == theirs.result.x.tobytes() == self.bent.result.x.tobytes()

    @invariant()
    def counts_and_best(self) -> None:
        if not hasattr(self, "told"):
            return
        result = self.optimizer.result
        assert result.nfev == sum(map(len, self.told)) <= 400
        assert result.nit == len(self.told)
        assert result.nan_count == sum(int(np.isnan(values).sum()) for values in self.told)
        assert result.fun == self.least
        if self.least < math.inf and self.least != 9.0:
            assert value(result.x) == result.fun

    @invariant()
    def within_bounds(self) -> None:
        if not hasattr(self, "told") or self.bounds is None:
            return
        for x in (*self.optimizer.ask(), self.optimizer.mean, self.optimizer.result.x):
            for number, (low, high) in zip(x, self.bounds, strict=True):
                assert low is None or low <= number
                assert high is None or number <= high


TestRuns = Runs.TestCase
TestRuns.settings = settings(stateful_step_count=15)
