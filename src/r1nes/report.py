"""What a checkpoint tells of its run, in words and as a figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from r1nes.bench.style import BLACK, BLUE, GREY, ORANGE, figure
from r1nes.restarts import Search
from r1nes.saving import read


def describe(path: Path) -> str:
    """The run in a few lines."""
    tree = read(path)
    search = Search.from_state(tree["search"])
    result = search.optimizer.result
    lines = {
        "function": tree["fun"]["name"],
        "method": f"{search.settings['method']}, {search.settings['x0'].size} variables",
        "population": f"{search.optimizer.popsize}, after {result.restarts} restarts",
        "generations": f"{result.nit:,}",
        "evaluations": f"{result.nfev:,}, of which {result.nan_count:,} NaN",
        "best value": f"{result.fun:.12g}",
        "state": result.message,
    }
    return "\n".join(f"{name:12} {value}" for name, value in lines.items())


def draw(path: Path, to: Path) -> None:
    """The values and the step size over the evaluations, restarts marked; in three formats."""
    history: dict[str, Any] = read(path)["history"]
    if not history:
        raise ValueError(f"{path} has no history yet: no generation is complete")
    nfev = history["nfev"]
    with figure(to, 2) as (values, sizes):
        offset = min(0.0, float(np.nanmin(history["min"])))
        shown = f"value − ({offset:.6g})" if offset else "value"
        for name, colour in (("max", GREY), ("median", BLUE), ("best", BLACK)):
            values.plot(nfev, history[name] - offset, color=colour, label=name)
        values.set(xlabel="evaluations", ylabel=shown, yscale="log")
        sizes.plot(nfev, history["sigma"], color=ORANGE, label="σ")
        sizes.set(xlabel="evaluations", ylabel="step size σ", yscale="log")
        for axes in (values, sizes):
            for start in nfev[np.flatnonzero(np.diff(history["restart"]))]:
                axes.axvline(start, color=GREY, linewidth=0.8, linestyle=":")
        values.legend()
