"""Methods of other packages, run on the same objective from the same start with the same step size.

None of them restarts, and their tolerances are disabled where possible: they run until they reach the target
or exhaust the budget, both enforced by the objective. Any stopping criterion left is recorded as the reason.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from r1nes.arrays import Array
from r1nes.bench.runner.watch import Watched
from r1nes.extras import needs

# (module, f, x0, sigma0, seed) → stop
PeerSolve = Callable[[Any, Watched, Array, float, int], dict[str, float]]


@dataclass(frozen=True)
class Peer:
    """A method of another package."""

    module: str
    solve: PeerSolve

    @property
    def package(self) -> str:
        """The name of the package, for import and for pip."""
        return self.module.split(".")[0]

    def load(self) -> Any:
        """Import and return the module."""
        with needs(self.package, extra="bench"):
            return import_module(self.module)

    def run(self, module: Any, f: Watched, x0: Array, sigma0: float, seed: int) -> dict[str, float]:
        """Minimise ``f``; return the reason to stop, which may be a numerical error in the method."""
        try:
            with np.errstate(all="ignore"):  # overflows show in the peer's result
                return self.solve(module, f, x0.copy(), sigma0, seed)
        except (ArithmeticError, AssertionError, np.linalg.LinAlgError) as error:
            return {type(error).__name__: f.evaluations}


def _cma(
    cma: Any, f: Watched, x0: Array, sigma0: float, seed: int, *, sampler: str = "", **more: Any
) -> dict[str, float]:
    options = {
        "maxiter": math.inf,
        "seed": max(1, seed),  # 0 means "seed from the clock"
        "signals_filename": "",
        "tolfacupx": math.inf,
        "tolflatfitness": math.inf,
        "tolfun": 0,
        "tolfunhist": 0,
        "tolstagnation": 0,
        "tolupsigma": math.inf,
        "tolx": 0,
        "tolxstagnation": False,
        "verbose": -9,
        **more,
    }
    if sampler:
        options = getattr(cma.restricted_gaussian_sampler, sampler).extend_cma_options(options)
    with redirect_stdout(io.StringIO()):  # VD warns about fewer than 10 variables on stdout
        es = cma.CMAEvolutionStrategy(x0, sigma0, options)
    f.popsize = es.popsize
    while not es.stop():
        X = es.ask()
        es.tell(X, f(np.asarray(X)).tolist())
    return dict.fromkeys(es.stop(), f.evaluations)  # cma's values may be lists or None


def _cmaes(cmaes: Any, f: Watched, x0: Array, sigma0: float, seed: int, *, name: str) -> dict[str, float]:
    optimizer = getattr(cmaes, name)(mean=x0, sigma=sigma0, seed=seed)
    f.popsize = optimizer.population_size
    while True:  # cmaes leaves stopping to the caller, through should_stop
        X = [optimizer.ask() for _ in range(optimizer.population_size)]
        optimizer.tell(list(zip(X, f(np.array(X)).tolist(), strict=True)))


def _crfmnes(crfmnes: Any, f: Watched, x0: Array, sigma0: float, seed: int) -> dict[str, float]:
    popsize = 4 + int(3 * math.log(x0.size))
    f.popsize = popsize + popsize % 2  # samples come in pairs
    optimizer = crfmnes.CRFMNES(
        x0.size,
        lambda x: f.value(x[:, 0]),
        x0[:, None],
        sigma0,
        f.popsize,
        seed=seed,
        use_constraint_violation=False,  # no constraints, and the check takes longer than the rest
    )
    while True:  # crfmnes has no stopping criterion
        optimizer.one_iteration()


def _pypop7(
    module: Any, f: Watched, x0: Array, sigma0: float, seed: int, *, name: str, unit: bool = False
) -> dict[str, float]:
    """Run a pypop7 method; if it only supports a ``unit`` step size, on x / sigma0 instead of x."""
    scale = sigma0 if unit else 1.0
    optimizer = getattr(module, name)(
        {"fitness_function": lambda x: f.value(scale * x), "ndim_problem": x0.size},
        {
            "is_restart": False,
            "mean": x0 / scale,
            "seed_rng": seed,
            "sigma": sigma0 / scale,
            "verbose": 0,
        },
    )
    f.popsize = optimizer.n_individuals
    return {"termination_signal": float(optimizer.optimize()["termination_signal"])}


PEERS: dict[str, Peer] = {
    "cma": Peer("cma", _cma),
    "cma-sep": Peer("cma", partial(_cma, CMA_diagonal=True)),
    "cma-vd": Peer("cma", partial(_cma, sampler="GaussVDSampler")),
    "cma-vkd": Peer("cma", partial(_cma, sampler="GaussVkDSampler")),
    "cmaes": Peer("cmaes", partial(_cmaes, name="CMA")),
    "cmaes-sep": Peer("cmaes", partial(_cmaes, name="SepCMA")),
    "crfmnes": Peer("crfmnes", _crfmnes),
    "pypop7-lmmaes": Peer("pypop7.optimizers.es.lmmaes", partial(_pypop7, name="LMMAES")),
    "pypop7-r1nes": Peer("pypop7.optimizers.nes.r1nes", partial(_pypop7, name="R1NES", unit=True)),
    "pypop7-rmes": Peer("pypop7.optimizers.es.rmes", partial(_pypop7, name="RMES")),
    "pypop7-vkdcma": Peer("pypop7.optimizers.nes.vkdcma", partial(_pypop7, name="VKDCMA")),
}
