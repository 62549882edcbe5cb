"""Restarts: when a run has converged, another begins with a larger population.

IPOP doubles the population with each restart. BIPOP doubles it too, but between two such runs it spends as
many evaluations on short runs with small populations and small steps,

    n = ⌊n₀ (n_large/2n₀)^(U²)⌋,   σ = σ₀ 10^(−2U'),   at most half the evaluations of the last large run

for U, U' uniform in [0, 1]. All runs share one budget, one clock and one best point; each draws its noise
from a seed of its own, which follows from the seed of the first.

A. Auger, N. Hansen: A restart CMA evolution strategy with increasing population size, CEC 2005.
N. Hansen: Benchmarking a bi-population CMA-ES on the BBOB-2009 function testbed, GECCO 2009.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from r1nes.arguments import count
from r1nes.arrays import array_type_of
from r1nes.optimizer import Optimizer
from r1nes.settings import from_plain, to_plain

FINAL = {"ftarget", "minus_inf", "max_seconds"}  # reasons after which another run has nothing to add
BRANCH = 2**32 - 1  # of the seed: a user's own children of it are numbered from 0


class Search:
    """A run and, once it has converged, those that follow it.

    Args:
        first: The Optimizer of the first run.
        restarts: How often the population may double: a number for IPOP, ``"bipop:9"`` for BIPOP with nine
            doublings. 0 is a single run.

    A restart begins where the first run did; within bounds that are finite for every variable, at a random
    point between them. ``optimizer`` is always that of the present run.
    """

    def __init__(self, first: Optimizer, restarts: int | str = 0) -> None:
        """Checks ``restarts``."""
        self.kind, self.doublings = _parsed(restarts)
        self.optimizer, self.settings = first, first.settings
        if self.doublings and self.settings["utilities"] is not None:
            raise ValueError("utilities must be None with restarts, since the population changes")
        self.plan = Plan()

    def goes_on(self) -> bool:
        """Whether another generation is due; where a run has ended, the next one begins."""
        stop = self.optimizer.stop()
        if not stop:
            return True
        if self.plan.doubled == self.doublings or not FINAL.isdisjoint(stop):
            return False
        return self._restart()

    def _restart(self) -> bool:
        """Begin the next run, if the budget has room for it."""
        ended = self.optimizer
        seed = _child(self.settings["rng"], ended.restart + 1)
        plan = self.plan.after(ended.nfev, alternate=self.kind == "bipop")
        changes = plan.changes(self.settings, np.random.default_rng(seed))
        budget = self.settings["max_evals"]
        if budget is not None and ended.nfev + max(ended.popsize, changes["popsize"]) > budget:
            return False
        changes["max_evals"] = plan.limit(budget)
        self.plan, self.optimizer = plan, Optimizer(**{**self.settings, **changes, "rng": seed})
        self.optimizer.inherit(ended)
        return True

    def state(self) -> dict[str, Any]:
        """All that the search depends on, as plain values and arrays."""
        return {
            "restarts": f"{self.kind}:{self.doublings}",
            "settings": to_plain(self.settings),
            "plan": asdict(self.plan),
            "optimizer": self.optimizer.state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The search whose ``state`` this is."""
        search = cls(Optimizer(**from_plain(state["settings"])), state["restarts"])
        search.restore(state)
        return search

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from where ``state`` was taken, with the present ``max_evals`` and ``max_seconds``."""
        self.plan = Plan(**state["plan"])
        limits = {
            "max_evals": self.plan.limit(self.settings["max_evals"]),
            "max_seconds": self.settings["max_seconds"],
        }
        optimizer = state["optimizer"]
        self.optimizer = Optimizer.from_state({**optimizer, "settings": {**optimizer["settings"], **limits}})


@dataclass(frozen=True, slots=True)
class Plan:
    """Which run comes next, and what the ones before have spent."""

    doubled: int = 0  # times, so far
    large_evals: int = 0  # spent on runs with a doubled population
    small_evals: int = 0  # and on the others
    last_large: int = 0  # evaluations of the last of the former
    is_large: bool = False  # whether the present run is one of them
    began: int = 0  # evaluations before the present run

    def after(self, nfev: int, *, alternate: bool) -> Plan:
        """The plan of the run that follows, ``nfev`` evaluations having been spent."""
        spent = nfev - self.began
        large, small = (spent, 0) if self.is_large else (0, spent)
        large, small = self.large_evals + large, self.small_evals + small
        next_is_large = large <= small or not alternate
        last_large = spent if self.is_large else self.last_large
        return Plan(self.doubled + next_is_large, large, small, last_large, next_is_large, nfev)

    def changes(self, settings: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
        """What the present run does differently from the first."""
        n, x0, bounds = settings["popsize"], settings["x0"], settings["bounds"]
        changes: dict[str, Any] = {}
        if bounds is not None and np.isfinite([bounds.lb, bounds.ub]).all():
            array_type = array_type_of(x0)
            start = rng.uniform(bounds.lb, bounds.ub).astype(array_type.dtype)
            changes["x0"] = array_type.array(np.clip(start, bounds.lb, bounds.ub))  # float32 may round beyond
        if self.is_large:
            return {**changes, "popsize": n * 2**self.doubled}
        small = int(n * 2.0 ** ((self.doubled - 1) * rng.random() ** 2))
        return {
            **changes,
            "popsize": small,
            "sigma0": settings["sigma0"] * 10 ** (-2 * rng.random()),
        }

    def limit(self, budget: float | None) -> float | None:
        """Where the present run has to end, in evaluations from the start of the search."""
        if self.is_large or not self.doubled:
            return budget
        limit = self.began + self.last_large // 2
        return limit if budget is None else min(budget, limit)


def _parsed(restarts: int | str) -> tuple[str, int]:
    if isinstance(restarts, str):
        kind, _, number = restarts.partition(":")
        if kind in ("ipop", "bipop") and number.isdecimal():
            return kind, int(number)
        raise ValueError(f"restarts must be a number, 'ipop:N' or 'bipop:N', got {restarts!r}")
    return "ipop", count("restarts", restarts, least=0)


def _child(seed: np.random.SeedSequence, number: int) -> np.random.SeedSequence:
    """Another seed; unlike ``spawn``, this leaves ``seed`` as it is."""
    key = (*seed.spawn_key, BRANCH, number)
    return np.random.SeedSequence(seed.entropy, spawn_key=key, pool_size=seed.pool_size)
