"""A self-contained HTML page of the reproduction, with its figures embedded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from r1nes.bench.paper.claims import CLAIMS, COMPARABLE, ERRORS, MOST, TELLING, TOLERANCE
from r1nes.bench.paper.findings import AUTHORS, FORM, NAMES, OURS, PROBABLE, SUITED, UNSUITED, Case, Findings
from r1nes.bench.paper.leads import form_matters, precision, rates_matter, settings_matter
from r1nes.bench.paper.verdicts import Claim, Outcome, Verdict, exceptions, judged
from r1nes.display.pages import embedded, rendered

TITLES = {
    "suited": "The eight functions that the paper finds well suited for R1-NES",
    "unsuited": "The four functions that the paper finds not well suited",
    "pybrain": "Five functions in the form of the authors' own code",
    "runtime": "Computation time per evaluation",
    "cigar": "R1-NES on the 32-dimensional cigar",
    "gradients": "Plain and natural gradient",
    "parameterisations": "Two parameterisations of u",
}
CAPTIONS = {
    "suited": """Median evaluations to 1e-8 over the runs that reached it. As in the paper, a point is omitted
        if at least 90 % of the runs converged prematurely or none succeeded. Vertical lines are the quartiles
        of the runs that reached 1e-8; a marker is hollow if there are fewer than 5 runs or some did not.""",
    "unsuited": """As above. The numbers below the lines are RkNES's: runs that reached 1e-8, of all runs.
        R1-NES has a single direction that can only grow, which is not enough here. SNES solves the
        ellipsoid, which is separable.""",
    "pybrain": """As above, on the functions as PyBrain defines them, from x₀ ~ N(0, I) with σ₀ = 1. The
        attractive sector has one rotation and no conditioning, different powers no square root, and
        Rosenbrock no factor that grows with d.""",
    "runtime": """CPU time of ask and tell, without the objective, with one BLAS thread. The dense xNES
        computes the matrix exponential as published; ours takes the same step at quadratic cost. RkNES has a
        full base up to 300 variables and a diagonal beyond. Each method uses its default population, capped
        at that of R1-NES for d = 512.""",
    "cigar": """x₁² + 10⁶ Σ xᵢ², i ≥ 2; the paper's caption prints the tablet by mistake. λ decreases linearly
        while c grows and then levels off: I + uuᵀ approaches the inverse Hessian, up to scale. For RkNES, the
        last c of the table is the logarithm of the longest axis relative to the others.""",
    "gradients": """The parameter space (μ, λ) of a normal distribution. The natural gradient gives more
        weight to directions in which the samples agree and less to those in which they scatter.""",
    "parameterisations": """One step from one selected sample. If the sample lies across u, addition
        overshoots through zero: u flips and even grows, whereas the update of c and v shortens and rotates
        it. If the sample lies along u, the exponential step in c explodes, whereas addition is moderate.
        R1-NES takes the dashed step when u shrinks and the dotted step when it grows.""",
}


class Table(NamedTuple):
    """The data of a figure."""

    header: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Section:
    """A figure, already drawn as ``name``.svg next to the page, with its title, caption and table."""

    name: str
    lead: str = ""  # what the runs say
    table: Table = field(default=Table([], []))

    @property
    def title(self) -> str:
        """The heading."""
        return TITLES[self.name]

    @property
    def caption(self) -> str:
        """The caption of the figure."""
        return CAPTIONS[self.name]


class Row(NamedTuple):
    """A claim, the verdict on it, and the outcomes of the two cases that the page shows side by side."""

    claim: Claim
    verdict: Verdict
    probable: Outcome | None  # None if the claim depends neither on settings nor on functions
    ours: Outcome

    @property
    def further(self) -> list[tuple[str, str]]:
        """All cases with what speaks against the claim there."""
        against = [(self._label(case), exceptions(each)) for case, each in self.verdict.outcomes.items()]
        against.append(("RkNES", exceptions(self.verdict.today)))
        return [(case, text) for case, text in against if text]

    def _label(self, case: Case) -> str:
        """Return what sets the case apart from the claim's other ones."""
        varies = [len({each[i] for each in self.claim.cases}) > 1 for i in range(2)]
        return {(True, False): case.settings, (False, True): case.functions}.get(
            (varies[0], varies[1]), str(case)
        )


def rows(found: Findings) -> list[Row]:
    """Return a row for each claim."""
    table = []
    for claim in CLAIMS:
        verdict = judged(claim, found)
        probable = max(claim.cases, key=_likeness)
        outcome = verdict.outcomes[probable] if _likeness(probable) else None
        table.append(Row(claim, verdict, outcome, verdict.outcomes[OURS]))
    return table


def _likeness(case: Case) -> int:
    """Return in how much a case agrees with the paper's probable one; not all claims have all cases."""
    return sum(a == b for a, b in zip(case, PROBABLE, strict=True))


def coverage(found: Findings) -> Table:
    """Return how many runs each cell has: the fewest and the most over the functions."""
    dims = sorted({dim for _, _, dim in found.summaries})
    forms = {"": SUITED + UNSUITED, ", the authors' functions": [function + FORM for function in AUTHORS]}
    table = []
    for method, name in NAMES.items():
        for form, functions in forms.items():
            counts = [[_runs(found, method, function, dim) for function in functions] for dim in dims]
            if any(map(any, counts)):
                table.append([name + form, *map(_range, counts)])
    return Table(["runs per function", *(f"d = {dim}" for dim in dims)], table)


def _runs(found: Findings, method: str, function: str, dim: int) -> int:
    summary = found.summaries.get((method, function, dim))
    return 0 if summary is None else summary.runs


def _range(counts: list[int]) -> str:
    if not any(counts):
        return "–"
    return str(counts[0]) if len(set(counts)) == 1 else f"{min(counts)} … {max(counts)}"


def markdown(found: Findings) -> str:
    """Return the claims and the verdicts as a table in Markdown."""
    lines = [
        "| | the paper's claim | verdict | xNES's settings, the authors' functions | "
        "PyBrain's settings, COCO's functions | RkNES, COCO's functions |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows(found):
        probable = row.probable.measured if row.probable else "Depends on neither."
        cells = [row.claim.key, row.claim.says, f"**{row.verdict.verdict}**", probable, row.ours.measured]
        lines.append(f"| {' | '.join([*cells, row.verdict.today.measured])} |")
    return "\n".join(lines) + "\n"


def write(path: Path, sections: Sequence[Section], found: Findings) -> None:
    """Render the page from its template, and write its table of claims in Markdown beside it."""
    (path.parent / "claims.md").write_text(markdown(found), encoding="utf-8")
    figures = {section.name: path.parent / f"{section.name}.svg" for section in sections}
    page = rendered(
        "r1nes.bench.paper",
        "paper.html",
        sections=sections,
        images={name: embedded(figure.read_bytes()) for name, figure in figures.items()},
        rows=rows(found),
        coverage=coverage(found),
        precision=precision(found),
        matters=[*settings_matter(found), *form_matters(found), *rates_matter(found)],
        limits={
            "tolerance": TOLERANCE,
            "errors": ERRORS,
            "comparable": COMPARABLE,
            "most": MOST,
            "telling": TELLING,
        },
        runs=sum(summary.runs for summary in found.summaries.values()),
        versions={package: version(package) for package in ("r1nes", "numpy", "scipy")},
    )
    path.write_text(page, encoding="utf-8")
