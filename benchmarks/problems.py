"""Compare the speed of our BBOB functions with ioh's.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/problems.py [dimension]

Prints, for each function, the seconds to construct it and the microseconds per point in a batch of
100 points: the best of several repetitions, with ours and ioh's alternating. Requires ioh; in 512
dimensions (the default) it takes about half a minute, nearly all of it in ioh's constructor.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter
from typing import ParamSpec, TypeVar

import ioh
import numpy as np

from r1nes.bench.functions.bbob import FUNCTIONS
from r1nes.bench.functions.problems import problem

P = ParamSpec("P")
T = TypeVar("T")

POINTS, REPETITIONS = 100, 7


def timed(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> tuple[T, float]:
    """Call ``work``; return its result and the seconds it took."""
    start = perf_counter()
    result = work(*args, **kwargs)
    return result, perf_counter() - start


def main(dim: int) -> None:
    """Print the table for ``dim`` dimensions."""
    x = np.random.default_rng(1).uniform(-5, 5, (POINTS, dim))
    print(f"d = {dim}, {POINTS} points    construction, s         µs per point")
    print(f"{'':25}{'ours':>9}{'ioh':>9}{'ours':>12}{'ioh':>9}{'ratio':>8}")
    for function, definition in FUNCTIONS.items():
        ours, ours_made = timed(problem, function, dim)
        theirs, theirs_made = timed(
            ioh.get_problem, int(function[1:]), 1, dim, problem_class=ioh.ProblemClass.BBOB
        )
        seconds = [(timed(ours, x)[1], timed(theirs, x)[1]) for _ in range(REPETITIONS)]
        ours_time, theirs_time = np.min(seconds, axis=0) / POINTS * 1e6
        print(
            f"{function:5}{definition.name:20}{ours_made:9.3f}{theirs_made:9.3f}"
            f"{ours_time:12.1f}{theirs_time:9.1f}{theirs_time / ours_time:8.1f}"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 512)
