"""R1-NES, SNES and xNES as published: samples, ranks and natural gradients, and nothing else.

``minimize`` widens σ where values tie, and ends a run whose values hardly improve. Both help its users, but a
reproduction must not contain them: with ties widened, SNES solves step ellipsoids that it otherwise does not.
"""

from __future__ import annotations

from typing import Any

from r1nes.arrays import Array
from r1nes.bench.runner.watch import TARGET, Watched
from r1nes.optimizer import Optimizer
from r1nes.ranking import ranking
from r1nes.strategies import R1NES, SNES, XNES, Method
from r1nes.strategies.protocol import updated

PUBLISHED = (R1NES, SNES, XNES)


class PublishedOptimizer(Optimizer):
    """An Optimizer that changes σ by the method's own step alone, and does not end stagnant runs."""

    def _step(self, noise: Any, points: Any, told: Array) -> None:
        """Rank the values and take the method's step."""
        first, ranked, utilities = ranking(told, self.settings.weights)
        self.strategy = updated(self.strategy, noise, utilities)
        self.counts.finish_generation(points, told, first, ranked)
        self.stopping.observe(ranked, self.counts.generation, self.strategy)  # it may not change σ

    def stop(self) -> dict[str, float]:
        """Return the reasons to stop, without stagnation."""
        return {reason: value for reason, value in super().stop().items() if reason != "stagnation"}


def run_as_published(
    method: Method, xtol: float, f: Watched, x0: Array, sigma0: float, seed: int
) -> dict[str, float]:
    """Run the method until it reaches the target or the budget, or its steps are at most ``xtol``."""
    f.popsize = method.default_popsize(x0.size)
    f.notes = {"as_published": True}
    optimizer = PublishedOptimizer(
        x0, sigma0, method=method, ftarget=TARGET, max_evals=f.budget, ftol=0, xtol=xtol, rng=seed
    )
    while not (stop := optimizer.stop()):
        X = optimizer.ask()
        optimizer.tell(X, f(X))
    return stop
