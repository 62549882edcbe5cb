"""COCO's own suites with COCO's own observer: what it writes is what its post-processing reads.

Asked for a dimension or a function that a suite does not have, cocoex would leave it out in silence or break
down; here each number that the suite lacks is an error, and the problems are picked by their names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from r1nes.arguments import count
from r1nes.extras import needs
from r1nes.minimize import minimize

SUITES = ("bbob", "bbob-largescale", "bbob-noisy")  # one objective, no constraints, real numbers
SIGMA0 = 2.0  # the problems live in [−5, 5]^d, and COCO proposes to start in the middle


@dataclass(frozen=True)
class Place:
    """Where a problem stands in its suite."""

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
    """Solve the problems of a suite, and say for each function and dimension how it went.

    Args:
        suite_name: One of ``SUITES``.
        out: The folder to write, which must not exist.
        method: Of ``r1nes.minimize``.
        dims: By default all of the suite.
        functions: By their numbers; by default all of the suite.
        instances: How many of each function; by default all of the suite.
        budget: Evaluations per variable.
        restarts: As ``r1nes.minimize`` takes them.
        seed: Of all random numbers.
        batch: (k, n) for the k-th of n parts of about the same work, to be run at the same time.
    """
    with needs("cocoex", extra="coco"):
        import cocoex
    if suite_name not in SUITES:
        raise ValueError(f"--suite must be one of {', '.join(SUITES)}; got {suite_name!r}")
    if out.exists():
        raise ValueError(f"--out must be a new folder, since COCO mixes no experiments; {out} exists")
    if re.search(r"\s", str(out)):
        raise ValueError(f"--out must be without spaces, which COCO cannot handle; got {str(out)!r}")
    part, parts = batch
    if not 1 <= part <= parts:
        raise ValueError(f"--batch must be K/N with 1 ≤ K ≤ N, got {part}/{parts}")
    evaluations = count("--budget", budget)
    cocoex.log_level("warning")
    whole = cocoex.Suite(suite_name, "", "")
    _check("--dims", dims, whole.dimensions)
    suite = cocoex.Suite(suite_name, "", f"dimensions: {','.join(map(str, dims or whole.dimensions))}")
    places = _chosen(_places(suite.ids()), functions, instances)[part - 1 :: parts]
    observer = cocoex.Observer(
        suite_name,
        f"outer_folder: {out.absolute().parent} result_folder: {out.name} algorithm_name: r1nes-{method} "
        f'algorithm_info: "r1nes, method={method}, restarts={restarts}, {evaluations}d evaluations"',
    )
    for (dim, function), group in groupby(places, key=lambda place: (place.dim, place.function)):
        solved, spent, tried = 0, 0, 0
        for place in group:
            problem = suite.get_problem(place.index, observer)
            try:
                _solve(problem, method, evaluations * dim, restarts, (seed, function, dim, place.instance))
                solved, spent, tried = (
                    solved + problem.final_target_hit,
                    spent + problem.evaluations,
                    tried + 1,
                )
            finally:
                problem.free()  # the observer writes now, and takes no other problem before
        yield f"f{function}, d = {dim}: solved {solved} of {tried} with {spent:,} evaluations"


def _solve(
    problem: Any, method: str, max_evals: int, restarts: int | str, seed: tuple[int, ...]
) -> OptimizeResult:
    def callback(_: OptimizeResult) -> None:
        if problem.final_target_hit:
            raise StopIteration

    return minimize(
        problem,
        problem.initial_solution,
        sigma0=SIGMA0,
        method=method,
        max_evals=max_evals,
        restarts=restarts,
        callback=callback,
        rng=np.random.SeedSequence(seed),
    )


def _places(ids: Sequence[str]) -> list[Place]:
    """Of the problems with these names, like bbob_f001_i71_d0020."""
    found = [re.search(r"_f(\d+)_i(\d+)_d(\d+)$", name) for name in ids]
    return [
        Place(index, function=int(match[1]), dim=int(match[3]), instance=int(match[2]))
        for index, match in enumerate(found)
        if match
    ]


def _chosen(places: list[Place], functions: Sequence[int] | None, instances: int | None) -> list[Place]:
    """Those with the wanted numbers, each of which there must be."""
    known = sorted({place.function for place in places})
    _check("--functions", functions, known)
    numbered = list(dict.fromkeys(place.instance for place in places))
    most = len(numbered) if instances is None else count("--instances", instances)
    if most > len(numbered):
        raise ValueError(f"--instances must be at most the suite's {len(numbered)}, got {instances}")
    return [
        place
        for place in places
        if place.function in (functions or known) and place.instance in numbered[:most]
    ]


def _check(name: str, wanted: Sequence[int] | None, known: list[int]) -> None:
    for number in wanted or ():
        if number not in known:
            raise ValueError(f"{name} must be of the suite's {', '.join(map(str, known))}; got {number}")
