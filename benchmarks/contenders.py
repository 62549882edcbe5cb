"""Who is measured: our methods and other packages', each as an endless run on a given objective.

All get the same dimension, start, step size and population, and run until the objective raises.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from r1nes import Optimizer
from r1nes.arrays import Array


class Objective(Protocol):
    """Values of one point, or of a whole generation."""

    def one(self, x: Array) -> float:
        """The value of a point."""
        ...

    def all(self, X: Array) -> Array:
        """The values of points in rows."""
        ...


Run = Callable[[Objective, int, int], None]  # (f, d, n)


def ours(f: Objective, d: int, n: int, *, method: str, **settings: Any) -> None:
    """A method of this package, by turns; ``stop`` is asked every generation, as ``minimize`` does.

    Random values let the step size shrink; without ``xtol`` there is no end to it.
    """
    optimizer = Optimizer(np.zeros(d), 1.0, method=method, popsize=n, xtol=0, rng=1, **settings)
    X = None
    while True:
        optimizer.stop()
        X = optimizer.ask(out=X)
        optimizer.tell(X, f.all(X))


def _cma(f: Objective, d: int, n: int, *, sampler: str = "", **more: Any) -> None:
    cma = import_module("cma")
    options: dict[str, Any] = {"popsize": n, "seed": 1, "verbose": -9, "signals_filename": "", **more}
    if sampler:
        options = getattr(cma.restricted_gaussian_sampler, sampler).extend_cma_options(options)
    with redirect_stdout(io.StringIO()):  # VD prints that it is not meant for few variables
        es = cma.CMAEvolutionStrategy(np.zeros(d), 1.0, options)
    while True:
        es.stop()
        X = es.ask()
        es.tell(X, [f.one(x) for x in X])


def _cmaes(f: Objective, d: int, n: int, *, name: str) -> None:
    optimizer = getattr(import_module("cmaes"), name)(mean=np.zeros(d), sigma=1.0, population_size=n, seed=1)
    while True:
        optimizer.should_stop()
        X = [optimizer.ask() for _ in range(n)]
        optimizer.tell([(x, f.one(x)) for x in X])


def _crfmnes(f: Objective, d: int, n: int) -> None:
    solver = import_module("crfmnes").CRFMNES
    optimizer = solver(d, f.one, np.zeros((d, 1)), 1.0, n, seed=1, use_constraint_violation=False)
    while True:
        optimizer.one_iteration()


def _pypop7(f: Objective, d: int, n: int, *, family: str, name: str) -> None:
    solver = getattr(import_module(f"pypop7.optimizers.{family}.{name.lower()}"), name)
    optimizer = solver(
        {"fitness_function": f.one, "ndim_problem": d},
        {
            "is_restart": False,
            "mean": np.zeros(d),
            "n_individuals": n,
            "seed_rng": 1,
            "sigma": 1.0,
            "verbose": 0,
        },
    )
    optimizer.n_individuals = n  # R1NES puts its own in the place of the option
    optimizer.optimize()


OURS: dict[str, Run] = {method: partial(ours, method=method) for method in ("r1nes", "rknes", "snes", "xnes")}
PEERS: dict[str, Run] = {
    "cma": _cma,
    "cma diagonal": partial(_cma, CMA_diagonal=True),
    "cma VD": partial(_cma, sampler="GaussVDSampler"),
    "cmaes": partial(_cmaes, name="CMA"),
    "cmaes SepCMA": partial(_cmaes, name="SepCMA"),
    "crfmnes": _crfmnes,
    "pypop7 R1NES": partial(_pypop7, family="nes", name="R1NES"),
    "pypop7 R1ES": partial(_pypop7, family="es", name="R1ES"),
    "pypop7 SNES": partial(_pypop7, family="nes", name="SNES"),
    "pypop7 RMES": partial(_pypop7, family="es", name="RMES"),
    "pypop7 MMES": partial(_pypop7, family="es", name="MMES"),
    "pypop7 LMMAES": partial(_pypop7, family="es", name="LMMAES"),
}
QUADRATIC = {"cma", "cmaes", "xnes"}  # hold a d×d matrix


def quiet(run: Run, f: Objective, d: int, n: int) -> None:
    """``run`` without the warnings that random values bring about."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        run(f, d, n)
