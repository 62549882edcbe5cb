"""RkNES without one of its parts at a time, on BBOB functions in 32 variables.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/ablation.py [--no-run]

Seven functions, instances 1 to 11, from the same starts and with the same seeds as ``r1nes bench``: uniform
in [−4, 4]^d, σ₀ = 2, no restarts, at most 200,000 evaluations. Nothing is retuned after a part is removed. A
part is removed by a setting where there is one, and otherwise by replacing a number or a function of the
package while the run lasts.

Runs are appended to ``results/ablation.jsonl``; those that it has are not repeated. All of them take some ten
minutes on one core. Then the table is printed: median evaluations to 1e-8 over all 11 runs, and how many
succeeded unless all did. The last column is the geometric mean of the ratio to the complete rule, over the
instances of all functions that both solve.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from r1nes import RkNES
from r1nes.arrays import Array
from r1nes.bench.analysis.statistics import summary
from r1nes.bench.runner import measure
from r1nes.bench.runner.measure import Cell, measure_cell
from r1nes.bench.runner.records import Record, Records, read_records
from r1nes.ranking import logarithmic
from r1nes.sampling import orthogonal
from r1nes.sampling.orthogonal import OrthogonalDirections
from r1nes.strategies.rank_k import rates, step, strategy

RECORDS = Path(__file__).parents[1] / "results" / "ablation.jsonl"
FUNCTIONS, DIM, INSTANCES, BUDGET = ["f1", "f2", "f8", "f10", "f11", "f12", "f14"], 32, range(1, 12), 200_000
WHOLE = "nothing"

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
    "all directions but one": lambda: setting(rank=(1, 0)),
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
    "single directions": in_pairs,
    "probes for noise": lambda: patch.object(RkNES, "heeds_noise", False),
}


def measured(part: str, function: str, instance: int) -> Record:
    """Run RkNES without the part; NumPy runs it, because compiled code would not see the change."""
    uncompiled = patch("r1nes.settings.choose", lambda *_: (False, "it was set"))
    with uncompiled, PARTS[part](), np.errstate(all="ignore"):
        record = measure_cell(Cell("rknes", function, DIM, instance, BUDGET))
    kept = ["function", "dim", "instance", "budget", "seed", "evaluations", "precision", "solved", "stop"]
    kept += ["seconds", "objective_seconds", "versions"]
    return {"without": part} | {name: record[name] for name in kept}


def run() -> None:
    """Append the runs that the record lacks."""
    with Records(RECORDS) as records:
        done = {(r["without"], r["function"], r["instance"]) for r in read_records(RECORDS)}
        for part in PARTS:
            for function in FUNCTIONS:
                for instance in INSTANCES:
                    if (part, function, instance) not in done:
                        records.append(measured(part, function, instance))


def table(records: list[Record]) -> str:
    """Return the table in Markdown."""
    runs = {(r["without"], r["function"], r["instance"]): r for r in records}
    lines = [f"| without | {' | '.join(FUNCTIONS)} | ratio |", "|---|" + "---|" * (len(FUNCTIONS) + 1)]
    for part in PARTS:
        cells = [cell([runs[part, function, i] for i in INSTANCES]) for function in FUNCTIONS]
        ratios = [
            runs[part, function, i]["evaluations"] / runs[WHOLE, function, i]["evaluations"]
            for function in FUNCTIONS
            for i in INSTANCES
            if runs[part, function, i]["solved"] and runs[WHOLE, function, i]["solved"]
        ]
        lines.append(f"| {part} | {' | '.join(cells)} | {math.exp(np.mean(np.log(ratios))):.2f} |")
    return "\n".join(lines) + "\n"


def cell(records: list[Record]) -> str:
    """Return the median evaluations over all runs, and how many succeeded unless all did."""
    found = summary(records)
    number = f"{found.median:,.0f}" if math.isfinite(found.median) else "–"
    return number if found.solved == found.runs else f"{number} ({found.solved}/{found.runs})"


def main() -> None:
    """Run what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--no-run", action="store_true", help="Print the table of the recorded runs only.")
    if not parser.parse_args().no_run:
        run()
    print(table(read_records(RECORDS)), end="")


if __name__ == "__main__":
    main()
