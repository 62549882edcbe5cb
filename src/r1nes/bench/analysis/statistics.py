"""What the runs of a cell amount to: two medians, two ways to deal with runs that failed."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from r1nes.bench.runner.records import Record

OUT_OF_RESOURCES = {"max_evals", "max_seconds"}  # the run was cut off: it did not end by itself
PREMATURE = 0.9  # the share of such runs from which on the paper leaves a cell out


@dataclass(frozen=True)
class Summary:
    """The trials of one method on one function in one dimension."""

    runs: int
    solved: int
    premature: int  # ended by themselves, short of the target
    median: float  # evaluations to the target, infinite for a run that did not reach it
    median_solved: float  # the paper's: over the solved runs alone; NaN where the paper leaves the cell out
    precision: float  # the median of what was reached
    own_microseconds: float  # per evaluation, without the objective: the median


def summarize(records: Iterable[Record]) -> dict[tuple[str, str, int], Summary]:
    """A summary for each (method, function, dim) that has records, in the order of the first ones."""
    groups: defaultdict[tuple[str, str, int], list[Record]] = defaultdict(list)
    for record in records:
        groups[record["method"], record["function"], record["dim"]].append(record)
    return {key: summary(group) for key, group in groups.items()}


def summary(records: list[Record]) -> Summary:
    """The records of one group, at least one, in a few numbers.

    Examples:
        >>> run = {"evaluations": 1000, "precision": 9e-9, "solved": True, "stop": {"ftarget": 9e-9}}
        >>> run |= {"seconds": 0.03, "objective_seconds": 0.01}
        >>> failed = run | {"solved": False, "precision": 0.5, "stop": {"max_evals": 1000}}
        >>> summary([run, failed, failed]).median, summary([run, failed, failed]).median_solved
        (inf, 1000)
    """
    solved = [record["evaluations"] for record in records if record["solved"]]
    premature = sum(converged_prematurely(record) for record in records)
    left_out = not solved or premature >= PREMATURE * len(records)
    return Summary(
        runs=len(records),
        solved=len(solved),
        premature=premature,
        median=median(solved + [math.inf] * (len(records) - len(solved))),
        median_solved=math.nan if left_out else median(solved),
        precision=median(record["precision"] for record in records),
        own_microseconds=median(own_microseconds(record) for record in records),
    )


def converged_prematurely(record: Record) -> bool:
    """Whether a run ended by itself before it reached the target."""
    return not record["solved"] and OUT_OF_RESOURCES.isdisjoint(record["stop"])


def own_microseconds(record: Record) -> float:
    """The method's own time per evaluation."""
    return 1e6 * (record["seconds"] - record["objective_seconds"]) / record["evaluations"]
