"""Separable natural evolution strategy (SNES): N(μ, diag(σ²)).

With whitened noise s = (x − μ)/σ and utilities w, the natural gradient is

    ∇μ = Σ w s             μ ← μ + η_μ σ ∇μ                 (1)
    ∇σ = Σ w (s² − 1)      σ ← σ exp(½ η_σ ∇σ)               (2)

T. Schaul, T. Glasmachers, J. Schmidhuber: High dimensions and heavy tails for natural evolution
strategies, GECCO 2011.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from r1nes.arrays import Array, host, like, namespace, zeros
from r1nes.arrays.compiled import compiled, strip_width
from r1nes.arrays.tiles import accumulate_tiles, compute_tiles
from r1nes.strategies.protocol import Method, Strategy


@dataclass(frozen=True, kw_only=True)
class SNES(Method):
    """Separable NES: independent coordinates, for variables that hardly interact, at any scale.

    Args:
        rate_mean: Learning rate η_μ of the mean.
        rate_sigma: Learning rate η_σ of the standard deviations; by default (3 + ln d)/(5√d), as published.
    """

    max_condition: ClassVar[float] = 1e30

    rate_mean: float = 1.0
    rate_sigma: float | None = None

    def start(self, mean: Array, sigma: float, rng: np.random.Generator) -> DiagonalGaussian:  # noqa: ARG002
        """Return the isotropic Gaussian of standard deviation ``sigma``."""
        d, rate = mean.size, self.rate_sigma
        if rate is None:
            rate = (3 + math.log(d)) / (5 * math.sqrt(d))
        return DiagonalGaussian(mean, np.full_like(mean, sigma), self.rate_mean, rate)


@dataclass(slots=True, eq=False, repr=False)
class DiagonalGaussian(Strategy):
    """A Gaussian with independent coordinates."""

    mean: Array  # μ, (d,)
    scales: Array  # σ, (d,)
    rate_mean: float  # η_μ
    rate_sigma: float  # η_σ
    fast: bool = False  # whether the compiled path is active

    def sample(self, noise: Array, out: Array | None = None) -> Array:
        """Return points for standard normal ``noise``, one per row."""
        if not self.fast:
            return _points(self.mean, self.scales, noise, out)
        X = np.empty(noise.shape) if out is None else out
        _points_loops.fast(self.mean, self.scales, noise, X)
        return X

    def update(self, noise: Array, utilities: Array) -> Self:
        """Return the distribution after one step along the natural gradient."""
        if not self.fast:
            return self.step(self.accumulate(self.moments(), noise, utilities))
        rates, d = (self.rate_mean, self.rate_sigma), self.mean.size
        mean, scales = np.empty(d), np.empty(d)
        _update_loops.fast(self.mean, self.scales, noise, utilities, *rates, mean, scales)
        return type(self)(mean, scales, *rates, True)

    def moments(self) -> Array:
        """Return the sums before any sample has been added: all zero."""
        return zeros((2, len(self.mean)), self.mean)

    def accumulate(self, moments: Array, noise: Array, utilities: Array) -> Array:
        """Return the ``moments`` with some samples added."""
        return _accumulate(noise, utilities, moments)

    def step(self, moments: Array) -> Self:
        """Return the next distribution, given the ``moments`` of all samples."""
        rates = self.rate_mean, self.rate_sigma
        return type(self)(*_step(self.mean, self.scales, moments, *rates), *rates, self.fast)

    def capped(self, limits: Array) -> Self:
        """Return the distribution with every standard deviation within its limit."""
        return replace(self, scales=namespace(limits).minimum(self.scales, limits))

    @property
    def sigma(self) -> float:
        """The geometric mean of the standard deviations."""
        return math.exp(namespace(self.scales).log(self.scales).mean())

    def stds(self) -> Array:
        """Return the standard deviation of each coordinate."""
        return self.scales

    def largest_std(self) -> tuple[float, float]:
        """Return the largest standard deviation, twice: as its lower and its upper bound."""
        largest = float(self.scales[self.scales.argmax()])  # five times as fast as max
        return largest, largest

    def cov(self) -> Array:
        """Return the covariance matrix, dense and on the host: for inspection and tests, not for large d."""
        return np.diag(host(self.scales) ** 2)

    def condition(self) -> float:
        """Return the condition number of the covariance matrix."""
        s = self.scales
        return float(s[s.argmax()] / s[s.argmin()]) ** 2

    def scalars(self) -> dict[str, float]:
        """Return the numbers that the history keeps of each generation: σ, and the range of the scales."""
        return {"sigma": self.sigma, "min_std": float(self.scales.min()), "max_std": float(self.scales.max())}


def _points(mean: Array, scales: Array, noise: Array, out: Array | None) -> Array:
    """Return points x = μ + σs, ~ N(μ, diag(σ²))."""
    xp = namespace(noise)

    def formula(c: slice, **into: Array) -> Array:
        x: Array = xp.multiply(scales[c], noise[:, c], **into)
        x += mean[c]
        return x

    return compute_tiles(formula, noise, len(mean), out)


def _accumulate(noise: Array, w: Array, moments: Array) -> Array:
    """Return the ``moments`` with ∇σ = Σ w s² − Σ w and ∇μ = Σ w s added."""
    weights, total = like(w, noise), float(np.add.reduce(w))  # faster than w.sum()

    def formula(c: slice) -> tuple[Array, Array]:
        s = noise[:, c]
        return weights @ (s * s) - total, weights @ s

    return accumulate_tiles(formula, len(noise), moments)


def _step(
    mean: Array, scales: Array, moments: Array, rate_mean: float, rate_sigma: float
) -> tuple[Array, Array]:
    """Return the next μ and σ."""
    grad_sigma, grad_mean = moments[0], moments[1]
    return (
        mean + rate_mean * (scales * grad_mean),  # (1)
        scales * namespace(scales).exp(0.5 * rate_sigma * grad_sigma),  # (2)
    )


@compiled
def _points_loops(mean: Array, scales: Array, noise: Array, X: Array) -> None:
    n, d = noise.shape
    width = strip_width(n, d)
    for start in range(0, d, width):
        m, s = mean[start : start + width], scales[start : start + width]
        for i in range(n):
            x, y = X[i, start : start + width], noise[i, start : start + width]
            for j in range(m.size):
                x[j] = m[j] + s[j] * y[j]


@compiled
def _update_loops(
    mean: Array,
    scales: Array,
    noise: Array,
    w: Array,
    rate_mean: float,
    rate_sigma: float,
    next_mean: Array,
    next_scales: Array,
) -> None:
    """Write the next μ and σ to ``next_mean`` and ``next_scales``, which first hold ∇μ and ∇σ."""
    n, d = noise.shape
    width = strip_width(n, d)
    for start in range(0, d, width):
        stop = min(start + width, d)
        ws, wss = next_mean[start:stop], next_scales[start:stop]
        ws[:] = 0.0
        wss[:] = 0.0
        for i in range(0, n - 1, 2):  # two at a time, to read the sums less often
            a, b, s, t = w[i], w[i + 1], noise[i, start:stop], noise[i + 1, start:stop]
            for j in range(ws.size):
                ws[j] += a * s[j] + b * t[j]
            for j in range(ws.size):
                wss[j] += a * (s[j] * s[j] - 1) + b * (t[j] * t[j] - 1)
        for i in range(n - n % 2, n):
            a, s = w[i], noise[i, start:stop]
            for j in range(ws.size):
                ws[j] += a * s[j]
                wss[j] += a * (s[j] * s[j] - 1)
        for j in range(ws.size):
            scale = scales[start + j]
            ws[j] = mean[start + j] + rate_mean * (scale * ws[j])  # (1)
            wss[j] = scale * math.exp(0.5 * rate_sigma * wss[j])  # (2)
