"""Print COCO's expected running times beside its archived best algorithms, as Markdown.

    r1nes coco --suite bbob --dims 5,10,20,40 --instances 5 --out exdata/RkNES
    r1nes coco --suite bbob --dims 5,10,20,40 --instances 5 --method pycma --out exdata/pycma
    python benchmarks/coco_report.py best2009-bbob exdata/RkNES exdata/pycma

The first argument is a reference that cocopp contains: best2009-bbob or best2019-bbob-largescale. Folders may
be archives (.tgz). A cell holds the expected evaluations to 1e-8 and the ratio to the reference; a dash means
that no run got there. Functions that none of the folders solves are left out. A name counts up to its first
hyphen, so that RkNES-80 and RkNES-160 may hold a dimension each.
"""

from __future__ import annotations

import contextlib
import io
import math
import sys
import warnings
from pathlib import Path
from typing import Any

from r1nes.bench.functions.bbob import FUNCTIONS

TARGET = 1e-8

Times = dict[tuple[int, int], float]  # (dim, function) → expected evaluations


def running_times(data: Any) -> Times:
    """Return the expected running times of a list of COCO's data sets."""
    return {(entry.dim, entry.funcId): float(entry.detERT([TARGET])[0]) for entry in data}


def read(reference: str, folders: list[str]) -> tuple[Times, list[Times]]:
    """Return the running times of the reference and of each folder."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cocopp expects 15 instances
        import cocopp
        from cocopp import bestalg

        ours = [running_times(cocopp.load(folder)) for folder in folders]
        best = bestalg.load_reference_algorithm(f"refalgs/{reference}.tar.gz")
        return running_times(best.values()), ours


def cell(evaluations: float, best: float) -> str:
    """Return the evaluations, and their ratio to the reference."""
    if not math.isfinite(evaluations):
        return "–"
    if not math.isfinite(best):
        return f"{evaluations:,.0f} (not solved there)"
    return f"{evaluations:,.0f} ({evaluations / best:.2g})"


def main(reference: str, folders: list[str]) -> None:
    """Print the table."""
    best, found = read(reference, folders)
    dims = sorted({dim for times in found for dim, _ in times})
    columns = [(dim, i) for dim in dims for i, times in enumerate(found) if any(d == dim for d, _ in times)]
    heads = [f"{Path(folders[i]).name.split('.')[0].split('-')[0]}, d = {dim}" for dim, i in columns]
    print(f"| function | {' | '.join(heads)} |")
    print("|---|" + "---|" * len(columns))
    for function in sorted({function for times in found for _, function in times}):
        row = [(found[i].get((dim, function), math.inf), best[dim, function]) for dim, i in columns]
        if any(math.isfinite(evaluations) for evaluations, _ in row):
            known = FUNCTIONS.get(f"f{function}")
            name = f"f{function} {known.name}" if known else f"f{function}"
            print(f"| {name} | {' | '.join(cell(*pair) for pair in row)} |")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
