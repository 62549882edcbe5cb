"""Each claim is judged from measurements, with both outcomes, and not judged without them."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from r1nes.bench.analysis.statistics import Summary
from r1nes.bench.paper.claims import CLAIMS, DIFFERS, HOLDS, NOT_RUN, Findings, Verdict

Key = tuple[str, str, int]


def summary(evaluations: float, solved: int = 5, runs: int = 5) -> Summary:
    left_out = math.nan if solved == 0 else evaluations
    return Summary(runs, solved, runs - solved, evaluations, left_out, 1e-9 if solved else 0.5, 5.0)


def judge(key: str, findings: Findings) -> Verdict:
    return next(claim.judge(findings) for claim in CLAIMS if claim.key == key)


@pytest.mark.parametrize("key", "abcdefg")
def test_nothing_measured_is_not_run(key: str) -> None:
    assert judge(key, Findings()).verdict == NOT_RUN


@pytest.mark.parametrize(
    ("key", "summaries", "verdict", "says"),
    [
        (
            "a",
            {("r1nes", "f8", 512): summary(4e7, 3, 3)},
            HOLDS,
            "3 of 3 runs reached 1e-8, with a median of 4e.07",
        ),
        ("a", {("r1nes", "f8", 512): summary(4e7, 1, 3)}, DIFFERS, "1 of 3 runs"),
        (
            "a",
            {("r1nes", "f8", 512): summary(4e7, 0, 3)},
            DIFFERS,
            "0 of 3 runs reached 1e-8; median precision",
        ),
        ("a", {("r1nes", "f8", 256): summary(4e7)}, NOT_RUN, "full grid"),
        ("b", {("r1nes", "f9", 8): summary(100), ("snes", "f9", 8): summary(95)}, HOLDS, "True in 1 of 1"),
        (
            "b",
            {("r1nes", "f9", 8): summary(100), ("xnes", "f9", 8): summary(80)},
            DIFFERS,
            r"xnes .* f9 \(d = 8\)",
        ),
        ("b", {("r1nes", "f9", 8): summary(9, 0), ("xnes", "f9", 8): summary(9, 0)}, HOLDS, "True in 1 of 1"),
        ("b", {("r1nes", "f2", 8): summary(100), ("xnes", "f2", 8): summary(80)}, NOT_RUN, ""),
        ("c", {("r1nes", "f9", 32): summary(100), ("xnes", "f9", 32): summary(55)}, HOLDS, "True in 1 of 1"),
        (
            "c",
            {("r1nes", "f9", 32): summary(100), ("xnes", "f9", 32): summary(45)},
            DIFFERS,
            r"not on f9 \(d = 32\)",
        ),
        ("c", {("r1nes", "f9", 64): summary(100), ("xnes", "f9", 64): summary(45)}, NOT_RUN, ""),
        ("e", {("r1nes", "f11", 8): summary(100, 2)}, HOLDS, "Unsolved in 1 of 1"),
        ("e", {("r1nes", "f11", 8): summary(100, 3)}, DIFFERS, r"solved: f11 \(d = 8\)"),
        ("e", {("r1nes", "f11", 4): summary(100, 3)}, NOT_RUN, ""),
    ],
)
def test_claims_about_the_grid(key: str, summaries: dict[Key, Summary], verdict: str, says: str) -> None:
    judged = judge(key, Findings(summaries))
    assert judged.verdict == verdict
    assert re.search(says, judged.measured)


def test_what_snes_solves() -> None:
    solvable: dict[Key, Summary] = {
        ("snes", f, d): summary(10) for f in ("f1", "f2", "f5", "f6") for d in (8, 16)
    }
    hard: dict[Key, Summary] = {("snes", f, 8): summary(10, 1) for f in ("f8", "f10")}
    assert judge("d", Findings(solvable | hard)).verdict == HOLDS
    assert judge("d", Findings(solvable | hard | {("snes", "f10", 16): summary(10)})).verdict == DIFFERS
    assert judge("d", Findings(solvable | hard | {("snes", "f6", 16): summary(10, 1)})).verdict == DIFFERS


def test_costs_are_judged_by_their_exponents() -> None:
    def timings(linear: float, dense: float) -> list[dict[str, Any]]:
        slopes = {"r1nes": linear, "snes": linear, "xnes": 2.0, "xnes, dense exponential": dense}
        dims = [2**k for k in range(1, 13)]
        return [
            {"method": m, "dim": d, "microseconds": 3 * d**slope} for m, slope in slopes.items() for d in dims
        ]

    assert judge("f", Findings(timings=timings(1.0, 2.7))) == Verdict(
        HOLDS,
        "r1nes d^1.00, snes d^1.00 (d ≥ 512); xNES with the dense exponential d^2.70, ours d^2.00 (d ≥ 128).",
    )
    assert judge("f", Findings(timings=timings(1.5, 2.7))).verdict == DIFFERS
    assert judge("f", Findings(timings=timings(1.0, 2.0))).verdict == DIFFERS


@pytest.mark.parametrize(("c", "verdict"), [(6.5, HOLDS), (7.3, HOLDS), (6.3, DIFFERS), (8.0, DIFFERS)])
def test_the_cigar(c: float, verdict: str) -> None:
    runs = [{"seed": seed, "evaluations": 1, "solved": True, "c": c + seed - 1} for seed in range(3)]
    assert judge("g", Findings(cigar=runs)).verdict == verdict
