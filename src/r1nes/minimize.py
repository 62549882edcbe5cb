"""One call that solves a problem: the only loop of the package."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike
from scipy.optimize import OptimizeResult

from r1nes.bounds import BoundsLike
from r1nes.history import Recorder
from r1nes.optimizer import Optimizer
from r1nes.parallel.engine import Advance, engine
from r1nes.parallel.errors import raises_cause
from r1nes.parallel.evaluation import objective_of
from r1nes.parallel.interrupts import Interrupts
from r1nes.parallel.objective import Function
from r1nes.restarts import Search
from r1nes.result import Result
from r1nes.sampling.gaussian import Seed
from r1nes.stopping import STATUS, describe
from r1nes.storage.run_file import Saver, seed_in


@raises_cause
def minimize(
    fun: Function,
    x0: ArrayLike,
    *,
    sigma0: float | None = None,
    args: tuple[Any, ...] = (),
    method: str | None = None,
    bounds: BoundsLike = None,
    popsize: int | None = None,
    max_evals: float | None = None,
    max_seconds: float | None = None,
    ftarget: float | None = None,
    xtol: float | None = None,
    ftol: float = 1e-12,
    restarts: int | str = 0,
    vectorized: bool = False,
    workers: Any = 1,
    timeout: float | None = None,
    on_failure: str = "raise",
    asynchronous: bool = False,
    callback: Callable[[OptimizeResult], object] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = 10.0,
    rng: Seed = None,
    **settings: Any,
) -> Result:
    """Minimise a function of many variables that needs no derivatives and no smoothness.

    Args:
        fun: The objective, ``fun(x, *args) -> number``. NaN ranks last, so it can mark a failure.
        x0: Where to start, a vector of numbers. If it is a tensor of PyTorch or an array of JAX, then ``fun``
            gets such arrays, on the same device, and the search runs there.
        sigma0: The standard deviation of the first samples around ``x0``: about the distance at which the
            optimum is expected. By default 1, or 0.3 times the narrowest side of a finite box.
        args: More arguments of ``fun``.
        method: ``"rknes"``, the default, or ``"r1nes"``, its published ancestor, for interacting variables;
            ``"snes"`` for independent ones; ``"xnes"`` for up to a few hundred variables that interact in
            every way.
        bounds: SciPy's ``Bounds`` or a pair (low, high) per variable; ``fun`` sees no point outside.
        popsize: Evaluations per generation; by default the method's own choice.
        max_evals: The most evaluations to spend.
        max_seconds: The most time to spend; a generation under way is finished.
        ftarget: The value that is good enough.
        xtol: The largest standard deviation that is small enough; by default 1e-12 ``sigma0``.
        ftol: The spread of the best values of recent generations that is small enough.
        restarts: How often to start again with twice the population when a run has converged or got stuck;
            ``"bipop:9"`` puts short runs with small populations in between. A restart begins at ``x0`` with
            ``sigma0`` again; within bounds that are finite for every variable, at a random point between
            them. All runs together spend ``max_evals`` and ``max_seconds``.
        vectorized: Whether ``fun`` takes the whole generation, an (n, d) array, and returns n values.
        workers: Who evaluates: a number of processes, −1 for one per core, ``"threads:4"``, any ``Executor``
            of ``concurrent.futures``, a Dask ``Client``, ``r1nes.Replicas``, or a callable like
            ``map``. The run is the same, bit for bit.
        timeout: Seconds after which an evaluation counts as hung: it is given up and tried again, like those
            of a worker that died, up to four times.
        on_failure: What becomes of an evaluation that raises an exception or that is lost four times:
            ``"raise"`` ends the run, ``"worst"`` ranks it last.
        asynchronous: Whether no worker waits for the end of a generation: for evaluations of very different
            duration. It takes more of them, and the run depends on the order in which they end.
        callback: Called with an ``OptimizeResult`` after each generation; StopIteration ends the run.
        checkpoint: A file that holds all of the run. The same call goes on from it, bit for bit, whenever and
            however the process ended; only ``max_evals`` and ``max_seconds`` may differ.
        checkpoint_every: Seconds after which the file is written again, at the end of a generation; also
            written at the end of the run. 0 writes it after each generation.
        rng: Seed of the run: None, an int, a ``SeedSequence`` or a ``Generator``.
        **settings: Whatever else ``Optimizer`` takes: ``utilities``, ``max_condition``, ``noise``, learning
            rates.

    Returns:
        SciPy's ``OptimizeResult``: the best point ever evaluated as ``x`` with its value ``fun``, ``nfev``,
        ``nit``, ``success``, ``status``, ``message``, and beyond SciPy ``stop`` (the reasons with their
        values), ``sigma``, ``nan_count``, ``restarts``, ``seed`` and ``history`` (an array per
        column, an entry per generation), which ``plot()`` draws.

    Examples:
        >>> import numpy as np, r1nes
        >>> def rosenbrock(x):
        ...     return sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
        >>> result = r1nes.minimize(rosenbrock, np.zeros(5), sigma0=0.5, ftarget=1e-8, rng=1)
        >>> result.success, bool(abs(result.x - 1).max() < 1e-3)
        (True, True)
    """
    if rng is None and checkpoint is not None and Path(checkpoint).exists():
        rng = seed_in(checkpoint)
    first = Optimizer(
        x0,
        sigma0,
        method=method,
        bounds=bounds,
        popsize=popsize,
        max_evals=max_evals,
        max_seconds=max_seconds,
        ftarget=ftarget,
        xtol=xtol,
        ftol=ftol,
        asynchronous=asynchronous,
        rng=rng,
        **settings,
    )
    search, recorder = Search(first, restarts), Recorder()
    objective = objective_of(fun, args, on_failure, first.array_type)
    with ExitStack() as stack:
        interrupts = stack.enter_context(Interrupts())
        evaluation = engine(
            objective,
            search,
            interrupts,
            workers=workers,
            vectorized=vectorized,
            timeout=timeout,
            asynchronous=asynchronous,
        )
        advance = stack.enter_context(evaluation)
        save = _nothing
        if checkpoint is not None:
            saver = Saver(checkpoint, checkpoint_every, search, recorder, _described(fun, args, vectorized))
            stack.callback(saver.save)
            save = saver.save_if_due
        broken_off = _run(search, recorder, advance, callback, interrupts, save)
    result = Result()
    result.update(search.optimizer.result)
    if broken_off:
        stop = {broken_off: float(result.nit), **result.stop}
        result.update(stop=stop, status=STATUS[broken_off], message=describe(stop))
    result.update(seed=first.seed, history=recorder.columns())
    return result


def _run(
    search: Search,
    recorder: Recorder,
    advance: Advance,
    callback: Callable[[OptimizeResult], object] | None,
    interrupts: Interrupts,
    save: Callable[[], None],
) -> str:
    """Generation after generation, until the search ends or is broken off; what broke it off, or nothing."""
    try:
        while search.goes_on():
            optimizer = search.optimizer
            generation = optimizer.generation
            advance(optimizer)
            if optimizer.generation == generation:  # asynchronous, and the budget is spent
                continue
            recorder.record(optimizer)
            save()
            if callback is not None:
                with interrupts.allowed():
                    if _calls_off(callback, optimizer.result):
                        return "callback"
    except KeyboardInterrupt:
        return "interrupt"
    return ""


def _nothing() -> None:
    """What there is to save without a checkpoint."""


def _described(fun: Function, args: tuple[Any, ...], vectorized: bool) -> dict[str, Any]:
    """What the command line needs to call ``fun`` again; a name only if it leads back to ``fun``."""
    name = f"{getattr(fun, '__module__', None)}:{getattr(fun, '__qualname__', None)}"
    found: Any = sys.modules.get(name.partition(":")[0])
    for part in name.partition(":")[2].split("."):
        found = getattr(found, part, None)
    importable = found is fun and not args and not name.startswith("__main__:")
    return {"name": name, "importable": importable, "vectorized": vectorized}


def _calls_off(callback: Callable[[OptimizeResult], object], result: OptimizeResult) -> bool:
    try:
        callback(result)
    except StopIteration:
        return True
    return False
