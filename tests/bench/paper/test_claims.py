"""Each claim is judged from measurements, with both outcomes, and not judged without them."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import pytest

from r1nes.bench.analysis.statistics import Summary
from r1nes.bench.paper.claims import CLAIMS
from r1nes.bench.paper.findings import CASES, DEFAULT, OURS, PROBABLE, Case, Findings
from r1nes.bench.paper.timing import popsize_of
from r1nes.bench.paper.verdicts import NOT_RUN, Claim, Outcome, Verdict, exceptions, judged

Key = tuple[str, str, int]


def summary(evaluations: float, solved: int = 5, runs: int = 5) -> Summary:
    left_out = math.nan if solved == 0 else evaluations
    return Summary(runs, solved, runs - solved, evaluations, left_out, 1e-9 if solved else 0.5, 5.0)


def claimed(key: str) -> Claim:
    return next(claim for claim in CLAIMS if claim.key == key)


def judge(key: str, findings: Findings, case: Case = OURS) -> Outcome:
    return claimed(key).judge(findings, case)


@pytest.mark.parametrize("key", "abcdefg")
def test_nothing_measured_is_not_run(key: str) -> None:
    verdict = judged(claimed(key), Findings())
    assert verdict.verdict == verdict.kind == NOT_RUN
    assert {outcome.measured for outcome in verdict.outcomes.values()} == {"Not recorded."}
    assert verdict.today.measured == "Not recorded."


@pytest.mark.parametrize(
    ("key", "summaries", "holds", "says"),
    [
        (
            "a",
            {("r1nes", "f8", 512): summary(4e7, 3, 3)},
            True,
            "3 of 3 runs reached 1e-8, with a median of 4e.07",
        ),
        ("a", {("r1nes", "f8", 512): summary(4e7, 1, 3)}, False, "1 of 3 runs"),
        (
            "a",
            {("r1nes", "f8", 512): summary(4e7, 0, 3)},
            False,
            "0 of 3 runs reached 1e-8; median precision",
        ),
        ("a", {("r1nes", "f8", 256): summary(4e7)}, None, "up to d = 256"),
        ("b", {("r1nes", "f9", 8): summary(100), ("snes", "f9", 8): summary(95)}, True, "True in 1 of 1"),
        (
            "b",
            {("r1nes", "f9", 8): summary(100), ("xnes", "f9", 8): summary(80)},
            False,
            r"xNES needs fewer evaluations on f9 \(d = 8\)",
        ),
        (
            "b",
            {("r1nes", "f9", 8): summary(100), ("xnes", "f9", 8): summary(9, 0)},
            True,
            "half of the evaluations in 1",
        ),
        ("b", {("r1nes", "f9", 8): summary(9, 0), ("xnes", "f9", 8): summary(9, 0)}, True, "True in 1 of 1"),
        ("b", {("r1nes", "f2", 8): summary(100), ("xnes", "f2", 8): summary(80)}, None, ""),
        (
            "c",
            {("r1nes", "f9", 32): summary(110), ("xnes", "f9", 32): summary(55)},
            True,
            "1 of 1 cells; 90% of them are within 2 times",
        ),
        (
            "c",
            {("r1nes", "f9", 32): summary(111), ("xnes", "f9", 32): summary(55)},
            False,
            r"more than 2 times xNES's evaluations on f9 \(d = 32\)",
        ),
        ("c", {("r1nes", "f9", 32): summary(9, 0), ("xnes", "f9", 32): summary(45)}, False, "infinite"),
        ("c", {("r1nes", "f9", 64): summary(100), ("xnes", "f9", 64): summary(45)}, None, ""),
        ("e", {("r1nes", "f11", 8): summary(100, 2)}, True, "Unsolved in 1 of 1"),
        ("e", {("r1nes", "f11", 8): summary(100, 3)}, False, r"It solves f11 \(d = 8\)"),
        ("e", {("r1nes", "f11", 4): summary(100, 3)}, None, ""),
    ],
)
def test_claims_about_the_grid(
    key: str, summaries: dict[Key, Summary], holds: bool | None, says: str
) -> None:
    outcome = judge(key, Findings(summaries))
    assert outcome.holds is holds
    assert re.search(says, f"{outcome.measured} {exceptions(outcome)}")


def test_a_difference_within_the_spread_does_not_count() -> None:
    def found(apart: float) -> Findings:
        return Findings(
            {
                ("r1nes", "f9", 8): replace(summary(120), quartiles=(120 - apart, 120 + apart)),
                ("xnes", "f9", 8): replace(summary(100), quartiles=(100 - apart, 100 + apart)),
            }
        )

    assert judge("b", found(1)).holds is False
    assert judge("b", found(40)).holds is True  # a standard error of 44 %


def test_a_function_that_is_never_solved_is_named_beside_the_others() -> None:
    places = [(f, d) for f in ("f1", "f9", "f14") for d in (4, 8, 16)]
    ours: dict[Key, Summary] = {("r1nes", f, d): summary(10, 0 if f == "f14" else 5) for f, d in places}
    found = Findings(ours | {("xnes", f, d): summary(10) for f, d in places})
    assert "without f14, which is not solved in most dimensions, within 1." in judge("c", found).measured


def test_nine_cells_of_ten_must_be_comparable() -> None:
    def cells(far: int) -> Findings:
        ratios = [100.0] * far + [1.5] * (20 - far)
        places = [(f, d) for f in ("f1", "f5", "f6", "f8") for d in (2, 4, 8, 16, 32)]
        ours: dict[Key, Summary] = {
            ("r1nes", *at): summary(10 * ratio) for at, ratio in zip(places, ratios, strict=True)
        }
        return Findings(ours | {("xnes", *at): summary(10) for at in places})

    assert judge("c", cells(2)).holds is True
    assert judge("c", cells(3)).holds is False


def test_what_snes_solves() -> None:
    solvable: dict[Key, Summary] = {
        ("snes", f, d): summary(10) for f in ("f1", "f2", "f5", "f6") for d in (8, 16)
    }
    hard: dict[Key, Summary] = {("snes", f, 8): summary(10, 1) for f in ("f8", "f10")}
    assert judge("d", Findings(solvable | hard)).holds is True
    also = judge("d", Findings(solvable | hard | {("snes", "f10", 16): summary(10)}))
    assert (also.holds, exceptions(also)) == (False, "SNES also solves f10 (d = 16).")
    unsolved = judge("d", Findings(solvable | hard | {("snes", "f6", 16): summary(10, 1)}))
    assert (unsolved.holds, exceptions(unsolved)) == (False, "SNES does not solve f6 (d = 16).")


def comparable(*ratios: float) -> Findings:
    """R1-NES needs these multiples of xNES's evaluations on f6 in the four cases."""
    return Findings(
        {
            (method, case.form("f6"), 8): summary(100 * ratio)
            for case, ratio in zip(CASES, ratios, strict=False)
            for method, ratio in ((case.method, ratio), ("xnes", 1.0))
        }
    )


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ((1, 1, 1, 1), "holds"),
        ((3, 3, 1, 1), "holds with xNES's settings"),
        ((3, 1, 3, 1), "holds with the authors' functions"),
        ((3, 3, 3, 1), "holds with xNES's settings and the authors' functions"),
        (
            (1, 3, 3, 1),
            "holds with PyBrain's settings and COCO's functions; or with xNES's settings and the authors' "
            "functions",
        ),
        ((3, 3, 3, 3), "differs because it needs more than 2 times xNES's evaluations on f6"),
        ((1, 1), "holds with PyBrain's settings; the other cases are not recorded"),
    ],
)
def test_a_verdict_says_what_it_depends_on(ratios: tuple[float, ...], verdict: str) -> None:
    found = judged(claimed("c"), comparable(*ratios))
    assert found.verdict == verdict
    assert found.kind == verdict.split()[0]


