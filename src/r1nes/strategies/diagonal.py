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

from r1nes.arrays import Array, host, library_of, like, namespace, on_host, zeros
from r1nes.arrays.one_text import dot, one_text, xp
from r1nes.arrays.tiles import BLOCK, STRIP, TILE, column_slices
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
    compiled: bool = False  # whether numba compiles the arithmetic

    @property
    def _library(self) -> str:
        return "numba" if self.compiled else library_of(self.mean)

    def sample(self, noise: Array, out: Array | None = None) -> Array:
        """Return points for standard normal ``noise``, one per row."""
        mean, scales = self.mean, self.scales
        if not on_host(noise):
            return _points.of(library_of(noise))(mean, scales, noise)
        X = np.empty(noise.shape, noise.dtype) if out is None else out
        if self.compiled:
            _write_points.of("numba")(mean, scales, noise, X)
            return X
        for t in column_slices(*noise.shape, size=BLOCK):
            X[:, t] = _points(mean[t], scales[t], noise[:, t])
        return X

    def update(self, noise: Array, utilities: Array) -> Self:
        """Return the distribution after one step along the natural gradient."""
        if not self.compiled or noise.size > TILE:
            return self.step(self.accumulate(self.moments(), noise, utilities))
        rates, d = (self.rate_mean, self.rate_sigma), self.mean.size
        mean, scales = np.empty(d), np.empty(d)
        _write_update.of("numba")(self.mean, self.scales, noise, utilities, *rates, mean, scales)
        return type(self)(mean, scales, *rates, True)

    def moments(self) -> Array:
        """Return the sums before any sample has been added: all zero."""
        return zeros((2, len(self.mean)), self.mean)

    def accumulate(self, moments: Array, noise: Array, utilities: Array) -> Array:
        """Return the ``moments`` with some samples added; NumPy arrays are changed in place."""
        part, w = _gradients.of(self._library), like(utilities, noise)
        if not on_host(noise):
            return moments + namespace(noise).stack(part(noise, w))
        for t in column_slices(*noise.shape, size=BLOCK):
            of_mean, of_sigma = part(np.ascontiguousarray(noise[:, t]), w)
            moments[0, t] += of_mean
            moments[1, t] += of_sigma
        return moments

    def step(self, moments: Array) -> Self:
        """Return the next distribution, given the ``moments`` of all samples."""
        rates = self.rate_mean, self.rate_sigma
        part = _step.of(self._library)
        return type(self)(
            *part(self.mean, self.scales, moments[0], moments[1], *rates), *rates, self.compiled
        )

    def shrunk(self, factor: float) -> Self:
        """Return the same shape with every standard deviation divided by ``factor``."""
        return replace(self, scales=self.scales / factor)

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


@one_text
def _points(mean: Array, scales: Array, s: Array) -> Array:
    """Return points x = μ + σs, ~ N(μ, diag(σ²))."""
    x = scales * s
    x += mean  # in place, because temporary arrays cost NumPy more than the arithmetic
    return x


@one_text
def _write_points(mean: Array, scales: Array, noise: Array, X: Array) -> None:
    """Write points to X, one number at a time: for numba, which needs no temporary arrays then."""
    for start in range(0, mean.size, STRIP):
        m, sigma = mean[start : start + STRIP], scales[start : start + STRIP]
        for i in range(len(X)):
            x, s = X[i, start : start + STRIP], noise[i, start : start + STRIP]
            for j in range(m.size):
                x[j] = _points(m[j], sigma[j], s[j])


@one_text
def _gradients(s: Array, w: Array) -> tuple[Array, Array]:
    """Return ∇μ = Σ w s and ∇σ = Σ w s² − Σ w."""
    return dot(w, s), dot(w, s * s) - w.sum()


@one_text
def _step(
    mean: Array, scales: Array, of_mean: Array, of_sigma: Array, rate_mean: float, rate_sigma: float
) -> tuple[Array, Array]:
    """Return the next μ and σ, given ∇μ and ∇σ."""
    return (
        mean + rate_mean * (scales * of_mean),  # (1)
        scales * xp.exp(0.5 * rate_sigma * of_sigma),  # (2)
    )


@one_text
def _write_update(mean: Array, scales: Array, s: Array, w: Array, rate_mean: float, rate_sigma: float,
                  next_mean: Array, next_scales: Array) -> None:  # fmt: skip
    """Write the next μ and σ, given samples and their utilities: for numba, in one call."""
    of_mean, of_sigma = _gradients(s, w)
    for j in range(mean.size):
        next_mean[j], next_scales[j] = _step(
            mean[j], scales[j], of_mean[j], of_sigma[j], rate_mean, rate_sigma
        )
