"""Restarts: when a run has converged or is stuck, another begins elsewhere.

IPOP doubles the population with each restart. BIPOP doubles it too, and spends a fifth of the evaluations on
runs with the first population in between: the former suits functions with an overall shape, the latter those
with a few distant minima. A restart begins at x0 + σ₀ N(0, I) or, in a finite box, at a random point.

With n points instead of n₀, the learning rate of the step size is multiplied by (n/n₀)^(−0.4): with a fast
one, a large population converges before it has explored. If there is a target, a restarted run ends as soon
as its values differ by less than 10⁻⁶ of the distance from the target.

A run that the budget interrupts is mostly lost, and evaluations grow at least in proportion to the
population. So if fewer than twice those of the last large run are left, the population does not double: it
stays, or is halved until a run is likely to end.

A few points cannot see the shape of a function beyond its steps. So a run on plateaus ends as soon as it
stands still, and the next large population has about ten points per variable, or more.

All runs share one budget, one clock and one best point; each has its own seed, derived from the seed of the
first. The result has the reasons of the run that found the best point.

A. Auger, N. Hansen: A restart CMA evolution strategy with increasing population size, CEC 2005.
N. Hansen: Benchmarking a bi-population CMA-ES on the BBOB-2009 function testbed, GECCO 2009.
"""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self

import numpy as np
from scipy.optimize import OptimizeResult

from r1nes.arguments import count
from r1nes.arrays import Array, host
from r1nes.optimizer import Optimizer
from r1nes.reasons import describe
from r1nes.settings import LIMITS, OF_METHOD, Settings, method_settings, renamed
from r1nes.storage import checkpoint
from r1nes.strategies import Method

SMALL = 0.2  # share of the evaluations that BIPOP spends on the first population
SLOWER = 0.4  # exponent of n/n₀ by which the learning rate of the step size is divided
GROWTH = 2.0  # evaluations of a run, relative to one with half the population
MANY = 10  # points per variable that a plateau needs
CLOSE = 1e-6  # least ftol of a restarted run with a target

ENDS = {"ftarget": "ftarget", "xtol": "xtol", "ftol": "ftol", "max_condition": "condition"}  # may change, too
FINAL = {"ftarget", "minus_inf", "max_seconds"}  # no restart after these reasons
BRANCH = 2**32 - 1  # keeps our child seeds apart from the user's, which are numbered from 0


