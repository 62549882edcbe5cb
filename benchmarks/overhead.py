"""What an optimizer itself costs: time per evaluation without the objective, and memory, beside the peers.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/overhead.py [--dims 8 64 512] [--out overhead]

Every method gets the same population: 20 from 10,000 variables on, else the even number next to 4 + 3 ln d;
only R1-NES, ours and pypop7's, has its own default there. The objective returns random numbers, which cost
nothing and favour no method; what the call itself costs is measured and subtracted. All methods are measured
in turns, and the best of several repeats counts, in time of this process. The unit beside it is the time that
NumPy's ``Generator(SFC64).standard_normal`` takes to fill an array with as many numbers.

Our own methods are measured twice: with NumPy alone, and compiled by numba.

Writes a table to the terminal and ``overhead.json``, ``.svg``, ``.png``, ``.pdf``. All sizes take about
ten minutes, nearly all of it in others' code.
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
import r1nes.arrays.compiled
from r1nes.arrays import Array
from r1nes.display.style import BLACK, BLUE, GREEN, GREY, ORANGE, RED, figure
from r1nes.strategies.rank_one import R1NES

DIMS = [2, 8, 64, 512, 10_000, 100_000, 1_000_000]
QUADRATIC_DIMS = [64, 128, 256, 512, 1024, 2048]
SLICE = 0.1  # seconds of one repeat; at least one generation
SLOW = 2.0  # seconds of a repeat, from which on two are enough: none of these is the cheapest
UNIT = "NumPy's noise"

Seconds = dict[tuple[str, int], float]  # per evaluation, by method and dimension


class Ended(Exception):  # noqa: N818 - the ordinary end of a measurement
    """Raised through a method that would go on for ever."""


class Clock:
    """Random values, and the time from the third generation to some later one."""

    def __init__(self, n: int, generations: int) -> None:
        """Two generations are for warming up."""
        self.n, self.first, self.last = n, 2 * n, (2 + generations) * n
        self.values = np.random.default_rng(1).random(self.last + n)
        self.listed: list[float] = self.values.tolist()
        self.calls = 0
        self.began = self.seconds = math.nan

    def one(self, x: Array) -> float:  # noqa: ARG002
        """The next value."""
        call = self.calls
        if call == self.first:
            self.began = time.process_time()
        elif call == self.last:
            self._end()
        self.calls = call + 1
        return self.listed[call]

    def all(self, X: Array) -> Array:  # noqa: ARG002
        """The next values."""
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
    """Seconds that ``Clock.one`` takes itself."""
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
    """The population that ``method`` is measured with."""
    if d >= 10_000:
        return 20
    if "r1nes" in method.lower():
        return R1NES.default_popsize(d)
    return 2 * round((4 + 3 * math.log(d)) / 2)


def methods() -> dict[str, contenders.Run]:
    """All of them, ours with NumPy alone and with numba."""
    named: dict[str, contenders.Run] = {}
    for method, run in contenders.OURS.items():
        named[method] = partial(_patiently, run, math.inf)
        named[f"{method} + numba"] = partial(_patiently, run, 0.0)
    return named | contenders.PEERS


def _patiently(run: contenders.Run, patience: float, f: contenders.Objective, d: int, n: int) -> None:
    r1nes.arrays.compiled.PATIENCE = patience
    run(f, d, n)


def measure(cells: list[tuple[str, int]], repeats: Callable[[int], int]) -> tuple[Seconds, dict[str, str]]:
    """The best of several repeats, taken in turns; and what failed, with the reason."""
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
                except Exception as error:  # whatever a peer dies of is its result
                    failed[f"{name} {d}"] = f"{type(error).__name__}: {error}"[:100]
                    continue
                took[name] = time.perf_counter() - began
                own = clock.seconds / (n * generations[name])
                own -= 0.0 if name.startswith(tuple(contenders.OURS)) else call
                if repeat == 0:  # to find out how many generations fit into a slice
                    generations[name] = min(8000, max(1, int(SLICE / (n * own))))
                    continue
                best[name, d] = min(best.get((name, d), math.inf), own)
            print(f"d = {d}, {repeat} of {repeats(d)}", end="\r", file=sys.stderr, flush=True)
    return best, failed


def _noise(d: int, n: int) -> float:
    """Seconds for ``d`` normal numbers, of ``n`` times as many in an array that is there already."""
    generator = np.random.Generator(np.random.SFC64(1))
    out = np.empty((n, d))
    generator.standard_normal(out=out)
    rounds = max(1, int(SLICE / (2e-8 * n * d)))
    began = time.process_time()
    for _ in range(rounds):
        generator.standard_normal(out=out)
    return (time.process_time() - began) / (rounds * n)


def added_by_minimize(repeats: int = 7) -> dict[str, float]:
    """Seconds per evaluation that ``minimize`` adds to the same loop of ask and tell, in 8 variables."""
    n, generations = R1NES.default_popsize(8), 300
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


def exponent(seconds: Seconds, method: str, least: int, most: int) -> float:
    """The slope of log time over log d."""
    points = [(d, s) for (name, d), s in seconds.items() if name == method and least <= d <= most]
    if len(points) < 2:
        return math.nan
    dims, costs = np.log(np.array(points, dtype=float)).T
    return float(np.polyfit(dims, costs, 1)[0])


def table(seconds: Seconds, failed: dict[str, str], names: Iterable[str], dims: list[int]) -> str:
    """Microseconds per evaluation, in brackets the ratio to the unit."""
    lines = [f"{'µs per evaluation (of the noise)':24}" + "".join(f"{f'd={d:,}':>20}" for d in dims)]
    for name in [UNIT, *names]:
        row = f"{name:24}"
        for d in dims:
            own = seconds.get((name, d))
            if own is None:
                row += f"{'fails' if f'{name} {d}' in failed else '–':>20}"
            else:
                row += f"{f'{1e6 * own:,.2f} ({own / seconds[UNIT, d]:.2f})':>20}"
        lines.append(row)
    lines += [f"  {cell}: {reason}" for cell, reason in failed.items()]
    return "\n".join(lines)


def draw(seconds: Seconds, path: Path) -> None:
    """Microseconds over d, log-log."""
    looks = {
        "r1nes + numba": (BLUE, "-", "o"),
        "rknes + numba": (GREEN, "-", "s"),
        "snes + numba": (ORANGE, "-", "D"),
        "xnes + numba": (RED, "-", "^"),
        "r1nes": (BLUE, ":", ""),
        "rknes": (GREEN, ":", ""),
        "snes": (ORANGE, ":", ""),
        UNIT: (BLACK, "--", ""),
    }
    ends: list[tuple[float, int, str]] = []
    with figure(path, 1, width=7.2, height=5.0) as (panel,):
        for name in dict.fromkeys(name for name, _ in seconds):
            dims, costs = zip(
                *sorted((d, 1e6 * s) for (other, d), s in seconds.items() if other == name), strict=True
            )
            color, style, marker = looks.get(name, (GREY, "-", ""))
            label = name if name in looks else None
            panel.plot(
                dims, costs, color=color, ls=style, marker=marker, ms=4, label=label, lw=1.6 if label else 0.7
            )
            if label is None:
                ends.append((costs[-1], dims[-1], name))
        lowest: dict[int, float] = {}
        for cost, d, name in sorted(ends):  # labels one above the other, where lines end together
            lowest[d] = max(cost, 1.5 * lowest.get(d, 0.0))
            panel.annotate(name, (1.15 * d, lowest[d]), fontsize=6, color=BLACK, va="center")
        panel.set(xscale="log", yscale="log", xlabel="variables d", ylabel="own µs per evaluation")
        panel.set_xlim(1.6, 2e7)
        panel.legend(loc="upper left")


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dims", type=int, nargs="+", default=DIMS)
    parser.add_argument("--methods", nargs="+", help="only these")
    parser.add_argument("--repeats", type=int, default=9, help="of sizes up to 512; two thirds beyond")
    parser.add_argument("--no-memory", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("overhead"))
    options = parser.parse_args()
    names = options.methods or list(methods())
    quadratic = {name for name in names if name.removesuffix(" + numba") in contenders.QUADRATIC}
    cells = [(name, d) for name in names for d in options.dims if name not in quadratic or d <= 512]
    if options.dims == DIMS:
        cells += [(name, d) for name in quadratic for d in QUADRATIC_DIMS if d not in DIMS]
    seconds, failed = measure(cells, lambda d: options.repeats if d <= 512 else 1 + 2 * options.repeats // 3)
    print(table(seconds, failed, names, options.dims))
    if quadratic:
        print(
            "\n" + table(seconds, failed, sorted(quadratic), QUADRATIC_DIMS) if options.dims == DIMS else ""
        )
    exponents = {
        name: exponent(seconds, name, 512, 2048)
        if name in quadratic
        else exponent(seconds, name, 10_000, 1_000_000)
        for name in names
    }
    print("\nexponent from 10,000 to 1,000,000 variables (those with a matrix: from 512 to 2048)")
    for name, slope in exponents.items():
        if not math.isnan(slope):
            print(f"  {name:24}{slope:6.2f}")
    added = added_by_minimize()
    for way, own in added.items():
        print(f"minimize, {way}, adds {1e6 * own:.2f} µs per evaluation in 8 variables")
    peaks = {} if options.no_memory else memory.peaks()
    for name, (numbers, mebibytes) in peaks.items():
        print(f"peak memory of {name:40}{numbers:6.2f}   ({mebibytes:,.0f} MiB)")
    document = {
        "microseconds": [
            {"method": name, "dim": d, "popsize": popsize(name, d), "microseconds": round(1e6 * own, 4)}
            for (name, d), own in seconds.items()
        ],
        "failed": failed,
        "exponents": {name: round(slope, 3) for name, slope in exponents.items() if not math.isnan(slope)},
        "minimize_adds": {way: round(1e6 * own, 4) for way, own in added.items()},
        "peaks": {name: round(numbers, 3) for name, (numbers, _) in peaks.items()},
        "versions": {
            name: version(name) for name in ("numpy", "scipy", "numba", "cma", "cmaes", "crfmnes", "pypop7")
        },
        "python": platform.python_version(),
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "overhead.json").write_text(json.dumps(document, indent=1) + "\n")
    draw(seconds, options.out / "overhead")


if __name__ == "__main__":
    main()
