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

from r1nes.arrays import Array
from r1nes.utilities import logarithmic


@dataclass(frozen=True, slots=True, eq=False)
class SNES:
    """A Gaussian with independent coordinates, one natural-gradient step at a time."""

    min_dim: ClassVar[int] = 1
    mirrored: ClassVar[bool] = False
    max_condition: ClassVar[float] = 1e30

    mean: Array  # μ, (d,)
    scales: Array  # σ, (d,)
    rate_mean: float  # η_μ
    rate_sigma: float  # η_σ

    @classmethod
    def start(
        cls,
        mean: Array,
        sigma: float,
        rng: np.random.Generator,  # noqa: ARG003 - the start is not random
        *,
        rate_mean: float = 1.0,
        rate_sigma: float | None = None,
    ) -> Self:
        """The isotropic Gaussian of standard deviation ``sigma``, with the paper's rates."""
        d = mean.size
        if rate_sigma is None:
            rate_sigma = (3 + math.log(d)) / (5 * math.sqrt(d))
        return cls(mean, np.full_like(mean, sigma), rate_mean, rate_sigma)

    @staticmethod
    def default_popsize(d: int) -> int:
        """The paper's population."""
        return 4 + int(3 * math.log(d))

    @staticmethod
    def default_utilities(n: int) -> Array:
        """As published, of sum 0."""
        return logarithmic(n, zero_sum=True)

    @property
    def noise_size(self) -> int:
        """Normal numbers per sample."""
        return self.mean.size

    def sample(self, noise: Array) -> Array:
        """Points for standard normal ``noise``, one per row."""
        return self.mean + self.scales * noise  # ~ N(μ, diag(σ²))

    def update(self, noise: Array, utilities: Array) -> Self:
        """The distribution after one step along the natural gradient."""
        w, s = utilities, noise
        grad_mean = w @ s  # ∇μ
        grad_sigma = w @ (s * s) - float(w.sum())  # ∇σ
        return replace(
            self,
            mean=self.mean + self.rate_mean * self.scales * grad_mean,  # (1)
            scales=self.scales * np.exp(0.5 * self.rate_sigma * grad_sigma),  # (2)
        )

    def capped(self, limits: Array) -> Self:
        """Every standard deviation within its limit."""
        return replace(self, scales=np.minimum(self.scales, limits))

    @property
    def sigma(self) -> float:
        """The geometric mean of the standard deviations."""
        return math.exp(np.log(self.scales).mean())

    def stds(self) -> Array:
        """The standard deviation of each coordinate."""
        return self.scales

    def cov(self) -> Array:
        """The covariance matrix, dense: for inspection and tests, not for large d."""
        return np.diag(self.scales**2)

    def condition(self) -> float:
        """The condition number of the covariance matrix."""
        return float(self.scales.max() / self.scales.min()) ** 2

    def scalars(self) -> dict[str, float]:
        """What a history keeps of each generation: the smallest and the largest deviation."""
        return {"min_std": float(self.scales.min()), "max_std": float(self.scales.max())}