class Search:
    """A run and its restarts.

    Args:
        first: The Optimizer of the first run.
        restarts: How often the population may double: a number for BIPOP, ``"ipop:9"`` for IPOP with nine
            doublings. 0 means a single run.

    ``optimizer`` always belongs to the current run.
    """

    def __init__(self, first: Optimizer, restarts: int | str = 0) -> None:
        """Check ``restarts``."""
        self.kind, self.doublings = _parsed(restarts)
        self.optimizer, self.settings = first, first.settings
        if self.doublings and self.settings.utilities is not None:
            raise ValueError("utilities must be None with restarts, because the population changes")
        self.plan = Plan()
        self._announce()
        self.best_end: dict[str, Any] | None = None  # how the best run ended, unless it is the current one

    @property
    def restarts(self) -> str:
        """The kind and number of restarts, as ``restarts`` accepts it."""
        return f"{self.kind}:{self.doublings}"

    def __repr__(self) -> str:
        """The plan and the current run."""
        return f"<Search: {self.restarts}, {self.plan.doubled} doublings so far, {self.optimizer!r}>"

    def continues(self) -> bool:
        """Return whether another generation is due; if a run has ended, start the next one."""
        stop = self.optimizer.stop()
        if not stop:
            return True
        if self.plan.doubled == self.doublings or not FINAL.isdisjoint(stop):
            return False
        return self._restart()

    def _restart(self) -> bool:
        """Start the next run, if the budget allows it; return whether it did."""
        ended, settings = self.optimizer, self.settings
        seed = _child(settings.seed, ended.restart + 1)
        budget = settings.max_evals
        least = round(math.log2(MANY * settings.dim / settings.size)) if ended.stopping.on_plateaus else 0
        least = min(least, self.doublings)
        plan = self.plan.after(ended.nfev, budget, alternate=self.kind == "bipop", least=least)
        changes = plan.changes(settings, np.random.default_rng(seed))
        if budget is not None and ended.nfev + max(ended.popsize, changes["popsize"]) > budget:
            return False
        changes |= {"max_evals": plan.limit(budget), "rng": seed, "compiled": settings.is_compiled}
        if self._is_best():
            self.best_end = ended.outcome()
        self.plan, self.optimizer = plan, Optimizer(**replace(settings, **changes).keywords())
        self.optimizer.inherit(ended)
        self._announce()
        return True

    def _announce(self) -> None:
        """Tell the current run whether another may follow."""
        self.optimizer.stopping.is_followed = self.plan.doubled < self.doublings

    def _is_best(self) -> bool:
        return self.best_end is None or self.optimizer.is_best

    @property
    def result(self) -> OptimizeResult:
        """The search so far, with the reasons of its best run and the limits that ended the last one."""
        result = self.optimizer.result
        if not self._is_best() and self.best_end is not None:
            limits = {reason: value for reason, value in result.stop.items() if reason in LIMITS}
            stop = {**self.best_end["stop"], **limits}
            result.update(self.best_end, stop=stop, message=describe(stop))
        return result

    def state(self) -> dict[str, Any]:
        """Return everything the search depends on, as plain values and arrays."""
        return {
            "restarts": self.restarts,
            "best_end": self.best_end,
            "settings": self.settings.to_plain(),
            "plan": asdict(self.plan),
            "optimizer": self.optimizer.state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], method: Method | None = None) -> Self:
        """Return the search with that ``state``; a ``method`` of your own must be passed again."""
        settings = Settings.from_plain(state["settings"], method)
        search = cls(Optimizer(**settings.keywords()), state["restarts"])
        search.restore(state)
        return search

    def check_same(self, kept: dict[str, Any], path: str | os.PathLike[str]) -> None:
        """Raise ValueError if the search ``kept`` in a file differs in any setting but the limits."""
        given, before = self.settings.to_plain(), renamed(kept["settings"])
        ours, theirs = method_settings(given), method_settings(before)
        defaults = {each.name: each.default for each in fields(self.settings.algorithm)}
        unlike = {*LIMITS, *ENDS, *OF_METHOD, "method_settings", "compiled"}  # compared below, or free
        restarts = kept["restarts"]
        if self.restarts == f"b{restarts}":  # in earlier files, a number means IPOP
            restarts = self.restarts
        _compare({**given, "restarts": self.restarts}, {**before, "restarts": restarts}, unlike, path)
        _compare({**defaults, **ours}, {**defaults, **theirs}, set(), path)

    def restore(self, state: dict[str, Any]) -> None:
        """Restore ``state``, with the current limits and tolerances."""
        checkpoint.check_alike(state["plan"], asdict(self.plan), "the plan")
        self.plan, self.best_end = Plan(**state["plan"]), state.get("best_end")
        settings, optimizer = self.settings, state["optimizer"]
        limits = {
            "max_evals": self.plan.limit(settings.max_evals),
            "max_seconds": settings.max_seconds,
            "compiled": settings.is_compiled,
            **{name: getattr(settings, name) for name in ENDS},
            **(self.plan.tolerance(settings) if self.plan.began else {}),
        }
        stopping = optimizer["stopping"]
        if "ends" in stopping:  # not in the earliest files
            before = optimizer["settings"]
            changed = {reason for name, reason in ENDS.items() if limits[name] != before.get(name)}
            ends = {reason: value for reason, value in stopping["ends"].items() if reason not in changed}
            optimizer = {**optimizer, "stopping": {**stopping, "ends": ends}}
        self.optimizer = Optimizer.from_state(
            {**optimizer, "settings": {**optimizer["settings"], **limits}},
            type(self.settings.algorithm)(**method_settings(optimizer["settings"])),
        )
        self._announce()


