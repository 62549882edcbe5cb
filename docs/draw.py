"""Draw the figures of the README and the pages, from recorded runs and the pages' own code."""

from __future__ import annotations

import json
import os
import re
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from r1nes import Optimizer, RkNES
from r1nes.bench.analysis.statistics import summary
from r1nes.bench.functions.textbook import cigar, tablet
from r1nes.bench.runner.records import Record, read_records
from r1nes.display.plots import draw_path
from r1nes.display.style import BLACK, BLUE, GREEN, GREY, ORANGE, RC, RED

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

    from r1nes.arrays import Array

DOCS = Path(__file__).parent
FIGURES = DOCS / "figures"
RESULTS = DOCS.parent / "results"

QUESTIONS = [  # each question, and the advice if the answer is yes
    ("Are gradients available and useful?", "scipy.optimize.minimize\n(L-BFGS), or your framework's"),
    (
        "Only a few hundred evaluations in total,\nor categorical variables?",
        "a model-based search,\nsuch as Optuna's TPE",
    ),
    (
        "Do the variables hardly interact, and is the\nfunction very cheap (microseconds)?",
        'method="snes"',
    ),
    ("Are you comparing with the R1-NES paper?", 'method="r1nes"'),
]
OTHERWISE = "the default, rknes"
NETWORK_METHODS = {
    "snes": ("SNES", BLUE),
    "crfmnes": ("CR-FM-NES", GREY),
    "openai-es": ("OpenAI-ES, tuned", GREEN),
    "rknes": ("r1nes default", ORANGE),
}

NOISY_METHODS = {  # as in results/noise.json: label, colour and marker
    "rknes": ("r1nes default", ORANGE, "o"),
    "cmaes, lr_adapt": ("cmaes, lr_adapt", BLUE, "s"),
    "pycma, handler": ("pycma, NoiseHandler", GREEN, "^"),
    "pycma": ("pycma", RED, "v"),
    "snes": ("SNES", GREY, "D"),
}
AXES = {  # functions with one long or short axis, and the length that its direction should find
    cigar: ("A direction grows: rotated cigar, d = 32", "log 1000", np.log(1000)),
    tablet: ("A direction shrinks: rotated tablet, d = 32", "−log 1000", -np.log(1000)),
}
NOISES = {"0.1": "+ 0.1 N", "1": "+ N", "factor": "× $e^{0.3N}$"}


def run(page: str) -> dict[str, Any]:
    """Run a page's code in a temporary folder and return the names it defines."""
    code = "\n".join(
        re.findall(
            r"^```python\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
        )
    )
    names: dict[str, Any] = {"__name__": "page"}
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            exec(code, names)
        finally:
            os.chdir(here)
    return names


def draw_fit(panel: Axes, names: dict[str, Any]) -> None:
    """Draw the measured spectrum and the fit to it."""
    panel.plot(names["grid"], names["measured"], ".", color=GREY, label="measured")
    panel.plot(names["grid"], names["fitted"], color=ORANGE, label="fitted")
    for position in names["positions"]:
        panel.axvline(position, color=BLUE, lw=0.6, ls=":")
    panel.legend()


def rosenbrock_runs(method: str) -> dict[int, list[Record]]:
    """Return a method's recorded runs on BBOB's f8, grouped by the number of variables, from 32 up."""
    runs: dict[int, list[Record]] = {}
    for record in read_records(RESULTS / "paper" / "records.jsonl"):
        if (record["method"], record["function"]) == (method, "f8") and record["dim"] >= 32:
            runs.setdefault(record["dim"], []).append(record)
    return dict(sorted(runs.items()))


def draw_rosenbrock(panel: Axes) -> None:
    """Draw evaluations to the target over the number of variables: single runs, medians and their ratios."""
    published, default = rosenbrock_runs("r1nes"), rosenbrock_runs("rknes")
    _draw_runs(panel, published, BLUE, "R1-NES (2011)")
    _draw_runs(panel, default, ORANGE, "r1nes default")
    for dim, records in default.items():
        low, high = summary(records).median, summary(published[dim]).median
        panel.plot([dim, dim], [low, high], color=GREY, lw=1, ls=":", zorder=1)
        fewer = " fewer" if dim == max(default) else ""  # space is left to its right only
        panel.text(dim * 1.06, low**0.4 * high**0.6, f"{high / low:.0f}×{fewer}", va="center")
    records = [record for runs in (published, default) for group in runs.values() for record in group]
    solved = sum(record["solved"] for record in records)
    panel.text(
        2300, 7e3, f"lines: medians\ndots: single runs\n({solved} of {len(records)} solved)", ha="right"
    )
    panel.set(xscale="log", yscale="log", xlim=(28, 2400), ylim=(5e3, 1.4e8), xlabel="number of variables")
    panel.set_xticks(list(published), [str(dim) for dim in published])
    ticks = {1e4: "10,000", 1e5: "100,000", 1e6: "1 million", 1e7: "10 million", 1e8: "100 million"}
    panel.set_yticks(list(ticks), list(ticks.values()))
    panel.minorticks_off()


