"""The report of a checkpoint: a short summary and a self-contained HTML page."""

from __future__ import annotations

import io
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from r1nes.arrays import Array, host
from r1nes.display import plots
from r1nes.display.pages import embedded, rendered
from r1nes.display.plots import Contour
from r1nes.display.style import BLUE, RC
from r1nes.display.text import printable
from r1nes.extras import needs
from r1nes.history import Recorder
from r1nes.restarts import Search
from r1nes.storage.run_file import read, restoring
from r1nes.strategies import name_of

SHOWN = 200  # variables in the table of the page


class Report:
    """The run whose checkpoint is at ``path``; never imports or calls the user's code.

    The file may come from anyone. It cannot make the report import a library either: the arrays of a PyTorch
    or JAX run are shown as NumPy's.
    """

    def __init__(self, path: Path) -> None:
        """Read the checkpoint."""
        self.path = path
        tree = read(path)
        with restoring(path):
            self.history: plots.History = _checked_history(tree["history"])
            self.search = Search.from_state(_on_numpy(tree["search"]))
            self.result = self.search.optimizer.result
            self.name = printable(str(tree["fun"]["name"]))
            self.is_vectorized = bool(tree["fun"]["vectorized"])
            self.facts()

    def facts(self) -> dict[str, str]:
        """Return the summary, by name."""
        result, settings = self.result, self.search.settings
        return {
            "function": self.name,
            "method": f"{name_of(settings.algorithm)}, {settings.start.size:,} variables",
            "population": f"{self.search.optimizer.popsize}, after {result.restarts} restarts",
            "generations": f"{result.nit:,}",
            "evaluations": f"{result.nfev:,}, of which {result.nan_count:,} NaN",
            "best value": f"{result.fun:.12g}",
            "state": result.message,
        }

    def text(self) -> str:
        """Return the summary as lines of text."""
        return "\n".join(f"{name:12} {value}" for name, value in self.facts().items())

    def write(self, to: Path, contour: Contour | None = None) -> None:
        """Write the page, which contains its figures, to the file ``to``."""
        if not self.history:
            raise ValueError(f"{self.path} has no history yet: no generation has been completed")
        x, stds = host(self.result.x), host(self.search.optimizer.stds)
        page = rendered(
            "r1nes.display",
            "report.html",
            name=self.path.name,
            facts=self.facts(),
            settings={name: _brief(value) for name, value in self._settings().items()},
            progress=_svg(lambda figure: plots.draw(figure, self.history, contour)),
            deviations=_svg(lambda figure: _draw_deviations(figure, stds)),
            two_variables="mean1" in self.history,
            variables=list(zip(x[:SHOWN], stds[:SHOWN], strict=True)),
            left_out=max(0, x.size - SHOWN),
            version=version("r1nes"),
        )
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(page, encoding="utf-8")

    def _settings(self) -> dict[str, Any]:
        """Return all settings of the run, given or by default."""
        settings = self.search.settings.to_plain()
        seed, _ = settings.pop("rng"), settings.pop("method_settings")
        method = repr(self.search.settings.algorithm)  # with its settings
        return settings | {"method": method, "restarts": self.search.restarts, "seed": seed["entropy"]}


def _on_numpy(search: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a search as that of one on NumPy arrays and without numba."""
    changes = {"arrays": None, "sampling": None, "compiled": False}
    optimizer = search["optimizer"]
    optimizer = {**optimizer, "settings": {**optimizer["settings"], **changes}}
    return {**search, "settings": {**search["settings"], **changes}, "optimizer": optimizer}


def _checked_history(columns: plots.History) -> plots.History:
    recorder = Recorder()
    recorder.restore(columns)
    return recorder.columns()


def _svg(draw: Any) -> str:
    """Return the figure that ``draw`` fills, as the data URL of an SVG image."""
    with needs("matplotlib", extra="plot"):
        import matplotlib as mpl
        from matplotlib.figure import Figure

    with mpl.rc_context(RC):
        figure = Figure()
        draw(figure)
        file = io.BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return embedded(file.getvalue())


def _draw_deviations(figure: Any, stds: Array) -> None:
    figure.set_size_inches(2 * plots.WIDTH, plots.HEIGHT)
    panel = figure.subplots()
    few = stds.size <= 50
    panel.plot(
        np.arange(1, stds.size + 1), stds, color=BLUE, marker="o" if few else "", ls="" if few else "-"
    )
    panel.xaxis.get_major_locator().set_params(integer=True)
    panel.set(xlabel="variable", ylabel="standard deviation", yscale="log", title="Search distribution")


def _brief(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, np.ndarray):
        return np.array2string(value, threshold=6, edgeitems=2, precision=6)
    return str(value)
