"""The table, the figure and the growth exponents of the times that ``overhead.py`` measures.

Not a script; see ``overhead.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from r1nes.bench.analysis.statistics import growth_exponent
from r1nes.display.style import BLACK, BLUE, GREEN, GREY, ORANGE, RED, figure

UNIT = "NumPy's noise"

Seconds = dict[tuple[str, int], float]  # per evaluation, by method and dimension


def growth(seconds: Seconds, names: Iterable[str], quadratic: set[str]) -> dict[str, float]:
    """Return the exponent of d for each method that was measured in two dimensions or more."""
    exponents = {}
    for name in names:
        least, most = (512, 2048) if name in quadratic else (10_000, 1_000_000)
        points = {d: own for (method, d), own in seconds.items() if method == name and least <= d <= most}
        if len(points) >= 2:
            exponents[name] = growth_exponent(list(points), list(points.values()))
    return exponents


def table(seconds: Seconds, failed: dict[str, str], names: Iterable[str], dims: list[int]) -> str:
    """Return a table of microseconds per evaluation, with the ratio to the unit in parentheses."""
    lines = [f"{'µs per evaluation (of the noise)':24}" + "".join(f"{f'd={d:,}':>20}" for d in dims)]
    for name in [UNIT, *names]:
        row = f"{name:24}"
        for d in dims:
            own = seconds.get((name, d))
            if own is None:
                row += f"{'fails' if f'{name} {d}' in failed else '–':>20}"
            else:
                row += f"{f'{1e6 * own:,.2f} ({own / seconds[UNIT, d]:.2f})':>20}"
        lines.append(row)
    lines += [f"  {cell}: {reason}" for cell, reason in failed.items()]
    return "\n".join(lines)


def draw(seconds: Seconds, path: Path) -> None:
    """Draw microseconds over d on log scales."""
    looks = {
        "r1nes + numba": (BLUE, "-", "o"),
        "rknes + numba": (GREEN, "-", "s"),
        "snes + numba": (ORANGE, "-", "D"),
        "xnes + numba": (RED, "-", "^"),
        "r1nes": (BLUE, ":", ""),
        "rknes": (GREEN, ":", ""),
        "snes": (ORANGE, ":", ""),
        UNIT: (BLACK, "--", ""),
    }
    ends: list[tuple[float, int, str]] = []
    with figure(path, 1, width=7.2, height=5.0) as (panel,):
        for name in dict.fromkeys(name for name, _ in seconds):
            dims, costs = zip(
                *sorted((d, 1e6 * s) for (other, d), s in seconds.items() if other == name), strict=True
            )
            color, style, marker = looks.get(name, (GREY, "-", ""))
            label = name if name in looks else None
            panel.plot(
                dims, costs, color=color, ls=style, marker=marker, ms=4, label=label, lw=1.6 if label else 0.7
            )
            if label is None:
                ends.append((costs[-1], dims[-1], name))
        lowest: dict[int, float] = {}
        for cost, d, name in sorted(ends):  # stack the labels of lines that end together
            lowest[d] = max(cost, 1.5 * lowest.get(d, 0.0))
            panel.annotate(name, (1.15 * d, lowest[d]), fontsize=6, color=BLACK, va="center")
        panel.set(xscale="log", yscale="log", xlabel="variables d", ylabel="own µs per evaluation")
        panel.set_xlim(1.6, 2e7)
        panel.legend(loc="upper left")
