"""Draw how the directions of RkNES adapt.

    python benchmarks/directions.py docs/figures

One direction grows on a rotated cigar, one shrinks on a rotated tablet, one turns along Rosenbrock's valley.
Writes ``directions`` and ``valley`` as SVG, PNG and PDF to the given folder (default: the current one).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from r1nes import Optimizer
from r1nes.arrays import Array
from r1nes.bench.functions import textbook
from r1nes.display.style import BLACK, BLUE, GREY, ORANGE, figure
from r1nes.strategies.rank_k.strategy import RankKGaussian

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DIM = 32
ELLIPSES = 12  # along the valley


def run(
    f: Callable[[Array], Array], x0: Array, sigma0: float, **settings: Any
) -> list[tuple[int, float, RankKGaussian]]:
    """Return evaluations, best value and distribution after each generation, down to 1e-8."""
    optimizer = Optimizer(x0, sigma0, method="rknes", ftarget=1e-8, rng=1, **settings)
    course = []
    while not optimizer.stop():
        X = optimizer.ask()
        optimizer.tell(X, f(X))
        assert isinstance(optimizer.strategy, RankKGaussian)
        course.append((optimizer.nfev, optimizer.best, optimizer.strategy))
    return course


def rotated(f: Callable[[Array], Array]) -> tuple[Callable[[Array], Array], Array]:
    """Return ``f`` under a random rotation, and the image of its first axis."""
    Q, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((DIM, DIM)))
    return lambda X: f(X @ Q), Q[:, 0]


def draw_axis(top: Axes, bottom: Axes, name: str, slot: int, level: float) -> None:
    """Draw λ and c of one slot in ``top``, and the best value and the slot's angle to the true axis below."""
    f, axis = rotated(getattr(textbook, name))
    course = run(f, np.random.default_rng(0).uniform(-4, 4, DIM), 1.0, base="diagonal")
    nfev = [evaluations for evaluations, _, _ in course]
    top.plot(nfev, [np.sort(np.log(s.state.a))[slot] for _, _, s in course], color=ORANGE, label="c")
    top.axhline(level, color=BLACK, lw=0.8)
    shrinks = level < 0
    top.annotate(f"{'−' if shrinks else ''}log 1000", (0, level), xytext=(2, 3), textcoords="offset points")
    top.plot(nfev, [s.state.log_sigma for _, _, s in course], color=BLUE, ls="--", label="λ = log σ")
    top.set(
        title=f"A direction {'shrinks' if shrinks else 'grows'}: rotated {name}, d = {DIM}", xlim=(0, None)
    )
    top.legend(loc="lower left")
    bottom.plot(nfev, [best for _, best, _ in course], color=GREY, label="best value")
    bottom.plot(nfev, [angle(s, slot, axis) for _, _, s in course], color=BLACK, label="angle to the axis")
    bottom.set(yscale="log", xlabel="evaluations", xlim=(0, None))
    bottom.legend(loc="lower left")


def angle(strategy: RankKGaussian, slot: int, axis: Array) -> float:
    """Return the angle between the axis and the direction in x-space: Dv if it is long, D⁻¹v if short."""
    state, slot = strategy.state, int(strategy.state.a.argsort()[slot])
    v = state.V[slot] * state.B ** np.sign(state.a[slot] - 1)
    across = v - (v @ axis) * axis
    return math.atan2(float(np.linalg.norm(across)), abs(float(v @ axis)))


def draw_valley(panel: Axes) -> None:
    """Draw one-standard-deviation ellipses of the search distribution over the contours of the valley."""
    settings = {"rank": (1, 0), "base": "diagonal", "rate_base": 0.0, "popsize": 60}
    course = run(textbook.rosenbrock, np.array([-1.2, 1.0]), 0.2, **settings)
    x, y = np.meshgrid(np.linspace(-1.6, 1.4, 300), np.linspace(-0.5, 1.7, 300))
    heights = textbook.rosenbrock(np.stack([x.ravel(), y.ravel()], axis=1)).reshape(x.shape)
    panel.contour(x, y, heights, levels=10.0 ** np.arange(-1.5, 4, 0.5), colors=GREY, linewidths=0.5)
    means = np.array([strategy.mean for _, _, strategy in course])
    panel.plot(*means.T, color=BLUE, lw=0.8)
    length = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(means, axis=0), axis=1))])
    circle = np.stack([np.cos(t := np.linspace(0, 2 * np.pi, 100)), np.sin(t)])
    for place in np.linspace(0, length[-1], ELLIPSES):
        strategy = course[min(int(np.searchsorted(length, place)), len(course) - 1)][2]
        ellipse = strategy.mean[:, None] + np.linalg.cholesky(strategy.cov()) @ circle
        panel.plot(*ellipse, color=ORANGE, lw=1)
    panel.set(title="A direction turns: Rosenbrock's valley", xlim=(-1.6, 1.4), ylim=(-0.5, 1.7))
    panel.set(xlabel="x₁", ylabel="x₂")


def main(folder: Path) -> None:
    """Draw the figures ``directions`` and ``valley``."""
    with figure(folder / "directions", 2, rows=2, width=4.0) as (grows, shrinks, along, away):
        draw_axis(grows, along, "cigar", slot=-1, level=math.log(1000))
        draw_axis(shrinks, away, "tablet", slot=0, level=-math.log(1000))
    with figure(folder / "valley", 1, width=5.0, height=3.8) as (panel,):
        draw_valley(panel)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
