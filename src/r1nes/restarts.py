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

import math
from typing import Any

import numpy as np

from r1nes.arguments import count
from r1nes.optimizer import Optimizer

FINAL = {"ftarget", "minus_inf", "max_seconds"}  # reasons after which another run has nothing to add
BRANCH = 2**32 - 1  # of the seed: a user's own children of it are numbered from 0


class Restarts:
    """Makes the Optimizers of one search, each from the one before.

    Args:
        restarts: How often the population may double: a number for IPOP, ``"bipop:9"`` for BIPOP with nine
            doublings. 0 is a single run.
        first: The Optimizer of the first run.

    A restart begins where the first run did; within bounds that are finite for every variable, at a random
    point between them.
    """

    def __init__(self, restarts: int | str, first: Optimizer) -> None:
        """Checks ``restarts``."""
        self.kind, self.doublings = _parsed(restarts)
        self.settings = first.settings
        if self.doublings and self.settings["utilities"] is not None:
            raise ValueError("utilities must be None with restarts, since the population changes")
        self.doubled = 0  # times, so far
        self.large_evals = 0  # spent on runs with a doubled population
        self.small_evals = 0  # and on the others
        self.last_large = 0  # evaluations of the last of the former
        self.is_large = False  # whether the present run is one of them
        self.began = 0  # evaluations before the present run

    def next(self, ended: Optimizer) -> Optimizer | None:
        """The Optimizer of the run after ``ended``, or None if the search is over."""
        budget = self.settings["max_evals"]
        room = math.inf if budget is None else budget - ended.nfev
        if self.doubled == self.doublings or room < ended.popsize or not FINAL.isdisjoint(ended.stop()):
            return None
        self._account(ended.nfev)
        self.is_large = self.kind == "ipop" or self.large_evals <= self.small_evals
        self.doubled += self.is_large
        seed = _child(self.settings["rng"], ended.restart + 1)
        changes = self._changes(np.random.default_rng(seed))
        if changes["popsize"] > room:
            return None
        if budget is not None:
            changes["max_evals"] = min(budget, changes.get("max_evals", budget))
        optimizer = Optimizer(**{**self.settings, **changes, "rng": seed})
        optimizer.inherit(ended)
        return optimizer

    def _account(self, nfev: int) -> None:
        spent, self.began = nfev - self.began, nfev
        if self.is_large:
            self.large_evals += spent
            self.last_large = spent
        else:
            self.small_evals += spent

    def _changes(self, rng: np.random.Generator) -> dict[str, Any]:
        """What the next run does differently from the first."""
        n, x0, bounds = self.settings["popsize"], self.settings["x0"], self.settings["bounds"]
        changes: dict[str, Any] = {}
        if bounds is not None and np.isfinite([bounds.lb, bounds.ub]).all():
            start = rng.uniform(bounds.lb, bounds.ub).astype(x0.dtype)
            changes["x0"] = np.clip(start, bounds.lb, bounds.ub)  # float32 may round beyond
        if self.is_large:
            return {**changes, "popsize": n * 2**self.doubled}
        small = int(n * 2.0 ** ((self.doubled - 1) * rng.random() ** 2))
        return {
            **changes,
            "popsize": small - (small - n) % 2,  # an even population stays even, for mirrored samples
            "sigma0": self.settings["sigma0"] * 10 ** (-2 * rng.random()),
            "max_evals": self.began + self.last_large // 2,
        }


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
