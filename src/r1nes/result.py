"""The result of ``minimize``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scipy.optimize import OptimizeResult

from r1nes.display.plots import Contour, draw
from r1nes.display.style import RC
from r1nes.extras import needs

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Result(OptimizeResult):
    """SciPy's ``OptimizeResult`` with a method that plots the run."""

    def plot(self, contour: Contour | None = None) -> Figure:
        """Plot the run and return the Matplotlib figure, to show or to save with ``savefig``.

        Panels show the values, the step size σ with the standard deviations along the directions, the log
        stretches c of the directions and, for RkNES, how well the longest direction is aligned with the
        recent path of the mean. Dotted lines mark restarts.

        Args:
            contour: For a run with two variables, a function whose contours are drawn beneath the path; it is
                evaluated some thousand times. Ellipses along the path show the distribution; with bounds,
                before points are folded into the box.
        """
        if not self.history:
            raise ValueError("plot needs a history, but no generation has been completed")
        if contour is not None and "mean1" not in self.history:
            raise ValueError(
                f"contour needs a run with 2 variables, none of them fixed, got one with {len(self.x)}"
            )
        with needs("matplotlib", extra="plot"):
            from matplotlib import pyplot

        with pyplot.rc_context(RC):
            page = pyplot.figure()
            draw(page, self.history, contour)
        return page
