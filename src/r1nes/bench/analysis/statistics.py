"""Summary statistics of repeated runs, with two ways to treat runs that failed."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from r1nes.bench.runner.records import Record

OUT_OF_RESOURCES = {"max_evals", "max_seconds"}  # the run was cut off rather than converged
PREMATURE = 0.9  # from this share of premature runs on, the paper omits the result


@dataclass(frozen=True)
class Summary:
    """Summary of all trials of one method on one function in one dimension."""

    runs: int
    solved: int
    premature: int  # converged short of the target
    median: float  # evaluations to the target; a run that missed it counts as infinite
    median_solved: float  # the paper's, over solved runs only; NaN where the paper omits the result
    precision: float  # median precision reached
    own_microseconds: float  # median time per evaluation, without the objective
    quartiles: tuple[float, float] = (math.nan, math.nan)  # of the evaluations of solved runs


def summarize(records: Iterable[Record]) -> dict[tuple[str, str, int], Summary]:
    """Return a summary for each (method, function, dim), in order of first appearance."""
    return {key: summary(group) for key, group in grouped(records).items()}


def grouped(records: Iterable[Record]) -> dict[tuple[str, str, int], list[Record]]:
    """Return the records of each (method, function, dim), in order of first appearance."""
    groups: defaultdict[tuple[str, str, int], list[Record]] = defaultdict(list)
    for record in records:
        groups[record["method"], record["function"], record["dim"]].append(record)
    return groups


def summary(records: list[Record]) -> Summary:
    """Summarise one or more records of the same method, function and dimension.

    Examples:
        >>> run = {"evaluations": 1000, "precision": 9e-9, "solved": True, "stop": {"ftarget": 9e-9}}
        >>> run |= {"seconds": 0.03, "objective_seconds": 0.01}
        >>> failed = run | {"solved": False, "precision": 0.5, "stop": {"max_evals": 1000}}
        >>> summary([run, failed, failed]).median, summary([run, failed, failed]).median_solved
        (inf, 1000)
    """
    solved = [record["evaluations"] for record in records if record["solved"]]
    premature = sum(converged_prematurely(record) for record in records)
    omitted = not solved or premature >= PREMATURE * len(records)
    return Summary(
        runs=len(records),
        solved=len(solved),
        premature=premature,
        median=median(solved + [math.inf] * (len(records) - len(solved))),
        median_solved=math.nan if omitted else median(solved),
        precision=median(record["precision"] for record in records),
        own_microseconds=median(own_microseconds(record) for record in records),
        quartiles=_quartiles(solved),
    )


def _quartiles(values: list[float]) -> tuple[float, float]:
    """Return the lower and the upper quartile; NaN without values.

    Examples:
        >>> _quartiles([10, 40, 20, 50, 30])
        (20.0, 40.0)
    """
    if not values:
        return math.nan, math.nan
    lower, upper = np.percentile(values, [25, 75])
    return float(lower), float(upper)


def converged_prematurely(record: Record) -> bool:
    """Return whether the run converged before it reached the target."""
    return not record["solved"] and OUT_OF_RESOURCES.isdisjoint(record["stop"])


def own_microseconds(record: Record) -> float:
    """Return the method's own time per evaluation, without the objective."""
    return 1e6 * (record["seconds"] - record["objective_seconds"]) / record["evaluations"]


def growth_exponent(dims: Sequence[float], costs: Sequence[float]) -> float:
    """Return the slope of log cost over log d, fitted by least squares.

    Examples:
        >>> round(growth_exponent([10, 100, 1000], [3, 300, 30_000]), 6)
        2.0
    """
    return float(np.polyfit(np.log(dims), np.log(costs), 1)[0])
