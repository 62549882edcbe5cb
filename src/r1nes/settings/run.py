"""The keywords of ``minimize``: those of a search, and those for evaluation and checkpoints."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from scipy.optimize import OptimizeResult

from r1nes.arguments import at_least_zero, count, flag, function, one_of, optional, path, positive, shown
from r1nes.settings.search import Settings, keyword


def further(name: str, value: Any) -> tuple[Any, ...]:
    """Return the further arguments of fun as a tuple."""
    if not isinstance(value, tuple | list):
        raise TypeError(f"{name} must be a tuple of further arguments of fun, got {shown(value)}")
    return tuple(value)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RunSettings(Settings):
    """The keywords of ``minimize``: those of ``Optimizer``, and those for evaluation and checkpoints."""

    args: tuple[Any, ...] = keyword("Further arguments of fun.", further, ())
    restarts: int | str = keyword(
        "How often to restart with twice the population, or more on plateaus, when a run has converged or is "
        "stuck. A fifth of the evaluations goes to runs with the first population in between, but not with "
        '"ipop:9". A restart begins about sigma0 away from x0, or at a random point if all bounds are '
        "finite. All runs share one budget and one clock; stop gives the reasons of the best one.",
        default=0,
    )
    vectorized: bool = keyword(
        "Whether fun takes a whole generation as an (n, d) array and returns n values.", flag, False
    )
    keyed: bool = keyword(
        "Whether fun takes the keyword argument key, with key.generation, counted from 1, and key.seed, the "
        "same for all points of a generation and in a resumed run: for batches and simulators whose random "
        "numbers a generation shares.",
        flag,
        False,
    )
    workers: Any = keyword(
        'Where points are evaluated: a number of processes, -1 for one per core, "threads:4", any '
        "concurrent.futures Executor, a Dask Client, r1nes.Replicas, or a callable like map. The run is the "
        "same, bit for bit.",
        default=1,
    )
    timeout: float | None = keyword(
        "The maximum seconds per evaluation. One that takes longer counts as lost, as if its worker had "
        "crashed.",
        optional(positive),
    )
    retries: int = keyword(
        "How often an evaluation is repeated if it is lost because its worker crashed, exceeded the timeout "
        "or was disconnected.",
        partial(count, least=0),
        3,
    )
    on_failure: str = keyword(
        'What to do if fun raises an exception or an evaluation is lost in all attempts: "raise" ends the '
        'run, "worst" ranks the point last.',
        one_of("raise", "worst"),
        "raise",
    )
    callback: Callable[[OptimizeResult], object] | None = keyword(
        "Called with an OptimizeResult after each generation; raise StopIteration in it to end the run.",
        optional(function),
    )
    checkpoint: str | os.PathLike[str] | None = keyword(
        "A file for the state of the run. The same call resumes from it, bit for bit, however the process "
        "ended; only compiled and the reasons to stop (max_evals, max_seconds, ftarget, xtol, ftol, "
        "max_condition) may differ.",
        optional(path),
    )
    checkpoint_every: float = keyword(
        "The seconds between checkpoints; 0 writes one per generation. The last one is written at the end.",
        at_least_zero,
        10.0,
    )


KEYWORDS = {each.name: each for each in fields(RunSettings) if each.init}
LIMITS = tuple(name for name, each in KEYWORDS.items() if "limit" in each.metadata)  # may change on resume
