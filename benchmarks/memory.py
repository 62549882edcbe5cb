"""Measure the peak memory of ask and tell, each case in a separate process.

    python benchmarks/memory.py            all cases
    python benchmarks/memory.py CASE       one case, in this process

Prints the peak of NumPy's arrays as traced by ``tracemalloc`` and the growth of the resident set. Linux only.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np

from r1nes import Optimizer

# name → (method, variables, points, streaming, numbers per unit of the printed peak)
CASES = {
    f"{method}, d = 1e6, n = 20, in (n, d) arrays": (method, 1_000_000, 20, False, 20_000_000)
    for method in ("r1nes", "rknes", "snes")
} | {
    f"{method}, streaming, d = 1e6, n = 50, in vectors": (method, 1_000_000, 50, True, 1_000_000)
    for method in ("r1nes", "rknes", "snes")
}


def peak(method: str, d: int, n: int, streaming: bool) -> tuple[int, int]:
    """Return the peak bytes of arrays and of the resident set over the construction and three generations."""
    warm = Optimizer(np.zeros(8), 1.0, method=method, rng=1, compiled=True)  # loads numba
    warm.tell(warm.ask(), np.arange(warm.popsize))
    before = _resident("VmRSS")
    tracemalloc.start()
    optimizer = Optimizer(np.zeros(d), 1.0, method=method, popsize=n, rng=1, compiled=True)
    values = np.random.default_rng(1).random((3, n))
    X = None
    for row in values:
        optimizer.stop()
        if streaming:
            stream = optimizer.ask(streaming=True)
            optimizer.tell(stream, [value + 0 * x[0] for value, x in zip(row, stream, strict=True)])
        else:
            X = optimizer.ask(out=X)
            optimizer.tell(X, row)
    return tracemalloc.get_traced_memory()[1], _resident("VmHWM") - before


def _resident(which: str) -> int:
    """Return the resident bytes of this process: VmRSS is the current value, VmHWM the peak."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(which))


def peaks() -> dict[str, tuple[float, float]]:
    """Return, for each case, the peak of the arrays in its unit and that of the resident set in MiB."""
    found = {}
    for name, (*_, unit) in CASES.items():
        output = subprocess.run(
            [sys.executable, __file__, name],
            check=True,
            capture_output=True,
            text=True,
            encoding="utf-8",
        ).stdout
        arrays, resident = json.loads(output)
        found[name] = (arrays / (8 * unit), resident / 2**20)
    return found


if __name__ == "__main__":
    if len(sys.argv) > 1:
        method, d, n, streaming, _ = CASES[sys.argv[1]]
        print(json.dumps(peak(method, d, n, streaming)))
    else:
        for name, (numbers, mebibytes) in peaks().items():
            print(f"{name:50}{numbers:6.2f}   ({mebibytes:,.0f} MiB)")