def _draw_runs(panel: Axes, runs: dict[int, list[Record]], colour: str, label: str) -> None:
    """Draw the medians of a method's runs as a line, and its solved runs as dots."""
    dims, medians = list(runs), [summary(records).median for records in runs.values()]
    panel.plot(dims, medians, color=colour, lw=2.2)
    dots = [(dim, r["evaluations"]) for dim, records in runs.items() for r in records if r["solved"]]
    panel.plot(*zip(*dots, strict=True), "o", color=colour, ms=5.5, mec="white", mew=0.5)
    panel.annotate(
        f"{label}\n{medians[-1] / 1e6:.0f} million",
        (dims[-1], medians[-1]),
        xytext=(9, 0),
        textcoords="offset points",
        color=colour,
        fontweight="bold",
        va="center",
    )


def draw_networks(page: Figure) -> None:
    """Draw the learning curves of each network: single runs, and their medians."""
    records = json.loads((RESULTS / "networks.json").read_text(encoding="utf-8"))
    tasks = list(dict.fromkeys(key.split("|")[0] for key in records))
    panels = list(page.subplots(2, 3).flat)
    for task, panel in zip(tasks, panels, strict=True):
        for method, (label, colour) in NETWORK_METHODS.items():
            curves = [
                np.array(record["curve"])
                for key, record in records.items()
                if key.split("|")[:2] == [task, method]
            ]
            for curve in curves:
                panel.plot(*curve.T, color=colour, lw=0.5, alpha=0.35)
            middle = np.median([curve[:, 1] for curve in curves], axis=0)
            panel.plot(curves[0][:, 0], middle, color=colour, lw=2, label=label)
        is_loss = task.startswith("digits")
        panel.set(title=task, yscale="log" if is_loss else "linear", xlabel="evaluations")
        panel.set_ylabel("training loss" if is_loss else "return on test episodes")
    panels[0].legend()


def draw_noise(panel: Axes, dim: int) -> None:
    """Draw the true values of the mean after 100,000 noisy evaluations: medians over the recorded seeds."""
    ends: dict[tuple[str, str, str], list[float]] = {}
    for key, (_, end) in json.loads((RESULTS / "noise.json").read_text(encoding="utf-8")).items():
        method, d, function, noise, _ = key.split("|")
        if int(d) == dim:
            ends.setdefault((method, function, noise), []).append(max(1e-8, end))
    problems = [(f, noise) for f in ("sphere", "ellipsoid", "rosenbrock") for noise in NOISES]
    for method, (label, colour, marker) in NOISY_METHODS.items():
        values = [median(ends[method, *problem]) for problem in problems]
        order = 3 if method == "rknes" else 2
        rows = range(len(problems))
        panel.plot(values, rows, marker, color=colour, ms=6, alpha=0.8, label=label, zorder=order, ls="")
    labels = [f"{function.capitalize()} {NOISES[noise]}" for function, noise in problems]
    panel.set_yticks(range(len(problems)), labels)
    panel.set(xscale="log", xlabel="true value of the mean", title=f"{dim} variables")


def draw_direction(above: Axes, below: Axes, function: Callable[[Array], Array]) -> None:
    """Draw how RkNES over a diagonal finds the axis of a rotated function, from one run."""
    title, label, expected = AXES[function]
    rng = np.random.default_rng(1)
    Q = np.linalg.qr(rng.standard_normal((32, 32)))[0]
    optimizer = Optimizer(rng.standard_normal(32), 1.0, method=RkNES(base="diagonal"), ftarget=1e-8, rng=1)
    rows = []
    while not optimizer.stop():
        X = optimizer.ask()
        optimizer.tell(X, function(X @ Q))
        slot, power = (0, 1) if expected > 0 else (-1, -1)  # a short axis is a long one of the inverse
        _, B, V, a, *_ = optimizer.strategy.state
        axis = B**power * V[slot]
        sine = np.linalg.norm(axis - axis.dot(Q[:, 0]) * Q[:, 0]) / np.linalg.norm(axis)
        values = np.log(a[slot]), np.log(optimizer.strategy.sigma), np.arcsin(min(1.0, sine))
        rows.append([optimizer.nfev, *values, optimizer.best])
    nfev, c, log_sigma, angle, best = np.transpose(rows)
    above.plot(nfev, c, color=ORANGE, label="c")
    above.plot(nfev, log_sigma, color=BLUE, ls="--", label="log σ")
    above.axhline(expected, color=BLACK, lw=0.8)
    above.annotate(label, (0, expected), xytext=(3, 3), textcoords="offset points")
    above.set(title=title, xlim=(0, None))
    below.plot(nfev, best, color=GREY, label="best value")
    below.plot(nfev, angle, color=BLACK, label="angle to the axis")
    below.set(yscale="log", xlabel="evaluations", xlim=(0, None))


