"""Compare methods: a table for the terminal and a figure of evaluations over the dimension."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from r1nes.bench.analysis.statistics import Summary
from r1nes.bench.functions.problems import titled
from r1nes.display.style import BLACK, BLUE, GREY, ORANGE, figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Summaries = dict[tuple[str, str, int], Summary]  # (method, function, dim) → summary

LEGEND = (
    "Median evaluations to 1e-8 over all runs or, if that is infinite, the median precision reached, in\n"
    "parentheses; then solved runs, and the method's own CPU time per evaluation in µs. In the figure,\n"
    "vertical lines are quartiles of the solved runs; hollow markers have fewer than 5 runs or failed ones."
)
ENOUGH = 5  # runs behind a filled marker

# Four line styles in four colours distinguish 16 methods; line styles and markers also in black and white.
COLORS = BLUE, ORANGE, BLACK, GREY
DASHES: list[tuple[int, tuple[float, ...]]] = [(0, ()), (0, (4, 2)), (0, (1, 1)), (0, (6, 2, 1, 2))]
MARKERS = "osD^v<>P"
PANELS = 4  # per row


def table(summaries: Summaries) -> str:
    """Return a table with a row per function and dimension and three columns per method."""
    methods = list(dict.fromkeys(method for method, _, _ in summaries))
    header = ["function", "d"]
    for method in methods:
        header += [method, "", "µs"]
    rows = [header]
    for function, dim in dict.fromkeys((function, dim) for _, function, dim in summaries):
        row = [function, str(dim)]
        for method in methods:
            row += _entry(summaries.get((method, function, dim)))
        rows.append(row)
    return "\n".join([*aligned(rows), "", LEGEND])


def _entry(summary: Summary | None) -> list[str]:
    if summary is None:
        return ["", "", ""]
    solved = math.isfinite(summary.median)
    evaluations = f"{summary.median:,.0f}" if solved else f"({summary.precision:.1e})"
    return [evaluations, f"{summary.solved}/{summary.runs}", f"{summary.own_microseconds:.1f}"]


def aligned(rows: list[list[str]]) -> Iterable[str]:
    """Yield the rows with columns aligned: the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        cells = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
        yield "  ".join([first.ljust(widths[0]), *cells]).rstrip()


def markdown(summaries: Summaries) -> str:
    """Return the table in Markdown, without times; the best entry of a row is bold.

    Solved runs and all runs are given where some failed, or where another method of the row has more runs.
    """
    methods = list(dict.fromkeys(method for method, _, _ in summaries))
    lines = [f"| function | d | {' | '.join(methods)} |", "|---|" + "---|" * (1 + len(methods))]
    shown = ""
    for function, dim in dict.fromkeys((function, dim) for _, function, dim in summaries):
        row = [summaries.get((method, function, dim)) for method in methods]
        order = [(entry.median, entry.precision) if entry else (math.inf, math.inf) for entry in row]
        most = max(entry.runs for entry in row if entry)
        cells = [_cell(entry, rank == min(order), most) for entry, rank in zip(row, order, strict=True)]
        name = titled(function)
        lines.append(f"| {name if name != shown else ''} | {dim} | {' | '.join(cells)} |")
        shown = name
    return "\n".join(lines) + "\n"


def _cell(summary: Summary | None, is_best: bool, most: int) -> str:
    if summary is None:
        return ""
    solved = math.isfinite(summary.median)
    number = f"{summary.median:,.0f}" if solved else f"({summary.precision:.2g})"
    number = f"**{number}**" if is_best else number
    is_plain = summary.solved in (0, summary.runs) and summary.runs == most
    return number if is_plain else f"{number} {summary.solved}/{summary.runs}"


class Look(NamedTuple):
    """How a method is drawn."""

    label: str
    color: str
    ls: tuple[int, tuple[float, ...]]
    marker: str
    lw: float = 1.3