@dataclass(frozen=True, slots=True)
class Plan:
    """The kind of the current run, and the evaluations of the runs before it."""

    doubled: int = 0  # doublings of the last large population
    large_evals: int = 0  # evaluations of all runs with a doubled population
    small_evals: int = 0  # evaluations of all other runs
    last_large: int = 0  # evaluations of the last run with a doubled population
    is_large: bool = False  # whether this run has a doubled population
    began: int = 0  # evaluations before this run

    def after(self, nfev: int, budget: float | None, *, alternate: bool, least: int = 0) -> Plan:
        """Return the plan of the next run, after ``nfev`` evaluations of ``budget`` in all.

        A large population has doubled at least ``least`` times.
        """
        spent = nfev - self.began
        large, small = (spent, 0) if self.is_large else (0, spent)
        large, small = self.large_evals + large, self.small_evals + small
        next_is_large = small >= SMALL * (large + small) or not alternate
        last_large = spent if self.is_large else self.last_large
        doubled = max(self.doubled + 1, least) if next_is_large else self.doubled
        needed = GROWTH ** (doubled - self.doubled) * last_large
        while next_is_large and doubled > 1 and budget is not None and needed > budget - nfev:
            doubled, needed = doubled - 1, needed / GROWTH
        return Plan(doubled, large, small, last_large, next_is_large, nfev)

    def changes(self, settings: Settings, rng: np.random.Generator) -> dict[str, Any]:
        """Return the settings in which this run differs from the first."""
        popsize = settings.size * 2**self.doubled if self.is_large else settings.size
        changes = {"x0": _start(settings, rng), "popsize": popsize, **self.tolerance(settings)}
        return changes | {"method": settings.algorithm.slowed((popsize / settings.size) ** SLOWER)}

    def tolerance(self, settings: Settings) -> dict[str, float]:
        """Return the ftol of a restarted run, if it differs from that of the first."""
        if settings.ftarget is None or settings.ftol == 0:
            return {}
        return {"ftol": max(settings.ftol, CLOSE)}

    def limit(self, budget: float | None) -> float | None:
        """Return the number of evaluations, counted from the start of the search, at which this run ends."""
        if self.is_large or not self.doubled:
            return budget
        limit = self.began + self.last_large // 2
        return limit if budget is None else min(budget, limit)


def _start(settings: Settings, rng: np.random.Generator) -> Array:
    """Return a random point within a finite box, or about σ₀ away from x0."""
    array_type, edges = settings.array_type, settings.edges
    if edges is not None and np.isfinite(edges).all():
        start = rng.uniform(*edges)
    else:
        steps = np.broadcast_to(np.asarray(settings.sigma0), settings.start.shape)
        start = host(settings.start) + steps * rng.standard_normal(settings.start.size)
    start = start.astype(array_type.dtype)
    return array_type.array(start if edges is None else np.clip(start, *edges))  # float32 may round beyond


def _parsed(restarts: int | str) -> tuple[str, int]:
    if isinstance(restarts, str):
        kind, _, number = restarts.partition(":")
        if kind in ("ipop", "bipop") and number.isdecimal():
            return kind, int(number)
        raise ValueError(f"restarts must be a number, 'ipop:N' or 'bipop:N', got {restarts!r}")
    doublings = count("restarts", restarts, least=0)
    return ("bipop" if doublings else "ipop"), doublings


def _child(seed: np.random.SeedSequence, number: int) -> np.random.SeedSequence:
    """Return the child seed with that number; unlike ``spawn``, this leaves ``seed`` unchanged."""
    key = (*seed.spawn_key, BRANCH, number)
    return np.random.SeedSequence(seed.entropy, spawn_key=key, pool_size=seed.pool_size)


def _compare(
    given: dict[str, Any], kept: dict[str, Any], but: set[str], path: str | os.PathLike[str]
) -> None:
    """Raise ValueError if settings ``given`` differ from those ``kept`` in a file."""
    for name in {**kept, **given}:
        if name not in but and not _same(given.get(name), kept.get(name)):
            raise ValueError(
                f"{name} must be as in the checkpoint {os.fspath(path)}, {_brief(kept.get(name))}, got "
                f"{_brief(given.get(name))}; to start a new run, use another file or none"
            )


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.asarray(one).dtype == np.asarray(other).dtype and np.array_equal(one, other)
    return bool(one == other)


def _brief(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.size} numbers ({np.array2string(value, threshold=6, edgeitems=2)})"
    return repr(value)
