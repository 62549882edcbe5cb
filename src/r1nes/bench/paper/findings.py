"""The measurements that the paper's claims are checked against, and the cases in which they were made."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import NamedTuple

import numpy as np

from r1nes.bench.analysis.statistics import Summary
from r1nes.bench.paper.cigar import Run
from r1nes.bench.paper.timing import Timing

SUITED = ["f1", "f5", "f6", "f8", "f9", "f12", "f13", "f14"]
UNSUITED = ["f2", "f7", "f10", "f11"]
SEPARABLE = {"f1", "f2", "f5", "f6"}  # the functions that SNES can solve according to the paper
AUTHORS = ["f6", "f8", "f9", "f13", "f14"]  # run in the authors' form as well: a claim may depend on it
FORM = "-pybrain"  # ends the name of a function in the authors' form

NAMES = {
    "r1nes": "R1-NES, PyBrain's settings",
    "r1nes-heuristic": "R1-NES, xNES's settings",
    "snes": "SNES",
    "xnes": "xNES",
    "rknes": "RkNES, the default today",
    "rknes-full": "RkNES, full base",
    "rknes-10d": "RkNES, 10 d points",
}

Where = tuple[str, int]  # function and dimension


class Case(NamedTuple):
    """A method, and the form of the functions that it ran on."""

    method: str
    by_authors: bool = False  # whether f6, f8, f9, f13 and f14 have the authors' form

    def form(self, function: str) -> str:
        """Return the function's name in this form."""
        return function + FORM if self.by_authors and function in AUTHORS else function

    @property
    def settings(self) -> str:
        """Whose settings these are."""
        return NAMES[self.method].split(", ")[-1]

    @property
    def functions(self) -> str:
        """Whose functions these are."""
        return "the authors' functions" if self.by_authors else "COCO's functions"

    def __str__(self) -> str:
        """Return both."""
        return f"{self.settings}, {self.functions}"


OURS, PROBABLE = Case("r1nes"), Case("r1nes-heuristic", by_authors=True)
CASES = [OURS, Case("r1nes", by_authors=True), Case("r1nes-heuristic"), PROBABLE]
DEFAULT = Case("rknes")


@dataclass(frozen=True)
class Findings:
    """All measurements; those not made are empty."""

    summaries: dict[tuple[str, str, int], Summary] = field(default_factory=dict)
    timings: list[Timing] = field(default_factory=list)
    cigar: list[Run] = field(default_factory=list)

    def evaluations(self, method: str, function: str, dim: int) -> float:
        """Return the paper's median over the solved runs, infinite where the paper omits the result."""
        number = self.summaries[method, function, dim].median_solved
        return math.inf if math.isnan(number) else number

    def solves(self, method: str, function: str, dim: int) -> bool:
        """Return whether more than half of the runs reached the target."""
        summary = self.summaries[method, function, dim]
        return 2 * summary.solved > summary.runs

    def measured(self, case: Case, functions: Iterable[str], *rivals: str) -> Iterator[Where]:
        """Yield each function, as COCO names it, and dimension that the case and all rivals were run on.

        A case in the authors' form is not measured if none of its functions in this form was run.
        """
        functions = list(functions)
        formed = {case.form(function): function for function in functions}
        run = [(formed[f], d) for m, f, d in self.summaries if m == case.method and f in formed]
        if case.by_authors and not any(f in AUTHORS for f, _ in run):
            return
        for function, dim in sorted(run, key=lambda where: (functions.index(where[0]), where[1])):
            if all((rival, case.form(function), dim) in self.summaries for rival in rivals):
                yield function, dim

    def ratio(self, case: Case, rival: str, function: str, dim: int) -> float:
        """Return the median evaluations of the case over the rival's; 1 if neither solves the function."""
        ours, theirs = (self.evaluations(m, case.form(function), dim) for m in (case.method, rival))
        return 1.0 if math.isinf(ours) and math.isinf(theirs) else ours / theirs

    def spread(self, case: Case, rival: str, function: str, dim: int) -> float:
        """Return the standard error of the logarithm of ``ratio``; 0 where there are fewer than 5 runs."""
        errors = [standard_error(self.summaries[m, case.form(function), dim]) for m in (case.method, rival)]
        return math.hypot(*errors)

    def standard_errors(self) -> list[float]:
        """Return the standard errors of the medians, as far as they are known."""
        return [error for error in map(standard_error, self.summaries.values()) if error]


def standard_error(summary: Summary) -> float:
    """Return the standard error of a median over 5 or more solved runs, relative to the median; otherwise 0.

    For a normal distribution it is 1.25/√n standard deviations, and the quartiles are 1.35 apart.
    """
    if summary.solved < 5 or math.isnan(summary.median_solved):
        return 0.0
    apart = summary.quartiles[1] - summary.quartiles[0]
    return 1.25 / 1.35 * apart / math.sqrt(summary.solved) / summary.median_solved


def typical(values: Iterable[float]) -> float:
    """Return the median; NaN without values."""
    values = list(values)
    return median(values) if values else math.nan


def most(values: Iterable[float], share: float) -> float:
    """Return the smallest of the values that this share does not exceed.

    >>> most([1, 2, 3, 4, 50], 0.8)
    4.0
    """
    return float(np.quantile(list(values), share, method="inverted_cdf"))


def by_function(cases: Iterable[Where]) -> str:
    """List each function once, with its dimensions.

    >>> by_function([("f1", 2), ("f8", 4), ("f1", 8), ("f8", 8), ("f8", 16)])
    'f1 (d = 2, 8), f8 (d = 4 … 16)'
    """
    dims: dict[str, list[int]] = {}
    for function, dim in cases:
        dims.setdefault(function, []).append(dim)
    return ", ".join(f"{function} (d = {_in_words(where)})" for function, where in dims.items())


def by_dims(cells: Iterable[Where]) -> str:
    """List the functions that have the same dimensions together.

    >>> by_dims([("f1", 2), ("f8", 2), ("f1", 4), ("f9", 4), ("f8", 4)])
    'f1, f8 (d = 2, 4), f9 (d = 4)'
    """
    dims: dict[str, list[int]] = {}
    for function, dim in cells:
        dims.setdefault(function, []).append(dim)
    groups: dict[str, list[str]] = {}
    for function, where in dims.items():
        groups.setdefault(_in_words(where), []).append(function)
    return ", ".join(f"{listed(functions)} (d = {where})" for where, functions in groups.items())


def _in_words(dims: list[int]) -> str:
    """List dimensions; three or more successive powers of 2 by their first and last."""
    if len(dims) > 2 and all(b == 2 * a for a, b in pairwise(dims)):
        return f"{dims[0]} … {dims[-1]}"
    return ", ".join(map(str, dims))


def listed(functions: Iterable[str]) -> str:
    """List functions in the order of their numbers.

    >>> listed({"f10", "f2"})
    'f2, f10'
    """
    return ", ".join(sorted(functions, key=lambda name: int(name[1:]))) or "none"
