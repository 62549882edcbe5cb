"""``minimize``: the loop that runs a search from start to end."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from scipy.optimize import OptimizeResult

from r1nes.arrays import taken
from r1nes.history import Recorder
from r1nes.optimizer import Optimizer
from r1nes.parallel.engine import asynchronous, synchronous
from r1nes.parallel.errors import ObjectiveError, TimeIsUp
from r1nes.parallel.evaluation import Evaluate, objective_of
from r1nes.parallel.interrupts import Interrupts
from r1nes.parallel.objective import Function, has_state
from r1nes.reasons import STATUS, describe
from r1nes.restarts import Search
from r1nes.result import Result
from r1nes.saturation import Saturation
from r1nes.settings import RunSettings, takes
from r1nes.storage.files import locked
from r1nes.storage.run_file import RunFile, read, restoring


@takes(RunSettings)
def minimize(fun: Function, settings: RunSettings) -> Result:
    """Minimise ``fun(x, *args) -> number`` over many variables, without derivatives. NaN ranks last.

    Returns:
        SciPy's ``OptimizeResult``: the best point ever evaluated as ``x`` with its value ``fun``, ``nfev``,
        ``nit``, ``success``, ``status`` and ``message``. Beyond SciPy's entries it has ``stop`` (the reasons
        with their values), ``mean`` (the better answer if values are noisy), ``noise`` (its estimated
        standard deviation), ``noise_share``, ``sigma``, ``nan_count``, ``restarts``, ``seed``, ``choices``
        (defaults that depend on the problem, and why) and ``history`` (an array per column, with an entry
        per generation), which ``plot()`` draws.

    Examples:
        >>> import numpy as np, r1nes
        >>> def rosenbrock(x):
        ...     return sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
        >>> result = r1nes.minimize(rosenbrock, np.zeros(5), sigma0=0.5, ftarget=1e-8, rng=1)
        >>> result.success, bool(abs(result.x - 1).max() < 1e-3)
        (True, True)
    """
    try:
        return solve(fun, settings)
    except ObjectiveError as error:
        cause = error.cause
    try:
        raise cause  # not within the except clause, which would set its __context__
    finally:
        del cause  # else the exception and this frame would keep each other alive


def solve(fun: Function, settings: RunSettings) -> Result:
    """Return the result of ``minimize``; raise ObjectiveError if ``fun`` fails."""
    path, kept = settings.checkpoint, None
    interrupts = Interrupts(has_to_save=path is not None)
    with ExitStack() as stack:
        stack.callback(interrupts.finish)
        if path is not None:
            stack.enter_context(locked(path))
            if Path(path).exists():
                kept = read(path)
                with restoring(path):
                    settings = _with_choices_of(kept["search"]["settings"], settings)
        search = Search(Optimizer(**settings.keywords()), settings.restarts)
        recorder = Recorder()
        objective = objective_of(fun, settings)
        stack.enter_context(interrupts)
        if settings.asynchronous:
            advance = stack.enter_context(asynchronous(objective, interrupts, settings)).advance
        else:
            evaluate = stack.enter_context(synchronous(objective, search, settings))
            advance = partial(_advance, evaluate, interrupts, keyed=settings.keyed)
        record: Callable[[Optimizer], None] = recorder.record
        save = _no_file
        if path is not None:
            if kept is not None:
                _restore(kept, path, fun, search, recorder)
            record, save = _keep(path, fun, settings, search, recorder, stack, is_new=kept is None)
        early_exit = _run(search, record, advance, settings.callback, interrupts, save)
    result = Result()
    result.update(search.result)
    if early_exit:
        stop = {early_exit: float(result.nit), **result.stop}
        result.update(stop=stop, status=STATUS[early_exit], message=describe(stop))
    result.update(seed=settings.seed, history=recorder.columns())
    return result


def _run(
    search: Search,
    record: Callable[[Optimizer], None],
    advance: Callable[[Optimizer], None],
    callback: Callable[[OptimizeResult], object] | None,
    interrupts: Interrupts,
    save: Callable[[], None],
) -> str:
    """Run generation after generation; return the reason for an early exit, or ''."""
    saturation = Saturation()
    try:
        while search.continues():
            optimizer = search.optimizer
            generation = optimizer.counts.generation
            try:
                advance(optimizer)
            finally:  # the tenth generation of NaN raises, but it is complete
                if optimizer.counts.generation > generation:
                    record(optimizer)
            if optimizer.counts.generation == generation:  # time or, if asynchronous, evaluations are spent
                continue
            saturation.observe(optimizer)
            save()
            if callback is not None:
                with interrupts.allowed:
                    if _stops(callback, optimizer.result):
                        return "callback"
    except KeyboardInterrupt:
        return "interrupt"
    return ""


def _advance(evaluate: Evaluate, interrupts: Interrupts, optimizer: Optimizer, *, keyed: bool) -> None:
    """Ask for one generation, evaluate it and tell its values, unless the time ends before."""
    X = optimizer.ask()
    try:
        with interrupts.allowed:
            values = evaluate(X, optimizer.key if keyed else None)
    except TimeIsUp as part:
        optimizer.abandon(taken(X, part.rows, axis=0), part.values)
    else:
        optimizer.tell(X, values)


def _stops(callback: Callable[[OptimizeResult], object], result: OptimizeResult) -> bool:
    try:
        callback(result)
    except StopIteration:
        return True
    return False


def _with_choices_of(kept: dict[str, Any], settings: RunSettings) -> RunSettings:
    """Return ``settings`` with the seed and the arithmetic of the run ``kept`` in a file, if not given."""
    if not settings.is_seeded:
        settings = replace(settings, rng=np.random.SeedSequence(**kept["rng"]))
    if settings.compiled is None:
        settings = replace(settings, compiled=kept.get("compiled"))
    return settings


def _restore(
    kept: dict[str, Any],
    path: str | os.PathLike[str],
    fun: Function,
    search: Search,
    recorder: Recorder,
) -> None:
    """Continue the run ``kept`` in a file, if its settings are the same."""
    with restoring(path):
        search.check_same(kept["search"], path)
        search.restore(kept["search"])
        recorder.restore(kept["history"])
        _ = search.result  # a file that does not make sense is refused now, not after hours
        if ("state" in kept["fun"]) != has_state(fun):
            raise ValueError(f"fun must have get_state and set_state exactly if it had them in {path}")
        if has_state(fun):
            cast("Any", fun).set_state(kept["fun"]["state"])


def _keep(
    path: str | os.PathLike[str],
    fun: Function,
    settings: RunSettings,
    search: Search,
    recorder: Recorder,
    stack: ExitStack,
    *,
    is_new: bool,
) -> tuple[Callable[[Optimizer], None], Callable[[], None]]:
    """Write the checkpoint now, if it ``is_new``, and at the end.

    Returns:
        A function that records a complete generation, and one that writes the file when due.
    """
    described = _described(fun, settings)
    state = _state_of(fun)

    def record(optimizer: Optimizer) -> None:
        nonlocal state
        recorder.record(optimizer)
        state = _state_of(fun)

    def snapshot() -> dict[str, Any]:
        return {"fun": described | state, "search": search.state(), "history": recorder.columns()}

    file = RunFile(path, settings.checkpoint_every, snapshot)
    if is_new:
        file.save()  # a path that cannot be written to is an error now, and a warning later
    stack.push(file.save_at_end)
    return record, file.save_if_due


def _state_of(fun: Function) -> dict[str, Any]:
    """Return a copy of the state of ``fun``, if it has one: a later call that fails must not change it."""
    return {"state": deepcopy(cast("Any", fun).get_state())} if has_state(fun) else {}


def _no_file() -> None:
    """Save nothing: there is no checkpoint."""


def _described(fun: Function, settings: RunSettings) -> dict[str, Any]:
    """Return the data that the command line needs to import ``fun`` again, if it can be imported."""
    name = f"{getattr(fun, '__module__', None)}:{getattr(fun, '__qualname__', None)}"
    found: Any = sys.modules.get(name.partition(":")[0])
    for part in name.partition(":")[2].split("."):
        found = getattr(found, part, None)
    importable = found is fun and not settings.args and not name.startswith("__main__:")
    return {"name": name, "importable": importable, "vectorized": settings.vectorized}