def test_a_verdict_names_what_differs_in_every_case() -> None:
    def slower_on(case: Case, *functions: str) -> dict[Key, Summary]:
        return {
            (method, case.form(f), 8): summary(300 if method != "xnes" and f in functions else 100)
            for f in ("f6", "f8", "f9")
            for method in (case.method, "xnes")
        }

    found = slower_on(OURS, "f6", "f9") | slower_on(PROBABLE, "f8", "f9")
    text = judged(claimed("b"), Findings(found)).verdict
    assert text == "differs because xNES needs fewer evaluations on f9"


def test_functions_without_the_authors_form_are_no_case_of_theirs() -> None:
    coco: dict[Key, Summary] = {("r1nes-heuristic", "f1", 8): summary(1), ("xnes", "f1", 8): summary(1)}
    assert judge("c", Findings(coco), PROBABLE).holds is None
    authors: dict[Key, Summary] = {(m, "f6-pybrain", 8): summary(1) for m in ("r1nes-heuristic", "xnes")}
    assert "2 of 2 cells" in judge("c", Findings(coco | authors), PROBABLE).measured


def test_the_default_of_today_beside_the_claims() -> None:
    found = Findings(
        {("rknes", f, d): summary(100) for f in ("f2", "f10", "f11") for d in (8, 16)}
        | {("rknes", "f7", 8): summary(100), ("rknes", "f7", 16): summary(100, 2)}
    )
    today = claimed("e").today(found)
    assert today.measured == "RkNES solves f2, f10, f11 (d = 8, 16). It does not solve f7 (d = 16)."
    rivals = {(m, "f1", 8): summary(200) for m in ("r1nes", "snes", "xnes")}
    better = claimed("b").judge(Findings({("rknes", "f1", 8): summary(100)} | rivals), DEFAULT)
    assert "True in 3 of 3 comparisons, with at most half of the evaluations in 3" in better.measured


