"""The style of all figures: colours that remain distinct in black and white."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from r1nes.extras import needs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RC: dict[Any, Any] = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": "medium",
    "figure.constrained_layout.use": True,
    "figure.dpi": 100,
    "font.size": 9,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "legend.fontsize": "small",
    "lines.linewidth": 1.3,
    "savefig.dpi": 160,
    "svg.fonttype": "path",  # looks the same whatever fonts are installed
    "svg.hashsalt": "r1nes",  # the same figure gives the same file
}

BLACK, BLUE, ORANGE, GREY = "#111111", "#1f5fa8", "#c8641a", "#9a9a9a"
GREEN, RED = "#2c8a4b", "#b3202c"


@contextmanager
def figure(
    path: Path, columns: int, *, rows: int = 1, width: float = 3.6, height: float = 2.8
) -> Iterator[list[Axes]]:
    """Yield panels, row by row, to draw on; then save the figure as SVG, PNG and PDF."""
    with needs("matplotlib", extra="plot"):
        import matplotlib as mpl
        from matplotlib.figure import Figure

    with mpl.rc_context(RC):
        page = Figure(figsize=(width * columns, height * rows))
        yield list(page.subplots(rows, columns, squeeze=False).flat)
        path.parent.mkdir(parents=True, exist_ok=True)
        page.savefig(path.with_suffix(".svg"), metadata={"Date": None})
        page.savefig(path.with_suffix(".pdf"), metadata={"CreationDate": None})
        page.savefig(path.with_suffix(".png"))
