"""RkNES without one of its parts at a time, on BBOB functions.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/ablation.py [--no-run]

All parts in 32 variables, on seven functions and instances 1 to 11; and those that concern the directions in
128 variables, where a generation covers a smaller share of the space, on five functions and instances 1 to 5.
Runs have the starts and seeds of ``r1nes bench``: uniform in [−4, 4]^d, σ₀ = 2, no restarts. They end at
200,000 evaluations, or 1,000,000 in 128 variables. Nothing is retuned after a part is removed. A part is
removed by a setting where there is one, and otherwise by replacing a number or a function of the package
while the run lasts.

Runs are appended to ``results/ablation.jsonl``; those that it has are not repeated. All of them take some
fifteen minutes on one core. Then a table per dimension is printed and written to ``results/ablation_32.md``
and ``ablation_128.md``: median evaluations to 1e-8 over all runs, and how many succeeded unless all did. The
last column is the geometric mean of the ratio to the complete rule, over the instances of all functions that
both solve. ``docs/figures/ablation.png`` shows the same ratio for each function.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import matplotlib as mpl
import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from r1nes import RkNES
from r1nes.arrays import Array, compiled
from r1nes.bench.analysis.statistics import summary
from r1nes.bench.functions.problems import titled
from r1nes.bench.runner import measure
from r1nes.bench.runner.measure import Cell, measure_cell
from r1nes.bench.runner.records import Record, Records, read_records
from r1nes.display.style import BLUE, ORANGE, RC
from r1nes.ranking import logarithmic
from r1nes.sampling import orthogonal
from r1nes.sampling.orthogonal import OrthogonalDirections
from r1nes.strategies.rank_k import rates, step, strategy

ROOT = Path(__file__).parents[1]
RECORDS, FIGURE = ROOT / "results" / "ablation.jsonl", ROOT / "docs" / "figures" / "ablation.png"
WHOLE = "nothing"
COLORS = LinearSegmentedColormap.from_list("costs", [BLUE, "#ffffff", ORANGE])

Change = Any  # a context manager that removes a part while it lasts


def setting(**settings: Any) -> Change:
    """Change settings of the method."""
    return patch.dict(measure.OWN, {"rknes": RkNES(**settings)})


def rate(**numbers: float) -> Change:
    """Change numbers of ``Rates``."""
    complete = rates.rates_of
    return patch.object(strategy, "rates_of", lambda *given: complete(*given)._replace(**numbers))


def slot(**changed: Callable[[Array], Array]) -> Change:
    """Change arrays of ``Slots``."""
    complete = rates.slots_of

    def slots_of(*given: Any) -> rates.Slots:
        slots = complete(*given)
        new: dict[str, Any] = {name: change(getattr(slots, name)) for name, change in changed.items()}
        return slots._replace(**new)

    return patch.object(strategy, "slots_of", slots_of)


@contextmanager
def without_layer() -> Iterator[None]:
    """Hold the directions at a stretch of e^{±10⁻⁹}, and τ, their part of the step size, at 0."""
    with ExitStack() as changes:
        for module in (rates, strategy):
            changes.enter_context(patch.object(module, "LEAST", 1e-9))
        changes.enter_context(patch.object(strategy, "slots_of", rates.slots_of.__wrapped__))  # no cache
        changes.enter_context(setting(rate_shape=0.0))
        yield


@contextmanager
def without_path() -> Iterator[None]:
    """Give the path q no weight as a sample; the mean still drifts along it."""
    complete = rates.rates_of

    def rates_of(power: float, total: float, *given: Any) -> rates.Rates:
        return complete(power, total, *given)._replace(total=total, mu=math.inf)

    with patch.object(strategy, "rates_of", rates_of):
        yield


@contextmanager
def in_pairs() -> Iterator[None]:
    """Let half of the samples be opposites, as they are in few variables; weights and σ follow."""
    with ExitStack() as changes:
        for module in (orthogonal, rates, strategy):
            changes.enter_context(patch.object(module, "pairs_of", lambda n, _: n // 2))
        changes.enter_context(patch.object(strategy, "rates_of", rates.rates_of.__wrapped__))  # no cache
        yield


def open_gate(e: float, *_: float) -> tuple[float, float]:
    """Let the base learn at its full rate, whatever it learns."""
    return e, 1.0


def directions(fill: Callable[[OrthogonalDirections, int, Array], None]) -> Change:
    """Fill the table of directions in another way."""
    return patch.object(OrthogonalDirections, "_make_table", fill)


def normal(source: OrthogonalDirections, number: int, table: Array) -> None:
    """Fill the table with independent normal vectors."""
    source._noise.stream(number + 1).standard_normal(out=table)  # noqa: SLF001


def independent(source: OrthogonalDirections, number: int, table: Array) -> None:
    """Fill the table with independent directions of length √d."""
    normal(source, number, table)
    table *= math.sqrt(source.width) / np.linalg.norm(table, axis=1, keepdims=True)


def within_generations(source: OrthogonalDirections, number: int, table: Array) -> None:
    """Fill the table with directions that are orthogonal within a generation and independent of the next."""
    first, n = number * len(table), source.fresh
    for generation in range(first // n, -(-(first + len(table)) // n)):
        numbers = source._noise.stream(generation + 1).standard_normal((source.width, n))  # noqa: SLF001
        rows = math.sqrt(source.width) * np.linalg.qr(numbers)[0].T
        begin = generation * n - first
        kept = rows[max(0, -begin) : len(table) - begin]
        table[max(0, begin) : max(0, begin) + len(kept)] = kept


def weights(utilities: Callable[[int, int], Array]) -> Change:
    """Change the weights of the ranks."""
    return patch.object(RkNES, "default_utilities", staticmethod(utilities))


def usual(n: int, _: int, *, zero_sum: bool) -> Array:
    """Return the logarithmic weights of CMA-ES and NES, for the mean and for the covariance."""
    return np.stack([logarithmic(n, zero_sum=zero_sum)] * 2)


PARTS: dict[str, Callable[[], Change]] = {
    WHOLE: ExitStack,
    "orthogonality across generations": lambda: directions(within_generations),
    "orthogonality": lambda: directions(independent),
    "orthogonality and equal lengths": lambda: directions(normal),
    "the layer": without_layer,
    "the second and third direction": lambda: setting(rank=(1, 0)),
    "the shrinking direction": lambda: setting(rank=(2, 0)),
    "the path as a sample": without_path,
    "the full matrix": lambda: setting(base="diagonal"),
    "the fast diagonal": lambda: rate(diagonal=0.0),
    "the base": lambda: setting(rate_base=0.0),
    "the projection": lambda: slot(grows=np.zeros_like),
    "the gates": lambda: patch.object(step, "gate", open_gate),
    "consolidation": lambda: rate(moved=0.0),
    "the drift": lambda: rate(drift=0.0),
    "even weights": lambda: weights(partial(usual, zero_sum=True)),
    "zero-sum weights": lambda: weights(partial(usual, zero_sum=False)),
    "unpaired samples": in_pairs,
    "probes for noise": lambda: patch.object(RkNES, "heeds_noise", False),
}


class Grid(NamedTuple):
    """The runs in one dimension."""

    dim: int
    budget: int
    parts: list[str]
    functions: list[str]
    instances: range


DIRECTIONS = ["orthogonality across generations", "orthogonality", "orthogonality and equal lengths"]
GRIDS = [
    Grid(32, 200_000, list(PARTS), ["f1", "f2", "f8", "f10", "f11", "f12", "f14"], range(1, 12)),
    Grid(128, 1_000_000, [WHOLE, *DIRECTIONS], ["f1", "f2", "f8", "f11", "f12"], range(1, 6)),
]


def measured(part: str, function: str, dim: int, instance: int, budget: int) -> Record:
    """Run RkNES without the part; NumPy runs it, because compiled code would not see the change."""
    uncompiled = patch.object(compiled, "numba_available", lambda: False)
    with uncompiled, PARTS[part](), np.errstate(all="ignore"):
        record = measure_cell(Cell("rknes", function, dim, instance, budget))
    kept = ["function", "dim", "instance", "budget", "seed", "evaluations", "precision", "solved", "stop"]
    kept += ["seconds", "objective_seconds", "versions"]
    return {"without": part} | {name: record[name] for name in kept}


def run() -> None:
    """Append the runs that the record lacks."""
    with Records(RECORDS) as records:
        done = {(r["without"], r["function"], r["dim"], r["instance"]) for r in read_records(RECORDS)}
        for grid in GRIDS:
            for part, function, i in product(grid.parts, grid.functions, grid.instances):
                if (part, function, grid.dim, i) not in done:
                    records.append(measured(part, function, grid.dim, i, grid.budget))


Runs = dict[tuple[str, str, int], Record]  # (part, function, instance) → run


def table(grid: Grid, runs: Runs) -> str:
    """Return the table in Markdown."""
    head = " | ".join([f"without, d = {grid.dim}", *grid.functions, "ratio"])
    lines = [f"| {head} |", "|---|" + "---|" * (len(grid.functions) + 1)]
    for part in grid.parts:
        cells = [cell([runs[part, function, i] for i in grid.instances]) for function in grid.functions]
        lines.append(f"| {part} | {' | '.join(cells)} | {ratio(grid, runs, part, grid.functions):.2f} |")
    return "\n".join(lines) + "\n"


def ratio(grid: Grid, runs: Runs, part: str, functions: list[str]) -> float:
    """Return the mean ratio to the complete rule over what both solve; NaN if that is nothing."""
    pairs = [(runs[part, f, i], runs[WHOLE, f, i]) for f in functions for i in grid.instances]
    logs = [
        math.log(without["evaluations"] / whole["evaluations"])
        for without, whole in pairs
        if without["solved"] and whole["solved"]
    ]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def cell(records: list[Record]) -> str:
    """Return the median evaluations over all runs, and how many succeeded unless all did."""
    found = summary(records)
    number = f"{found.median:,.0f}" if math.isfinite(found.median) else "–"
    return number if found.solved == found.runs else f"{number} ({found.solved}/{found.runs})"


def draw(grid: Grid, runs: Runs) -> None:
    """Draw the ratios as a table of colours: orange where a part saves evaluations, blue where it costs."""
    parts = [part for part in grid.parts if part != WHOLE]
    ratios = np.array([[ratio(grid, runs, part, [f]) for f in grid.functions] for part in parts])
    with mpl.rc_context(RC | {"axes.grid": False}):
        page = Figure(figsize=(7.2, 6.0))
        panel = page.subplots()
        shown = np.clip(np.log2(np.nan_to_num(ratios, nan=8.0)), -2, 2)
        panel.imshow(shown, cmap=COLORS, vmin=-2, vmax=2, aspect="auto")
        for (row, column), value in np.ndenumerate(ratios):
            solved = [runs[parts[row], grid.functions[column], i]["solved"] for i in grid.instances]
            text = "" if math.isnan(value) else f"{value:.2f}" if value < 9.95 else f"{value:.0f}"
            text += "" if all(solved) else f"\n{sum(solved)}/{len(solved)}"
            panel.text(column, row, text.strip(), ha="center", va="center", fontsize=8, linespacing=1.0)
        names = [titled(function).replace(" ", "\n") for function in grid.functions]
        panel.set_xticks(range(len(names)), names)
        panel.set_yticks(range(len(parts)), [f"without {part}" for part in parts])
        panel.tick_params(length=0, labelsize=8)
        panel.xaxis.tick_top()
        for side in panel.spines.values():
            side.set_visible(False)
        page.savefig(FIGURE)


def main() -> None:
    """Run what is missing, print the tables and draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--no-run", action="store_true", help="Show the recorded runs only.")
    if not parser.parse_args().no_run:
        run()
    for grid in GRIDS:
        records = [record for record in read_records(RECORDS) if record["dim"] == grid.dim]
        runs = {(record["without"], record["function"], record["instance"]): record for record in records}
        text = table(grid, runs)
        RECORDS.with_name(f"ablation_{grid.dim}.md").write_text(text, encoding="utf-8")
        print(text)
        if grid is GRIDS[0]:
            draw(grid, runs)


if __name__ == "__main__":
    main()