def timings(linear: float, dense: float) -> list[dict[str, Any]]:
    """Times whose exponents per generation are these: xNES's population is removed."""
    slopes = {"r1nes": linear, "snes": linear, "xnes": 2.0, "xnes, dense exponential": dense, "rknes": 1.0}
    return [
        {"method": m, "dim": d, "microseconds": 3 * d**slope / popsize_of(m, d)}
        for m, slope in slopes.items()
        for d in [2**k for k in range(1, 13)]
    ]


def test_costs_are_judged_by_the_nearest_exponent() -> None:
    outcome = judge("f", Findings(timings=timings(1.0, 2.7)))
    assert outcome.holds
    assert outcome.measured == (
        "R1-NES d^1.00, SNES d^1.00 (d ≥ 512); xNES with the dense exponential d^2.70, ours d^2.00 (d ≥ 128)."
    )
    assert not judge("f", Findings(timings=timings(1.6, 2.7))).holds
    assert not judge("f", Findings(timings=timings(1.0, 2.4))).holds
    today = claimed("f").today(Findings(timings=timings(1.0, 2.7)))
    assert today.measured == "d^1.00 from 128 to 256 variables, with a full base; d^1.00 from 512 on."


@pytest.mark.parametrize(("c", "holds"), [(6.3, True), (7.5, True), (6.1, False), (7.7, False)])
def test_the_cigar(c: float, holds: bool) -> None:
    runs = [
        {"method": "r1nes", "seed": seed, "evaluations": 1, "solved": True, "c": c + seed - 1}
        for seed in range(3)
    ]
    found = Findings(cigar=runs)
    assert judge("g", found).holds is holds
    assert judge("g", found, Case("r1nes-heuristic")).holds is None


def test_verdicts_are_named_for_the_style_sheet() -> None:
    nothing = Outcome(None, "")
    assert Verdict("holds with something", {}, nothing).kind == "holds"
    assert Verdict("differs because", {}, nothing).kind == "differs"
