"""How a claim of the paper becomes a verdict: it is checked in several cases, and says what it depends on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from r1nes.bench.paper.findings import CASES, Case, Findings, Where, by_function, listed

HOLDS, DIFFERS, NOT_RUN = "holds", "differs", "not run"


class Outcome(NamedTuple):
    """The measurements of one case."""

    holds: bool | None  # None if it was not measured
    measured: str
    exceptions: dict[str, list[Where]] = {}  # noqa: RUF012 - never changed; what speaks against the claim
    where: Collection[Where] = ()  # all that was measured


class Claim(NamedTuple):
    """A statement of the paper, how it is checked, and what the default of today does instead."""

    key: str
    says: str
    criterion: str
    judge: Callable[[Findings, Case], Outcome]
    today: Callable[[Findings], Outcome]
    cases: Sequence[Case] = CASES


class Verdict(NamedTuple):
    """Whether a claim holds, why, and the measurements behind it."""

    verdict: str  # begins with HOLDS, DIFFERS or NOT_RUN
    outcomes: dict[Case, Outcome]
    today: Outcome

    @property
    def kind(self) -> str:
        """A name of the verdict for the style sheet."""
        return next(kind for kind in (HOLDS, DIFFERS, NOT_RUN) if self.verdict.startswith(kind))


def judged(claim: Claim, found: Findings) -> Verdict:
    """Check the claim in all of its cases."""
    outcomes = {case: claim.judge(found, case) for case in claim.cases}
    known = {case: outcome for case, outcome in outcomes.items() if outcome.holds is not None}
    holding = [case for case, outcome in known.items() if outcome.holds]
    if not known:
        verdict = NOT_RUN
    elif len(holding) == len(outcomes):
        verdict = HOLDS
    elif len(holding) == len(known):
        verdict = f"{HOLDS} with {_in_words(holding, list(outcomes))}; the other cases are not recorded"
    elif holding:
        verdict = f"{HOLDS} with {_in_words(holding, list(known))}"
    else:
        verdict = f"{DIFFERS} because {_reason(list(known.values()))}"
    return Verdict(verdict, outcomes, claim.today(found))


def _in_words(chosen: list[Case], known: list[Case]) -> str:
    """Describe some of the known cases by what they have in common, if this describes no others."""
    settings, functions = {case.settings for case in chosen}, {case.functions for case in chosen}
    alike = [case for case in known if case.settings in settings and case.functions in functions]
    if len(alike) > len(chosen):
        return "; or with ".join(f"{case.settings} and {case.functions}" for case in chosen)
    parts: list[str] = []
    if len(settings) < len({case.settings for case in known}):
        parts += settings
    if len(functions) < len({case.functions for case in known}):
        parts += functions
    return " and ".join(parts)


def _reason(outcomes: list[Outcome]) -> str:
    """Return what speaks against the claim in all cases and most dimensions or, failing that, in any."""
    reasons: dict[str, set[str]] = {}
    often, ever = [_against(each, 0.5) for each in outcomes], [_against(each, 0) for each in outcomes]
    common = set.intersection(*often) or set.intersection(*ever) or set.union(*ever)
    for why, function in common:
        reasons.setdefault(why, set()).add(function)
    return "; ".join(f"{why} {listed(reasons[why])}" for why in sorted(reasons)) or outcomes[0].measured


def _against(outcome: Outcome, share: float) -> set[tuple[str, str]]:
    """Return the reasons and functions with exceptions in more than this share of the dimensions."""
    counts = Counter((why, f) for why, where in outcome.exceptions.items() for f, _ in where)
    dims = Counter(function for function, _ in outcome.where)
    return {(why, f) for (why, f), count in counts.items() if count > share * dims[f]}


def exceptions(outcome: Outcome) -> str:
    """Return what speaks against the claim in one case, as a sentence; empty if nothing does."""
    if not outcome.exceptions:
        return ""
    text = "; ".join(f"{why} {by_function(where)}" for why, where in outcome.exceptions.items())
    return ("It" + text.removeprefix("it") if text.startswith("it ") else text) + "."
