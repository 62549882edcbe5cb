"""Measure a method's own cost against the peers': time per evaluation without the objective, and memory.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/overhead.py [--dims 8 64 512] [--out overhead]

All methods use the same population: 20 from 10,000 variables on, otherwise the even number nearest to
4 + 3 ln d; below 10,000 variables R1-NES, ours and pypop7's, uses its default instead. The objective returns
random numbers, which are cheap and favour no method; the cost of calling it is measured and subtracted. The
methods take turns, and the best of several repeats counts, in CPU time. The unit is the time that NumPy's
``Generator(SFC64).standard_normal`` takes to fill an array with as many numbers.

Our own methods are measured twice: with NumPy alone, and compiled by numba.

Prints a table and writes ``overhead.json``, ``.svg``, ``.png`` and ``.pdf``. All sizes take about ten
minutes, nearly all of it in other packages.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import contenders
import memory
import r1nes
from overhead_report import UNIT, Seconds, draw, growth, table
from r1nes.arrays import Array
from r1nes.strategies.rank_one import R1NES

DIMS = [2, 8, 64, 512, 10_000, 100_000, 1_000_000]
QUADRATIC_DIMS = [64, 128, 256, 512, 1024, 2048]
SLICE = 0.1  # seconds per repeat; at least one generation
SLOW = 2.0  # from this many seconds per repeat on, two repeats are enough


class Ended(Exception):  # noqa: N818 - the normal end of a measurement
    """Raised by the objective to end a method that would run forever."""


class Clock:
    """An objective with random values that times ``generations`` generations after two for warm-up."""

    def __init__(self, n: int, generations: int) -> None:
        """``n`` is the population size."""
        self.n, self.first, self.last = n, 2 * n, (2 + generations) * n
        self.values = np.random.default_rng(1).random(self.last + n)
        self.listed: list[float] = self.values.tolist()
        self.calls = 0
        self.began = self.seconds = math.nan

    def one(self, x: Array) -> float:  # noqa: ARG002
        """Return the next value."""
        call = self.calls
        if call == self.first:
            self.began = time.process_time()
        elif call == self.last:
            self._end()
        self.calls = call + 1
        return self.listed[call]

    def all(self, X: Array) -> Array:  # noqa: ARG002
        """Return the next ``n`` values."""
        call = self.calls
        if call == self.first:
            self.began = time.process_time()
        elif call == self.last:
            self._end()
        self.calls = call + self.n
        return self.values[call : call + self.n]

    def _end(self) -> None:
        self.seconds = time.process_time() - self.began
        raise Ended


def cost_of_a_call() -> float:
    """Return the seconds that a call of ``Clock.one`` takes."""
    best = math.inf
    for _ in range(9):
        clock, x = Clock(1, 20_000), np.zeros(2)
        try:
            while True:
                clock.one(x)
        except Ended:
            best = min(best, clock.seconds / 20_000)
    return best


def popsize(method: str, d: int) -> int:
    """Return the population size that ``method`` is measured with."""
    if d >= 10_000:
        return 20
    if "r1nes" in method.lower():
        return R1NES().default_popsize(d)
    return 2 * round((4 + 3 * math.log(d)) / 2)


def methods() -> dict[str, contenders.Run]:
    """Return all methods by name, ours with NumPy alone and with numba."""
    named: dict[str, contenders.Run] = {}
    for method, settings in contenders.OURS.items():
        named[method] = partial(contenders.ours, **settings, compiled=False)
        named[f"{method} + numba"] = partial(contenders.ours, **settings, compiled=True)
    return named | contenders.PEERS


def measure(cells: list[tuple[str, int]], repeats: Callable[[int], int]) -> tuple[Seconds, dict[str, str]]:
    """Return the best of several repeats, with methods alternating, and the reason for each failure."""
    runs, call = methods(), cost_of_a_call()
    best: Seconds = {}
    failed: dict[str, str] = {}
    for d in sorted({d for _, d in cells}):
        names = [name for name, other in cells if other == d]
        generations, took = dict.fromkeys(names, 1), dict.fromkeys(names, 0.0)
        for repeat in range(repeats(d) + 1):
            best[UNIT, d] = min(best.get((UNIT, d), math.inf), _noise(d, 20))
            for name in names:
                if f"{name} {d}" in failed or (repeat > 2 and took[name] > SLOW):
                    continue
                n, began = popsize(name, d), time.perf_counter()
                clock = Clock(n, generations[name])
                try:
                    contenders.quiet(runs[name], clock, d, n)
                except Ended:
                    pass
                except Exception as error:  # a peer's failure is its result
                    failed[f"{name} {d}"] = f"{type(error).__name__}: {error}"[:100]
                    continue
                took[name] = time.perf_counter() - began
                own = clock.seconds / (n * generations[name])
                own -= 0.0 if name.startswith(tuple(contenders.OURS)) else call
                if repeat == 0:  # only determines how many generations fit into a slice
                    generations[name] = min(8000, max(1, int(SLICE / (n * own))))
                    continue
                best[name, d] = min(best.get((name, d), math.inf), own)
            print(f"d = {d}, {repeat} of {repeats(d)}", end="\r", file=sys.stderr, flush=True)
    return best, failed


def _noise(d: int, n: int) -> float:
    """Return the seconds per ``d`` normal numbers when filling an existing array of ``n`` times as many."""
    generator = np.random.Generator(np.random.SFC64(1))
    out = np.empty((n, d))
    generator.standard_normal(out=out)
    rounds = max(1, int(SLICE / (2e-8 * n * d)))
    began = time.process_time()
    for _ in range(rounds):
        generator.standard_normal(out=out)
    return (time.process_time() - began) / (rounds * n)


def added_by_minimize(repeats: int = 7) -> dict[str, float]:
    """Return the seconds per evaluation that ``minimize`` adds to a loop of ask and tell, in 8 variables."""
    n, generations = R1NES().default_popsize(8), 300
    values = np.random.default_rng(1).random((generations + 1, n))
    ways = {"vectorized=True": True, "one by one": False}
    by_hand, by_minimize = dict.fromkeys(ways, math.inf), dict.fromkeys(ways, math.inf)
    for _ in range(repeats):
        for way, at_once in ways.items():
            for run, best in ((_by_hand, by_hand), (_by_minimize, by_minimize)):
                fun = _answering(values if at_once else values.ravel().tolist())
                began = time.process_time()
                run(fun, at_once, n * generations)
                best[way] = min(best[way], (time.process_time() - began) / (n * generations))
    return {way: by_minimize[way] - by_hand[way] for way in ways}


def _answering(answers: Iterable[Any]) -> Callable[[Array], Any]:
    left = iter(answers)
    return lambda _: next(left)


def _by_hand(fun: Callable[[Array], Any], at_once: bool, max_evals: int) -> None:
    optimizer = r1nes.Optimizer(np.zeros(8), 1.0, method="r1nes", max_evals=max_evals, rng=1)
    while not optimizer.stop():
        X = optimizer.ask()
        optimizer.tell(X, fun(X) if at_once else [fun(x) for x in X])


def _by_minimize(fun: Callable[[Array], Any], at_once: bool, max_evals: int) -> None:
    r1nes.minimize(fun, np.zeros(8), method="r1nes", max_evals=max_evals, vectorized=at_once, rng=1)


def save(
    out: Path, seconds: Seconds, failed: dict[str, str], exponents: dict[str, float], **more: Any
) -> None:
    """Write ``overhead.json`` and the figure."""
    document = {
        "microseconds": [
            {"method": name, "dim": d, "popsize": popsize(name, d), "microseconds": round(1e6 * own, 4)}
            for (name, d), own in seconds.items()
        ],
        "failed": failed,
        "exponents": {name: round(slope, 3) for name, slope in exponents.items()},
        **more,
        "versions": {
            name: version(name) for name in ("numpy", "scipy", "numba", "cma", "cmaes", "crfmnes", "pypop7")
        },
        "python": platform.python_version(),
    }
    out.mkdir(parents=True, exist_ok=True)
    (out / "overhead.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    draw(seconds, out / "overhead")


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dims", type=int, nargs="+", default=DIMS)
    parser.add_argument("--methods", nargs="+", help="only these")
    parser.add_argument("--repeats", type=int, default=9, help="up to d = 512; two thirds of it beyond")
    parser.add_argument("--no-memory", action="store_true", help="do not measure peak memory")
    parser.add_argument("--out", type=Path, default=Path("overhead"), help="folder to write to")
    return parser.parse_args()


def main() -> None:
    """Measure, print and save."""
    options = arguments()
    names = options.methods or list(methods())
    quadratic = {name for name in names if name.removesuffix(" + numba") in contenders.QUADRATIC}
    cells = [(name, d) for name in names for d in options.dims if name not in quadratic or d <= 512]
    if options.dims == DIMS:
        cells += [(name, d) for name in quadratic for d in QUADRATIC_DIMS if d not in DIMS]
    seconds, failed = measure(cells, lambda d: options.repeats if d <= 512 else 1 + 2 * options.repeats // 3)
    print(table(seconds, failed, names, options.dims))
    if quadratic and options.dims == DIMS:
        print("\n" + table(seconds, failed, sorted(quadratic), QUADRATIC_DIMS))
    exponents = growth(seconds, names, quadratic)
    print("\nexponent from 10,000 to 1,000,000 variables (methods with a matrix: from 512 to 2048)")
    for name, slope in exponents.items():
        print(f"  {name:24}{slope:6.2f}")
    added = added_by_minimize()
    for way, own in added.items():
        print(f"minimize, {way}, adds {1e6 * own:.2f} µs per evaluation in 8 variables")
    peaks = {} if options.no_memory else memory.peaks()
    for name, (numbers, mebibytes) in peaks.items():
        print(f"peak memory of {name:40}{numbers:6.2f}   ({mebibytes:,.0f} MiB)")
    save(
        options.out,
        seconds,
        failed,
        exponents,
        minimize_adds={way: round(1e6 * own, 4) for way, own in added.items()},
        peaks={name: round(numbers, 3) for name, (numbers, _) in peaks.items()},
    )


if __name__ == "__main__":
    main()
