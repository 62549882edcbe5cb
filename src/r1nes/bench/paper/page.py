"""One HTML page that needs nothing else: figures are inside it, and nothing is fetched."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from r1nes.bench.paper.claims import Claim, Verdict
from r1nes.extras import needs

TITLES = {
    "suited": "Performance on the eight functions that suit R1-NES",
    "unsuited": "Performance on the four functions that do not",
    "runtime": "Computation time per evaluation",
    "cigar": "R1-NES on the 32-dimensional cigar",
    "gradients": "Plain against natural gradient",
    "parameterisations": "Two parameterisations of u",
}
CAPTIONS = {
    "suited": """Median evaluations to 1e-8 over the runs that reached it. Where 90 % of the runs or more
        converged prematurely, or none succeeded, the cell is left out, as in the paper.""",
    "unsuited": """As above. A single direction that can only grow is not enough here; SNES solves the
        ellipsoid, which is separable.""",
    "runtime": """The methods' own processor time: ask and tell, without the objective, one BLAS thread. The
        dense xNES takes the matrix exponential as printed; ours takes the same step at quadratic cost.
        Populations are the methods' own, but for d > 512 no larger than there.""",
    "cigar": """x₁² + 10⁶ Σ xᵢ², i ≥ 2: the paper's caption prints the tablet by mistake. λ falls linearly
        while c grows and settles: I + uuᵀ approaches the inverse of the Hessian, up to scale.""",
    "gradients": """In the space of the parameters (μ, λ) of one normal distribution. The natural gradient
        trusts directions in which the samples agree, and distrusts those in which they scatter.""",
    "parameterisations": """One selected sample, one step. Across u, addition overshoots through zero: u flips
        and even grows, while c and v shrink and turn it. Along u, the exponential step in c explodes, while
        addition is moderate. R1-NES takes the dashed step where u shrinks, the dotted one where it grows.""",
}


class Table(NamedTuple):
    """The numbers behind a figure."""

    header: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Section:
    """A figure, drawn already as ``name``.svg beside the page, with what is to be said of it."""

    name: str
    table: Table = field(default=Table([], []))

    @property
    def title(self) -> str:
        """Its heading."""
        return TITLES[self.name]

    @property
    def caption(self) -> str:
        """What it shows."""
        return CAPTIONS[self.name]


def write(
    path: Path, sections: Sequence[Section], judged: Sequence[tuple[Claim, Verdict]], runs: int
) -> None:
    """Render the page from its template."""
    with needs("jinja2", extra="bench"):
        import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("r1nes.bench.paper"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["embedded"] = lambda name: _embedded(path.parent / f"{name}.svg")
    path.write_text(
        environment.get_template("paper.html").render(
            sections=sections,
            judged=judged,
            runs=runs,
            versions={package: version(package) for package in ("r1nes", "numpy", "scipy")},
        )
    )


def _embedded(svg: Path) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg.read_bytes()).decode()
