"""Sentences that state what the recorded runs show about a figure and the claims."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import geometric_mean
from typing import Any

import numpy as np

from r1nes.bench.paper.findings import (
    AUTHORS,
    CASES,
    DEFAULT,
    FORM,
    NAMES,
    SUITED,
    UNSUITED,
    Case,
    Findings,
    by_function,
    most,
    typical,
)
from r1nes.bench.runner.measure import OWN

SETTINGS = {"rknes-10d": "With ten points per variable", "rknes-full": "With a full base"}


def _suited(found: Findings) -> str:
    """Say which of the functions R1-NES does not solve after all."""
    sentences = []
    for case in (case for case in CASES if not case.by_authors):
        missed = [at for at in found.measured(case, SUITED) if not found.solves(case.method, *at)]
        if missed:
            sentences.append(f"With {case.settings}, R1-NES does not solve {by_function(missed)}.")
    return " ".join(sentences)


def _unsuited(found: Findings) -> str:
    """Say how many runs of the default of today solve each function."""
    complete, others = [], []
    for function in UNSUITED:
        runs = [found.summaries["rknes", f, d] for f, d in found.measured(DEFAULT, [function])]
        if runs and all(each.solved == each.runs for each in runs):
            complete.append(function)
        elif runs:
            dims = [dim for _, dim in found.measured(DEFAULT, [function])]
            counts = ", ".join(f"{s.solved} of {s.runs} at d = {d}" for s, d in zip(runs, dims, strict=True))
            others.append(f"On {function} it solves {counts}.")
    if not complete and not others:
        return "RkNES is not recorded."
    dims = sorted({dim for _, dim in found.measured(DEFAULT, UNSUITED)})
    every = f"d = {dims[0]} … {dims[-1]}"
    first = f"RkNES solves all recorded runs on {', '.join(complete)} ({every})." if complete else ""
    return " ".join([first, *others, *_with_settings(found)]).strip()


def _with_settings(found: Findings) -> list[str]:
    """Say what RkNES solves with settings other than its defaults."""
    sentences = []
    for method in SETTINGS:
        where = [at for at in found.measured(Case(method), UNSUITED) if found.solves(method, *at)]
        if where:
            sentences.append(f"{SETTINGS[method]}, it solves most runs on {by_function(where)}.")
    return sentences


def _authors(found: Findings) -> str:
    """Say what is solved in one form only."""
    return " ".join(form_matters(found)) or "No method solves a function in one form only."


LEADS: dict[str, Callable[[Findings], str]] = {
    "suited": _suited,
    "unsuited": _unsuited,
    "pybrain": _authors,
}


def form_matters(found: Findings) -> list[str]:
    """Return a sentence for each method that solves functions in one form only."""
    sentences = []
    for method, name in NAMES.items():
        both = [
            (f, d)
            for f, d in found.measured(Case(method), AUTHORS)
            if (method, f + FORM, d) in found.summaries
        ]
        for by_authors, only in ((True, "the authors' form"), (False, "COCO's form")):
            solved, other = Case(method, by_authors), Case(method, not by_authors)
            where = [
                (f, d)
                for f, d in both
                if found.solves(method, solved.form(f), d) and not found.solves(method, other.form(f), d)
            ]
            if where:
                sentences.append(f"{name} solves {by_function(where)} in {only} only.")
    return sentences


def settings_matter(found: Findings) -> list[str]:
    """Return what changes between the two sets of settings, on COCO's functions."""
    first, second = (case for case in CASES if not case.by_authors)
    both = [at for at in found.measured(first, SUITED + UNSUITED) if (second.method, *at) in found.summaries]
    sentences = []
    for one, other in ((first, second), (second, first)):
        where = [at for at in both if found.solves(one.method, *at) and not found.solves(other.method, *at)]
        if where:
            sentences.append(f"R1-NES solves {by_function(where)} with {one.settings} only.")
    ratios: dict[int, list[float]] = {}
    for function, dim in both:
        ratio = found.ratio(second, first.method, function, dim)
        if 0 < ratio < math.inf and math.isfinite(found.evaluations(first.method, function, dim)):
            ratios.setdefault(dim, []).append(ratio)
    if ratios:
        listed = ", ".join(f"{geometric_mean(ratios[dim]):.2g} at d = {dim}" for dim in sorted(ratios))
        sentences.append(
            f"Where both solve a function, {second.settings} take this many times the evaluations of "
            f"{first.settings}: {listed} (geometric means)."
        )
    return sentences


def rates_matter(found: Findings) -> list[str]:
    """Return why SNES is faster on the sphere: its population over its rate of the step size is smaller."""
    methods = ("snes", "r1nes", "r1nes-heuristic")
    dims = [d for m, f, d in found.summaries if (m, f) == (methods[0], "f1")]
    dims = [d for d in dims if all((m, "f1", d) in found.summaries for m in methods)]
    if not dims:
        return []
    d = max(dims)
    generations = [OWN[m].default_popsize(d) / _rate_of_sigma(m, d) for m in methods]
    evaluations = [found.evaluations(m, "f1", d) for m in methods]
    expected, measured = (
        [value / values[0] for value in values[1:]] for values in (generations, evaluations)
    )
    return [
        "On the sphere only the step size has to be learnt, and a method with a population n and a rate "
        "η of the step size needs evaluations roughly in proportion to n/η. "
        f"At d = {d}, n/η is {expected[0]:.2g} times that of SNES with PyBrain's settings and "
        f"{expected[1]:.2g} times with xNES's; the evaluations are {measured[0]:.2g} and {measured[1]:.2g} "
        "times SNES's. So claim (b) cannot hold on the sphere with either."
    ]


def _rate_of_sigma(method: str, d: int) -> float:
    """Return the rate at which a method changes the logarithm of its step size."""
    strategy: Any = OWN[method].start(np.zeros(d), 1.0, np.random.default_rng(0))
    return float(strategy.rate_sigma)


def precision(found: Findings) -> str:
    """Say how precise the medians are."""
    errors = found.standard_errors()
    if not errors:
        return ""
    return (
        f"The standard error of a median here is typically {typical(errors):.1%}, and at most "
        f"{most(errors, 0.9):.0%} in nine cells of ten."
    )
