"""The paper's two explanatory figures: plain and natural gradient, and two parameterisations of u."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from r1nes.arrays import Array
from r1nes.display.style import BLACK, BLUE, GREEN, GREY, RED, figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CIRCLE = np.stack([np.cos(angles := np.linspace(0, 2 * math.pi, 200)), np.sin(angles)])


def draw_gradients(path: Path) -> None:
    """Draw the plain and the natural gradient for a normal distribution N(μ, e^{2λ}), in parameter space."""
    sigma, n = 1.8, 13
    x = sigma * ndtri((np.arange(n) + 0.5) / n)  # quantiles, as a typical sample
    fitness = 1 / (1 + np.exp(3 - 2 * x))  # maximised, as in the paper
    plain = np.stack([x / sigma**2, x**2 / sigma**2 - 1])  # ∇ log p, along μ and λ
    fisher = np.diag([1 / sigma**2, 2])
    natural = np.linalg.solve(fisher, plain)
    gradient = 3 * plain @ fitness / n  # enlarged three times for visibility
    natural_gradient = np.linalg.solve(fisher, gradient)
    with figure(path, 2, width=4.2, height=3.4) as panels:
        for panel, samples, spread, title in zip(
            panels,
            [plain, natural],
            [fisher, np.linalg.inv(fisher)],
            ["Gradient of log p", "Natural gradient of log p"],
            strict=True,
        ):
            ellipse = np.linalg.cholesky(spread) @ CIRCLE
            panel.fill(*ellipse, color=GREY, alpha=0.35, lw=0, label="covariance of the arrows")
            _arrows(panel, samples, BLACK, 0.8, "solid", "one per sample")
            _arrows(panel, samples * fitness, BLUE, 1.0, "dotted", "times its fitness")
            _arrows(panel, gradient[:, None], GREEN, 2.4, "solid", "gradient of J (× 3)")
            _arrows(panel, natural_gradient[:, None], RED, 2.4, "dashed", "natural gradient of J (× 3)")
            panel.set(xlabel="μ", ylabel="λ = log σ", title=title)
            panel.set(xlim=(-3.4, 3.4), ylim=(-1.6, 3.0), aspect="equal")
        panels[1].legend(loc="upper left", fontsize="x-small")


def _arrows(panel: Axes, ends: Array, color: str, width: float, style: str, label: str) -> None:
    for k, (a, b) in enumerate(ends.T):
        panel.annotate(
            "",
            (a, b),
            xytext=(0, 0),
            arrowprops={
                "arrowstyle": "->",
                "color": color,
                "lw": width,
                "ls": style,
                "shrinkA": 0,
                "shrinkB": 0,
            },
        )
        panel.plot([0, a], [0, b], color=color, lw=width, ls=style, label=label if k == 0 else None, alpha=0)
    for line in panel.get_legend_handles_labels()[0]:
        line.set_alpha(1 if line.get_label() != "covariance of the arrows" else 0.35)


def draw_parameterisations(path: Path) -> None:
    """Draw how two updates change u for one selected sample: by addition, and separately in c and v."""
    u = np.array([1.1, 0.45])
    v = u / np.linalg.norm(u)
    normal = np.array([-v[1], v[0]])
    with figure(path, 2, width=4.2, height=3.6) as panels:
        for panel, sample, rate, title in zip(
            panels,
            [0.5 * v + 2.4 * normal, 2.9 * v + 0.5 * normal],
            [0.55, 0.5],
            ["(a) a sample across u: addition flips it", "(b) a sample along u: c explodes"],
            strict=True,
        ):
            added, separate = _updates(u, sample, rate)
            _distribution(panel, u, BLACK, "-", "before")
            _distribution(panel, added, BLUE, ":", "u + η∇u")
            _distribution(panel, separate, RED, "--", "c + η∇c, v + η∇v")
            panel.plot(*sample, marker="x", color=BLACK, ms=9, mew=2, ls="none", label="the sample")
            panel.set(title=title, xticks=[], yticks=[])
            panel.set_aspect("equal", adjustable="datalim")
        panels[0].legend(loc="upper left", fontsize="x-small")


def _updates(u: Array, x: Array, rate: float) -> tuple[Array, Array]:
    """Return u updated by addition and by length and direction, for one sample of utility 1 in d = 2."""
    r = np.linalg.norm(u)
    v = u / r
    a, b = x @ x, x @ v
    gradient = ((r**2 * b**2 - (r**2 + 1) * a) * v + 2 * b * x) / (2 * r)  # Eq. (3) of rank_one.step, d = 2
    grad_c = gradient @ v / r
    grad_v = (gradient - (gradient @ v) * v) / r
    turned = v + rate * grad_v
    return u + rate * gradient, r * np.exp(rate * grad_c) * turned / np.linalg.norm(turned)


def _distribution(panel: Axes, u: Array, color: str, style: str, label: str) -> None:
    root = np.linalg.cholesky(np.eye(2) + np.outer(u, u))
    panel.plot(*(root @ CIRCLE), color=color, ls=style, label=label)
    panel.annotate(
        "",
        (u[0], u[1]),
        xytext=(0, 0),
        arrowprops={"arrowstyle": "->", "color": color, "lw": 1.6, "shrinkA": 0, "shrinkB": 0},
    )
