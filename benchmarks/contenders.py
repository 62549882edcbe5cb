"""The methods that ``overhead.py`` measures: ours and those of other packages, each as an endless run.

All use the same dimension, start, step size and population, and run until the objective raises. Not a
script; see ``overhead.py``.
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


class TimedObjective(Protocol):
    """An objective that is called with single points or with whole generations."""

    def one(self, x: Array) -> float:
        """Return the value of a point."""
        ...

    def all(self, X: Array) -> Array:
        """Return the values of points in rows."""
        ...


Run = Callable[[TimedObjective, int, int], None]  # (f, d, n)


def ours(f: TimedObjective, d: int, n: int, *, method: str, **settings: Any) -> None:
    """Run a method of this package with ask and tell, calling ``stop`` every generation as ``minimize`` does.

    ``xtol=0`` keeps the run going although the step size shrinks on random values.
    """
    optimizer = Optimizer(np.zeros(d), 1.0, method=method, popsize=n, xtol=0, rng=1, **settings)
    X = None
    while True:
        optimizer.stop()
        X = optimizer.ask(out=X)
        optimizer.tell(X, f.all(X))


def _cma(f: TimedObjective, d: int, n: int, *, sampler: str = "", **more: Any) -> None:
    cma = import_module("cma")
    options: dict[str, Any] = {"popsize": n, "seed": 1, "verbose": -9, "signals_filename": "", **more}
    if sampler:
        options = getattr(cma.restricted_gaussian_sampler, sampler).extend_cma_options(options)
    with redirect_stdout(io.StringIO()):  # VD warns about few variables on stdout
        es = cma.CMAEvolutionStrategy(np.zeros(d), 1.0, options)
    while True:
        es.stop()
        X = es.ask()
        es.tell(X, [f.one(x) for x in X])


def _cmaes(f: TimedObjective, d: int, n: int, *, name: str) -> None:
    optimizer = getattr(import_module("cmaes"), name)(mean=np.zeros(d), sigma=1.0, population_size=n, seed=1)
    while True:
        optimizer.should_stop()
        X = [optimizer.ask() for _ in range(n)]
        optimizer.tell([(x, f.one(x)) for x in X])


def _crfmnes(f: TimedObjective, d: int, n: int) -> None:
    solver = import_module("crfmnes").CRFMNES
    optimizer = solver(d, f.one, np.zeros((d, 1)), 1.0, n, seed=1, use_constraint_violation=False)
    while True:
        optimizer.one_iteration()


def _pypop7(f: TimedObjective, d: int, n: int, *, family: str, name: str) -> None:
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
    optimizer.n_individuals = n  # R1NES ignores the option
    optimizer.optimize()


OURS: dict[str, dict[str, Any]] = {
    "r1nes": {"method": "r1nes"},
    "rknes": {"method": "rknes", "base": "diagonal", "noise": False},  # or random values would slow it down
    "rknes full": {"method": "rknes", "base": "full", "noise": False},
    "snes": {"method": "snes"},
    "xnes": {"method": "xnes"},
}
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
QUADRATIC = {"cma", "cmaes", "rknes full", "xnes"}  # methods with a d×d matrix


def quiet(run: Run, f: TimedObjective, d: int, n: int) -> None:
    """Call ``run`` without the warnings that random values cause."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        run(f, d, n)