def draw_choice(panel: Axes) -> None:
    """Draw the questions as a column; each yes leads right, to the advice."""
    panel.set(xlim=(0, 10), ylim=(-1.35 * len(QUESTIONS) - 0.5, 0.5))
    panel.axis("off")
    for k, (question, answer) in enumerate(QUESTIONS):
        y = -1.35 * k
        _box(panel, 2.6, y, 4.9, question, "white", BLACK)
        ours = answer.startswith("method")
        _box(panel, 8.0, y, 3.6, answer, "#fdf0e4" if ours else "#f0f0f0", ORANGE if ours else GREY)
        _arrow(panel, (5.05, y), (6.2, y), "yes")
        _arrow(panel, (2.6, y - 0.45), (2.6, y - 0.9), "no")
    _box(panel, 2.6, -1.35 * len(QUESTIONS), 4.9, OTHERWISE, "#fdf0e4", ORANGE)


def _box(panel: Axes, x: float, y: float, width: float, text: str, fill: str, edge: str) -> None:
    corner = (x - width / 2, y - 0.4)
    style = "round,pad=0.05,rounding_size=0.15"
    panel.add_patch(FancyBboxPatch(corner, width, 0.8, boxstyle=style, facecolor=fill, edgecolor=edge))
    panel.text(x, y, text, ha="center", va="center")


def _arrow(panel: Axes, start: tuple[float, float], end: tuple[float, float], text: str) -> None:
    panel.annotate("", end, xytext=start, arrowprops={"arrowstyle": "->", "color": BLACK})
    x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    sideways = start[1] == end[1]
    panel.text(
        x + (0 if sideways else 0.1),
        y + (0.08 if sideways else 0),
        text,
        color=GREY,
        va="bottom" if sideways else "center",
        ha="center" if sideways else "left",
    )


def main() -> None:
    """Draw all figures and save them in ``docs/figures``."""
    with mpl.rc_context(RC | {"font.size": 11}):  # readable at the width of a phone
        page = Figure(figsize=(6.0, 3.8))
        page.suptitle("Evaluations needed to minimise Rosenbrock's function to 1e-8", x=0.01, ha="left")
        draw_rosenbrock(page.subplots())
        page.savefig(FIGURES / "rosenbrock.png")
    tutorial, pictures = run("tutorial.md"), run("pictures.md")
    tutorial["figure"].savefig(FIGURES / "tutorial_run.png")
    pictures["figure"].savefig(FIGURES / "run.png")
    with mpl.rc_context(RC):
        page = Figure(figsize=(6.4, 2.8))
        draw_fit(page.subplots(), tutorial)
        page.savefig(FIGURES / "tutorial_fit.png")
        page = Figure(figsize=(10.0, 5.4))
        draw_networks(page)
        page.savefig(FIGURES / "networks.png")
        page = Figure(figsize=(8.4, 3.9))
        left, right = page.subplots(1, 2, sharey=True)
        draw_noise(left, 10)
        draw_noise(right, 32)
        left.invert_yaxis()  # shared
        page.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=5)
        page.savefig(FIGURES / "noise.png")
        page = Figure(figsize=(8.0, 5.6))
        for *panels, function in zip(*page.subplots(2, 2), AXES, strict=True):
            draw_direction(*panels, function)
            for panel in panels:
                panel.legend()
        page.savefig(FIGURES / "directions.png")
        page = Figure(figsize=(5.0, 3.8))
        panel = page.subplots()
        panel.set(xlim=(-1.5, 1.5), ylim=(-0.5, 1.5))
        draw_path(panel, pictures["result"].history, pictures["rosenbrock"])
        panel.set_title("Rosenbrock's valley")
        panel.legend(loc="lower left")
        page.savefig(FIGURES / "valley.png")
        page = Figure(figsize=(7.2, 4.3))
        draw_choice(page.subplots())
        page.savefig(FIGURES / "choose.png")


if __name__ == "__main__":
    mpl.use("agg")
    main()
