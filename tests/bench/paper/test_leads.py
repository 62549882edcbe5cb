"""The sentences of the page say what the runs say, and no more."""

from __future__ import annotations

from dataclasses import replace

from r1nes.bench.analysis.statistics import Summary
from r1nes.bench.paper.findings import Findings
from r1nes.bench.paper.leads import LEADS, form_matters, precision, rates_matter, settings_matter
from r1nes.bench.paper.page import coverage

Key = tuple[str, str, int]


def summary(evaluations: float, solved: int = 4, runs: int = 4) -> Summary:
    return Summary(
        runs, solved, 0, evaluations, evaluations, 1e-9, 5.0, (0.9 * evaluations, 1.1 * evaluations)
    )


def test_the_default_is_counted_on_the_four_functions() -> None:
    found: dict[Key, Summary] = {("rknes", f, d): summary(10) for f in ("f2", "f7", "f11") for d in (2, 8)}
    found["rknes", "f7", 8] = summary(10, 1)
    assert LEADS["unsuited"](Findings(found)) == (
        "RkNES solves all recorded runs on f2, f11 (d = 2 … 8). "
        "On f7 it solves 4 of 4 at d = 2, 1 of 4 at d = 8."
    )
    assert LEADS["unsuited"](Findings()) == "RkNES is not recorded."


def test_what_rknes_solves_with_other_settings_is_said_last() -> None:
    found: dict[Key, Summary] = {("rknes", "f7", d): summary(10, d // 8) for d in (8, 16, 32)}
    found |= {("rknes-10d", "f7", 8): summary(10), ("rknes-10d", "f7", 16): summary(10, 2)}
    found["rknes-full", "f10", 32] = summary(10, 3)
    text = LEADS["unsuited"](Findings(found))
    assert text.endswith(
        "With ten points per variable, it solves most runs on f7 (d = 8). "
        "With a full base, it solves most runs on f10 (d = 32)."
    )


def test_what_r1nes_does_not_solve_is_said_above_the_panels() -> None:
    found: dict[Key, Summary] = {("r1nes", "f13", 32): summary(10, 2), ("r1nes", "f14", 2): summary(10)}
    found["r1nes-heuristic", "f13", 32] = summary(10, 3)
    assert LEADS["suited"](Findings(found)) == "With PyBrain's settings, R1-NES does not solve f13 (d = 32)."


def test_settings_and_form_matter_where_outcomes_change() -> None:
    found: dict[Key, Summary] = {
        ("r1nes", "f13", 64): summary(10, 0),
        ("r1nes-heuristic", "f13", 64): summary(10),
        ("r1nes", "f1", 64): summary(100),
        ("r1nes-heuristic", "f1", 64): summary(300),
        ("snes", "f6", 16): summary(10, 2),
        ("snes", "f6-pybrain", 16): summary(10, 3),
    }
    found["r1nes", "f13", 64] = replace(found["r1nes", "f13", 64], median_solved=float("nan"))
    only, ratio = settings_matter(Findings(found))
    assert only == "R1-NES solves f13 (d = 64) with xNES's settings only."
    assert ratio.endswith("of PyBrain's settings: 3 at d = 64 (geometric means).")
    assert form_matters(Findings(found)) == ["SNES solves f6 (d = 16) in the authors' form only."]


def test_the_precision_of_medians_follows_from_the_quartiles() -> None:
    found: dict[Key, Summary] = {("snes", "f1", d): summary(100, 25, 25) for d in (2, 4)}
    assert "typically 3.7%" in precision(Findings(found))  # 1.25/1.35 · 0.2/√25
    assert precision(Findings({("snes", "f1", 2): summary(100)})) == ""


def test_rates_explain_the_sphere() -> None:
    found: dict[Key, Summary] = {
        ("snes", "f1", 32): summary(100),
        ("r1nes", "f1", 32): summary(290),
        ("r1nes-heuristic", "f1", 32): summary(1000),
    }
    (sentence,) = rates_matter(Findings(found))
    # n/η of SNES: 14 · 5√32/(3 + ln 32) = 61.2; of R1-NES: 20/0.1, and with xNES's settings 14/0.0214 = 653
    assert "n/η is 3.3 times that of SNES with PyBrain's settings and 11 times with xNES's" in sentence
    assert "the evaluations are 2.9 and 10 times" in sentence
    assert not rates_matter(Findings({}))


def test_cells_that_are_not_recorded_are_shown_as_such() -> None:
    found: dict[Key, Summary] = {("snes", f"f{k}", 2): summary(1) for k in (1, 2, *range(5, 15))}
    found["xnes", "f1", 4] = summary(1)
    assert coverage(Findings(found)) == (
        ["runs per function", "d = 2", "d = 4"],
        [["SNES", "4", "–"], ["xNES", "–", "0 … 4"]],
    )
