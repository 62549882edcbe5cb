"""A self-contained HTML page of the reproduction, with its figures embedded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from r1nes.bench.paper.claims import Claim, Verdict
from r1nes.display.pages import embedded, rendered

TITLES = {
    "suited": "Performance on the eight functions that the paper finds well suited for R1-NES",
    "unsuited": "Performance on the four functions that it finds not well suited",
    "pybrain": "Five functions in the form of the authors' own code",
    "runtime": "Computation time per evaluation",
    "cigar": "R1-NES on the 32-dimensional cigar",
    "gradients": "Plain and natural gradient",
    "parameterisations": "Two parameterisations of u",
}
CAPTIONS = {
    "suited": """Median evaluations to 1e-8 over the runs that reached it. As in the paper, a point is omitted
        if at least 90 % of the runs converged prematurely or none succeeded. Vertical lines are the quartiles
        of the runs that reached 1e-8; a marker is hollow if there are fewer than 5 runs or some did not.
        The paper prints no settings: r1nes has those of its authors' PyBrain code, r1nes-heuristic those that
        this code computes first, which are xNES's.""",
    "unsuited": """As above. For more than a few variables, a single direction that can only grow is not
        enough for these functions. SNES solves the ellipsoid, which is separable.""",
    "pybrain": """As above, on the functions as PyBrain defines them, from x₀ ~ N(0, I) with σ₀ = 1. The
        attractive sector has one rotation and no conditioning, different powers no square root, and
        Rosenbrock no factor that grows with d. Which form the paper used is not known.""",
    "runtime": """CPU time of ask and tell, without the objective, with one BLAS thread. The dense xNES
        computes the matrix exponential as published; ours takes the same step at quadratic cost. Each method
        uses its default population, capped at that of R1-NES for d = 512.""",
    "cigar": """x₁² + 10⁶ Σ xᵢ², i ≥ 2; the paper's caption prints the tablet by mistake. λ decreases linearly
        while c grows and then levels off: I + uuᵀ approaches the inverse Hessian, up to scale.""",
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
    table: Table = field(default=Table([], []))

    @property
    def title(self) -> str:
        """The heading."""
        return TITLES[self.name]

    @property
    def caption(self) -> str:
        """The caption of the figure."""
        return CAPTIONS[self.name]


def write(
    path: Path, sections: Sequence[Section], judged: Sequence[tuple[Claim, Verdict]], runs: int
) -> None:
    """Render the page from its template."""
    figures = {section.name: path.parent / f"{section.name}.svg" for section in sections}
    page = rendered(
        "r1nes.bench.paper",
        "paper.html",
        sections=sections,
        images={name: embedded(figure.read_bytes()) for name, figure in figures.items()},
        judged=judged,
        runs=runs,
        versions={package: version(package) for package in ("r1nes", "numpy", "scipy")},
    )
    path.write_text(page)
