"""The smallest method of a user's own that the protocol allows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from r1nes import Method, Strategy
from r1nes.arrays import Array


@dataclass(frozen=True, kw_only=True)
class RoundNES(Method):
    """The natural gradient over Gaussians N(μ, σ²I)."""

    rate_radius: float = 0.7

    def start(self, mean: Array, sigma: float, rng: np.random.Generator) -> Ball:  # noqa: ARG002
        return Ball(mean, sigma, self.rate_radius)


@dataclass(slots=True, eq=False, repr=False)
class Ball(Strategy):
    mean: Array
    sigma: float
    rate: float

    def sample(self, noise: Array, out: Array | None = None) -> Array:
        return np.add(self.mean, self.sigma * noise, out=out)

    def update(self, noise: Array, utilities: Array) -> Self:
        grad_sigma = float(utilities @ ((noise**2).mean(axis=1) - 1))
        mean = self.mean + self.sigma * (utilities @ noise)
        return replace(self, mean=mean, sigma=self.sigma * math.exp(0.5 * self.rate * grad_sigma))

    def stds(self) -> Array:
        return np.full_like(self.mean, self.sigma)

    def shrunk(self, factor: float) -> Self:
        return replace(self, sigma=self.sigma / factor)
