"""What ``minimize`` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scipy.optimize import OptimizeResult

from r1nes.display.plots import Contour, draw
from r1nes.display.style import RC
from r1nes.extras import needs

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Result(OptimizeResult):
    """SciPy's ``OptimizeResult``, which can also be looked at."""

    def plot(self, contour: Contour | None = None) -> Figure:
        """The run as a figure of Matplotlib's ``pyplot``: to show, or to save by its ``savefig``.

        Panels show the values, the step size σ with the standard deviations along the directions, the
        directions' stretches c and, of RkNES, how well the longest direction agrees with the way that the
        mean has taken lately. Dotted lines are restarts.

        Args:
            contour: A function of two variables, whose contours are drawn beneath the course of the search;
                it is evaluated some thousand times. If the search has two variables, ellipses show the
                distribution from time to time; with bounds, as it is before points are folded into the box.
        """
        if not self.history:
            raise ValueError("there is nothing to plot: no generation is complete")
        if contour is not None and len(self.x) != 2:
            raise ValueError(f"contour needs a function of 2 variables, this one has {len(self.x)}")
        with needs("matplotlib", extra="plot"):
            from matplotlib import pyplot

        with pyplot.rc_context(RC):
            page = pyplot.figure()
            draw(page, self.history, contour)
        return page
