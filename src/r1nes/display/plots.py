"""Plots of a run: values, step sizes, the stretches of its directions and, with two variables, its path."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from r1nes.arrays import Array
from r1nes.display.style import BLACK, BLUE, GREEN, GREY, ORANGE, RED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

History = dict[str, NDArray[np.float64]]
Contour = Callable[[Array], float]

WIDTH, HEIGHT, COLUMNS = 3.8, 2.9, 3  # size of a panel in inches; panels per row
ELLIPSES = 14  # along the path of the mean
GRID = 80  # points per side of the contour grid
LEVELS = 16  # contour lines
POINTS = 1500  # per curve; more could not be told apart
COLOURS = [ORANGE, GREEN, RED, BLUE]


def draw(page: Figure, history: History, contour: Contour | None = None) -> None:
    """Draw one panel on ``page`` for each quantity in ``history``."""
    generations = history["nfev"].size
    shown = np.unique(np.linspace(0, generations - 1, min(generations, POINTS)).astype(int))
    history = {name: column[shown] for name, column in history.items()}
    panels = [_draw_values, _draw_sizes]
    if _stretches(history):
        panels.append(_draw_stretches)
    if "alignment" in history:
        panels.append(_draw_alignment)
    n = len(panels) + ("mean1" in history)
    columns = 2 if n == 4 else min(n, COLUMNS)
    rows = -(-n // columns)
    page.set_size_inches(WIDTH * columns, HEIGHT * rows)
    axes = list(page.subplots(rows, columns, squeeze=False).flat)
    for panel, draw_panel in zip(axes, panels, strict=False):
        draw_panel(panel, history)
        for start in history["nfev"][np.flatnonzero(np.diff(history["restart"]))]:
            panel.axvline(start, color=GREY, lw=0.8, ls=":")
        panel.set(xlabel="evaluations", xlim=(0, None))
        panel.legend()
    if "mean1" in history:
        draw_path(axes[n - 1], history, contour)
    for panel in axes[n:]:
        panel.remove()


def _draw_values(panel: Axes, history: History) -> None:
    nfev, best = history["nfev"], _finite(history["best"])
    lowest = np.nanmin(best) if np.isfinite(best).any() else 0.0
    offset = min(0.0, float(lowest))  # a log scale needs positive values
    low, median, high = (_finite(history[name]) - offset for name in ("min", "median", "max"))
    panel.fill_between(nfev, low, high, color=GREY, alpha=0.4, lw=0, label="range of a generation")
    panel.plot(nfev, median, color=BLUE, lw=0.8, label="median of a generation")
    panel.plot(nfev, best - offset, color=BLACK, label="best so far")
    panel.set(yscale="log", ylabel=f"value + {-offset:.6g}" if offset else "value", title="Values")


def _draw_sizes(panel: Axes, history: History) -> None:
    nfev, sigma = history["nfev"], history["sigma"]
    if "min_std" in history:
        low, high = history["min_std"], history["max_std"]
        panel.fill_between(nfev, low, high, color=GREY, alpha=0.4, lw=0, label="range over the variables")
    stretches = _stretches(history)
    for (name, c), colour in zip(stretches.items(), COLOURS, strict=False):
        along = np.sqrt(1 + np.exp(2 * c)) if name == "c" else np.exp(c)  # R1-NES has I + uuᵀ
        label = "along u" if name == "c" else f"σ exp(c), {_direction(name)}"
        panel.plot(nfev, sigma * along, color=colour, label=label)
    label = "σ, other directions" if "c" in stretches else "σ, average of the base" if stretches else "σ"
    panel.plot(nfev, sigma, color=BLACK, label=label)
    panel.set(yscale="log", title="Standard deviations")


def _draw_stretches(panel: Axes, history: History) -> None:
    for (name, c), colour in zip(_stretches(history).items(), COLOURS, strict=False):
        label = "c = log ‖u‖" if name == "c" else f"c, {_direction(name)}"
        panel.plot(history["nfev"], c, color=colour, label=label)
    panel.set(title="Log stretches")


def _draw_alignment(panel: Axes, history: History) -> None:
    panel.plot(history["nfev"], history["alignment"], color=ORANGE, lw=0.8, label="|cosine|")
    panel.set(ylim=(0, 1.02), title="Alignment of path and longest direction")


def draw_path(panel: Axes, history: History, contour: Contour | None) -> None:
    """Draw ellipses of one standard deviation along the path of the mean, on the contours of the function."""
    means = np.stack([history["mean1"], history["mean2"]], axis=1)
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(means, axis=0), axis=1))])
    chosen = np.unique(np.searchsorted(length, np.linspace(0, length[-1], ELLIPSES)))
    circle = np.stack([np.cos(t := np.linspace(0, 2 * np.pi, 100)), np.sin(t)])
    for k in chosen:
        a, b, c = (history[name][k] for name in ("var1", "cov12", "var2"))
        root = np.array([[np.sqrt(a), 0], [b / np.sqrt(a), np.sqrt(max(0.0, c - b * b / a))]])
        panel.plot(*(means[k, :, None] + root @ circle), color=ORANGE, lw=1)
    panel.plot(*means.T, color=BLUE, lw=0.8, label="mean")
    panel.plot(*means[-1], color=RED, marker="+", ls="none", label="end")
    panel.set(xlabel="x₁", ylabel="x₂", title="Path")
    if contour is not None:
        _draw_contour(panel, contour)
    panel.legend()


def _draw_contour(panel: Axes, contour: Contour) -> None:
    x, y = np.meshgrid(np.linspace(*panel.get_xlim(), GRID), np.linspace(*panel.get_ylim(), GRID))
    points = np.stack([x.ravel(), y.ravel()], axis=1)
    heights = np.array([float(contour(point)) for point in points])
    finite = heights[np.isfinite(heights)]
    if not finite.size:
        return
    levels = np.unique(np.quantile(finite, np.linspace(0.03, 1, LEVELS) ** 2))  # denser at low values
    panel.contour(x, y, heights.reshape(x.shape), levels=levels, colors=GREY, linewidths=0.6, zorder=0)


def _stretches(history: History) -> dict[str, NDArray[np.float64]]:
    """Return the columns of log stretches: c of R1-NES, or c0, c1, … of RkNES."""
    return {name: column for name, column in history.items() if re.fullmatch(r"c\d*", name)}


def _direction(name: str) -> str:
    return f"direction {int(name[1:]) + 1}"


def _finite(column: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isfinite(column), column, np.nan)
