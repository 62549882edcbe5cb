"""Count the calls from one r1nes module into another during one generation of ``minimize``.

    python benchmarks/borders.py [--method rknes r1nes snes xnes] [--most 20]

Runs each method on the sphere in 20 variables, one point at a time. ``sys.setprofile`` counts each call whose
caller and callee are in different modules of the package, from the end of generation 30 to the end of
generation 31. The fewer such calls, the fewer modules a reader has to follow to understand a generation.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from types import FrameType
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

import r1nes
from r1nes.arrays import Array

DIM, WARM_UP = 20, 30  # variables, generations before the one that is profiled

Crossings = Counter[tuple[str, str, str]]  # (caller's module, callee's module, function) → calls


def sphere(x: Array) -> float:
    """Return Σ x²."""
    return float(x @ x)


def crossings(method: str | None) -> Crossings:
    """Return the calls between modules in one generation in steady state; None is the default method."""
    counted: Crossings = Counter()

    def profile(frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or frame.f_back is None:
            return
        callee = str(frame.f_globals.get("__name__", ""))
        caller = str(frame.f_back.f_globals.get("__name__", ""))
        if caller != callee and caller.startswith("r1nes") and callee.startswith("r1nes"):
            counted[caller, callee, frame.f_code.co_name] += 1

    def callback(intermediate_result: OptimizeResult) -> None:
        if intermediate_result.nit == WARM_UP:
            sys.setprofile(profile)
        elif intermediate_result.nit > WARM_UP:
            sys.setprofile(None)
            raise StopIteration

    r1nes.minimize(sphere, np.ones(DIM), method=method, callback=callback, rng=1)
    return counted


def main() -> None:
    """Print, for each method, the total, the number of modules and the most frequent calls."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--method", nargs="+", metavar="NAME", help="default: the default, r1nes, snes, xnes")
    parser.add_argument("--most", type=int, default=20, metavar="N", help="rows per table (default: 20)")
    options = parser.parse_args()
    for method in options.method or [None, "r1nes", "snes", "xnes"]:
        counted = crossings(method)
        modules = {module for caller, callee, _ in counted for module in (caller, callee)}
        print(f"{method or 'default method'}: {counted.total()} calls between {len(modules)} modules")
        for (caller, callee, function), calls in counted.most_common(options.most):
            print(f"{calls:6}  {caller} -> {callee}.{function}")


if __name__ == "__main__":
    main()
