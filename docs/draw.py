"""Draws the pictures that the pages show of their own code, and of how to choose: ``python docs/draw.py``."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from r1nes.display.style import BLACK, BLUE, GREY, ORANGE, RC

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DOCS = Path(__file__).parent
FIGURES = DOCS / "figures"

QUESTIONS = [  # what to ask, and what to do if the answer is yes
    ("Are gradients to be had, and worth having?", "scipy.optimize.minimize\n(L-BFGS), or your framework's"),
    (
        "Only a few hundred evaluations in all,\nor choices among the variables?",
        "a model-based search,\nsuch as Optuna's TPE",
    ),
    (
        "At most some 60 variables, and so many scales\nin all directions that the default is stuck?",
        'method="xnes", or CMA-ES',
    ),
    (
        "Do the variables hardly interact, and is the\nfunction noisy, or a matter of microseconds?",
        'method="snes"',
    ),
    ("Are you comparing with the paper?", 'method="r1nes"'),
]
OTHERWISE = "the default, rknes"


def run(page: str) -> dict[str, Any]:
    """The names that the code of a page has defined, after it ran in a folder of its own."""
    code = "\n".join(
        re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(), re.DOTALL | re.MULTILINE)
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
    """The measured spectrum, and what was fitted to it."""
    panel.plot(names["grid"], names["measured"], ".", color=GREY, label="measured")
    panel.plot(names["grid"], names["found"], color=ORANGE, label="found")
    for place in names["places"]:
        panel.axvline(place, color=BLUE, lw=0.6, ls=":")
    panel.legend()


def draw_choice(panel: Axes) -> None:
    """Questions downwards; whoever says yes leaves to the right."""
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
    """Four pictures."""
    tutorial, pictures = run("tutorial.md"), run("pictures.md")
    tutorial["figure"].savefig(FIGURES / "tutorial_run.png")
    pictures["figure"].savefig(FIGURES / "run.png")
    with mpl.rc_context(RC):
        page = Figure(figsize=(6.4, 2.8))
        draw_fit(page.subplots(), tutorial)
        page.savefig(FIGURES / "tutorial_fit.png")
        page = Figure(figsize=(7.2, 5.2))
        draw_choice(page.subplots())
        page.savefig(FIGURES / "choose.png")


if __name__ == "__main__":
    mpl.use("agg")
    main()