def looks_of(methods: Iterable[str]) -> dict[str, Look]:
    """Return a different look for each of up to 16 methods."""
    return {
        method: Look(method, COLORS[k % 4], DASHES[(k + k // 4) % 4], MARKERS[k % 8])
        for k, method in enumerate(methods)
    }


def draw(
    summaries: Summaries,
    path: Path,
    *,
    statistic: str = "median",
    looks: Mapping[str, Look] | None = None,
    columns: int = PANELS,
    counted: str | None = None,
) -> None:
    """Draw a panel per function, with a line per method over the dimensions where ``statistic`` is finite.

    Below the lines of each panel stand the solved runs and all runs of the method ``counted``.
    """
    heights = {key: getattr(summary, statistic) for key, summary in summaries.items()}
    heights = {key: height for key, height in heights.items() if math.isfinite(height)}
    methods = dict.fromkeys(method for method, _, _ in summaries)
    looks = {method: look for method, look in (looks or looks_of(methods)).items() if method in methods}
    functions = list(dict.fromkeys(function for _, function, _ in summaries))
    lowest, highest = min(heights.values(), default=1.0), max(heights.values(), default=1.0)
    columns = min(columns, len(functions))
    width = 2.7 * max(1.0, PANELS / columns) ** 0.7  # fewer panels in a row are wider
    with figure(path, columns, rows=math.ceil(len(functions) / columns), width=width, height=2.4) as panels:
        for panel, function in zip(panels, functions, strict=False):
            _panel(panel, function, summaries, heights, looks)
            panel.set_ylim(lowest / (6 if counted in looks else 2), highest * 2)  # the same in all panels
            if counted in looks:
                runs = {key[2]: s for key, s in summaries.items() if key[:2] == (counted, function)}
                _counts(panel, lowest / 4.5, looks[counted].color, runs)
        for panel in panels[len(functions) :]:
            panel.set_axis_off()
        for panel in panels[::columns]:
            panel.set_ylabel("evaluations to 1e-8")
        page = panels[0].get_figure(root=True)
        if page is not None:
            lines, _ = panels[0].get_legend_handles_labels()
            page.legend(handles=lines, loc="outside lower center", ncols=min(2 * columns, len(lines)))


def _panel(
    panel: Axes,
    function: str,
    summaries: Summaries,
    heights: Mapping[tuple[str, str, int], float],
    looks: Mapping[str, Look],
) -> None:
    """Draw the lines of all methods on one function."""
    dims = sorted({dim for _, _, dim in summaries})
    for method, look in looks.items():
        solved = [dim for dim in dims if (method, function, dim) in heights]
        found = [summaries[method, function, dim] for dim in solved]
        _line(panel, solved, [heights[method, function, dim] for dim in solved], found, **look._asdict())
    panel.set(xscale="log", yscale="log", title=titled(function), xlabel="dimension d")
    panel.set_xticks(dims, [str(dim) for dim in dims], fontsize=7)
    panel.set_xticks([], minor=True)
    panel.set_xlim(dims[0] / 1.3, dims[-1] * 1.3)


def _counts(panel: Axes, height: float, color: str, runs: Mapping[int, Summary]) -> None:
    """Write how many runs of a method reached the target, at each dimension where it was run."""
    for dim, found in runs.items():
        text = f"{found.solved}/{found.runs}"
        panel.text(dim, height, text, color=color, fontsize=6.5, ha="center", va="center")


def _line(
    panel: Axes, dims: list[int], heights: list[float], summaries: list[Summary], *, color: str, **look: Any
) -> None:
    """Draw one method: a line, quartiles, and markers that are hollow where runs are few or failed."""
    firm = [s.runs >= ENOUGH and s.solved == s.runs for s in summaries]
    panel.plot(dims, heights, color=color, markersize=4, markevery=_where(firm), **look)
    unsure = _where([not each for each in firm])
    panel.plot(
        [dims[k] for k in unsure],
        [heights[k] for k in unsure],
        ls="none",
        marker=look["marker"],
        markersize=4,
        mec=color,
        mfc="white",
        zorder=3,
    )
    lower, upper = zip(*(s.quartiles for s in summaries), strict=True) if summaries else ((), ())
    panel.vlines(dims, lower, upper, color=color, lw=0.8, zorder=1.5)  # below the markers


def _where(chosen: list[bool]) -> list[int]:
    return [k for k, each in enumerate(chosen) if each]
