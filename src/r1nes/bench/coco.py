"""Run a method on COCO's own suites with COCO's own observer, whose output its post-processing reads.

Given a dimension or function that a suite lacks, cocoex either skips it silently or crashes. Here every
number that the suite lacks is an error, and problems are selected by their ids.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from r1nes.arguments import count
from r1nes.extras import needs
from r1nes.minimize import minimize

SUITES = ("bbob", "bbob-largescale", "bbob-noisy")  # single-objective, unconstrained, continuous
PYCMA = "pycma"  # pycma's BIPOP-CMA-ES, recorded by the same observer
TOLERANCE = 1e-11  # of the values, as in pycma; COCO's last target is 1e-8 above the optimum
SIGMA0 = 2.0  # for the region of interest [−5, 5]^d; COCO starts at its centre


@dataclass(frozen=True)
class ProblemId:
    """The index of a problem in its suite, and what its id encodes."""

    index: int
    function: int
    dim: int
    instance: int


def run(
    suite_name: str,
    out: Path,
    *,
    method: str = "rknes",
    dims: Sequence[int] | None = None,
    functions: Sequence[int] | None = None,
    instances: int | None = None,
    budget: int = 1000,
    restarts: int | str = 9,
    seed: int = 1,
    batch: tuple[int, int] = (1, 1),
) -> Iterator[str]:
    """Run ``method`` on the problems of a suite; yield a line per function and dimension.

    Args:
        suite_name: One of ``SUITES``.
        out: The folder to write; it must not exist.
        method: A method of ``r1nes.minimize``, or ``"pycma"`` for pycma's BIPOP-CMA-ES.
        dims: Dimensions; all of the suite's by default.
        functions: Function numbers; all of the suite's by default.
        instances: Number of instances per function; all of the suite's by default.
        budget: Evaluations per variable.
        restarts: As in ``r1nes.minimize``.
        seed: Seed of all random numbers.
        batch: (k, n) runs the k-th of n parts of about equal cost, so that n processes can share a suite.
    """
    with needs("cocoex", extra="coco"):
        import cocoex
    if suite_name not in SUITES:
        raise ValueError(f"--suite must be one of {', '.join(SUITES)}; got {suite_name!r}")
    if out.exists():
        raise ValueError(f"--out must be a new folder, because COCO does not merge experiments; {out} exists")
    if re.search(r"\s", str(out)):
        raise ValueError(f"--out must not contain spaces, which COCO cannot handle; got {str(out)!r}")
    part, parts = batch
    if not 1 <= part <= parts:
        raise ValueError(f"--batch must be K/N with 1 ≤ K ≤ N, got {part}/{parts}")
    evaluations = count("--budget", budget)
    cocoex.log_level("warning")
    whole = cocoex.Suite(suite_name, "", "")
    _check("--dims", dims, whole.dimensions)
    suite = cocoex.Suite(suite_name, "", f"dimensions: {','.join(map(str, dims or whole.dimensions))}")
    selected = _selected(_problem_ids(suite.ids()), functions, instances)[part - 1 :: parts]
    name = method if method == PYCMA else f"r1nes-{method}"
    observer = cocoex.Observer(
        suite_name,
        f"outer_folder: {out.absolute().parent} result_folder: {out.name} algorithm_name: {name} "
        f'algorithm_info: "{name}, restarts={restarts}, {evaluations}d evaluations"',
    )
    solve = _pycma if method == PYCMA else partial(_minimize, method)
    for (dim, function), group in groupby(selected, key=lambda chosen: (chosen.dim, chosen.function)):
        solved, spent, tried = 0, 0, 0
        for chosen in group:
            problem = suite.get_problem(chosen.index, observer)
            try:
                solve(problem, evaluations * dim, restarts, (seed, function, dim, chosen.instance))
                solved += problem.final_target_hit
                spent += problem.evaluations
                tried += 1
            finally:
                problem.free()  # makes the observer write; it accepts no other problem before that
        yield f"f{function}, d = {dim}: solved {solved} of {tried} with {spent:,} evaluations"


def _minimize(method: str, problem: Any, max_evals: int, restarts: int | str, seed: tuple[int, ...]) -> None:
    def callback(_: OptimizeResult) -> None:
        if problem.final_target_hit:
            raise StopIteration

    minimize(
        problem,
        problem.initial_solution,
        sigma0=SIGMA0,
        method=method,
        max_evals=max_evals - 1,
        ftol=min(1e-12, TOLERANCE / abs(problem(problem.initial_solution))),
        restarts=restarts,
        callback=callback,
        rng=np.random.SeedSequence(seed),
    )


def _pycma(problem: Any, max_evals: int, restarts: int | str, seed: tuple[int, ...]) -> None:
    """Run pycma's BIPOP-CMA-ES from the same start, with the same budget."""
    with needs("cma", extra="bench"):
        cma = import_module("cma")
    options = {
        "maxfevals": max_evals,
        "seed": int(np.random.SeedSequence(seed).generate_state(1)[0]) or 1,  # 0 means "from the clock"
        "signals_filename": "",
        "termination_callback": [lambda _: problem.final_target_hit],
        "verb_log": 0,
        "verbose": -9,
    }
    with redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cma.fmin2(problem, problem.initial_solution, SIGMA0, options, restarts=restarts, bipop=True)


def _problem_ids(names: Sequence[str]) -> list[ProblemId]:
    """Parse COCO's ids, such as bbob_f001_i71_d0020."""
    found = [re.search(r"_f(\d+)_i(\d+)_d(\d+)$", name) for name in names]
    return [
        ProblemId(index, function=int(match[1]), dim=int(match[3]), instance=int(match[2]))
        for index, match in enumerate(found)
        if match
    ]


def _selected(
    suite: list[ProblemId], functions: Sequence[int] | None, instances: int | None
) -> list[ProblemId]:
    """Return the problems with the given function numbers and the first ``instances`` instances of each."""
    known = sorted({problem.function for problem in suite})
    _check("--functions", functions, known)
    numbered = list(dict.fromkeys(problem.instance for problem in suite))
    most = len(numbered) if instances is None else count("--instances", instances)
    if most > len(numbered):
        raise ValueError(f"--instances must be at most the suite's {len(numbered)}, got {instances}")
    return [
        problem
        for problem in suite
        if problem.function in (functions or known) and problem.instance in numbered[:most]
    ]


def _check(name: str, wanted: Sequence[int] | None, known: list[int]) -> None:
    for number in wanted or ():
        if number not in known:
            raise ValueError(f"{name} must be among the suite's {', '.join(map(str, known))}; got {number}")
