"""Targets: the evaluations a method may need per function and dimension, and whether records meet them."""

from __future__ import annotations

from collections.abc import Iterable

from r1nes.bench.analysis.comparison import aligned
from r1nes.bench.analysis.statistics import grouped, summary
from r1nes.bench.runner.grid import default_budget
from r1nes.bench.runner.measure import Cell
from r1nes.bench.runner.records import Record

# Median evaluations to 1e-8: mostly those of the best linear-time package, otherwise of our own prototype.
TARGETS: dict[str, dict[str, dict[int, int]]] = {
    "rknes": {
        "f1": {32: 2_600, 128: 10_000, 512: 36_000},
        "cigar": {32: 7_000, 128: 26_000, 512: 95_000},
        "tablet": {32: 8_500, 128: 32_000, 512: 130_000},
        "f11": {32: 9_000, 128: 32_000, 512: 130_000},
        "f12": {32: 18_000, 128: 58_000, 512: 270_000},
        "f2": {32: 6_500, 128: 27_000, 512: 170_000},
        "f8": {32: 23_500, 128: 190_000, 512: 1_500_000},
        "f9": {32: 32_000, 128: 190_000, 512: 1_500_000},
    }
}
TRIALS = {32: 11, 128: 11, 512: 3}
RESTARTS = 9  # included in the evaluations; Rosenbrock's function has a second minimum
AT_LIMIT = 0.05  # highest allowed share of a run's generations with some direction at its limit


def cells(method: str) -> list[Cell]:
    """Return all runs needed to check the targets of ``method``."""
    if method not in TARGETS:
        raise ValueError(f"--targets must be one of {', '.join(TARGETS)}; got {method!r}")
    return [
        Cell(method, function, dim, trial, default_budget(dim), RESTARTS)
        for function, targets in TARGETS[method].items()
        for dim in targets
        for trial in range(1, TRIALS[dim] + 1)
    ]


def missed(records: Iterable[Record]) -> list[str]:
    """Return a line for each target that the records miss; empty if all are met."""
    shortfalls = []
    for (method, function, dim), group in grouped(records).items():
        summed, target = summary(group), TARGETS[method][function][dim]
        where = f"{method} on {function}, d = {dim}"
        if summed.solved < TRIALS[dim]:
            shortfalls.append(f"{where}: {summed.solved} of {TRIALS[dim]} solved")
        if summed.median > target:
            shortfalls.append(f"{where}: median {summed.median:,.0f}, target {target:,}")
        if (share := max(record["at_limit"] for record in group)) > AT_LIMIT:
            shortfalls.append(f"{where}: some direction at its limit in {share:.0%} of a run")
    return shortfalls


def table(records: Iterable[Record]) -> str:
    """Return a table with a row per function and dimension."""
    rows = [["function", "d", "target", "median", "slowest", "solved", "restarts"]]
    for (method, function, dim), group in grouped(records).items():
        rows.append(
            [
                function,
                str(dim),
                f"{TARGETS[method][function][dim]:,}",
                f"{summary(group).median:,.0f}",
                f"{max(record['evaluations'] for record in group):,}",
                f"{summary(group).solved}/{len(group)}",
                str(sum(record["restarted"] for record in group)),
            ]
        )
    return "\n".join(aligned(rows))
