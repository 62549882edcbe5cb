"""Rank-one natural evolution strategy (R1-NES): N(μ, σ²(I + uuᵀ)).

The covariance is isotropic but for one direction u = r·v, ‖v‖ = 1, r = e^c, that may point anywhere.
A sample is x = μ + σ(y + z·u) with y ~ N(0, I), z ~ N(0, 1). With σ = e^λ, x̃ = (x − μ)/σ, a = x̃ᵀx̃ and
b = x̃ᵀv, the natural gradients of log p(x) are

    ∇μ = x − μ                                                               (1)
    ∇λ = [(a − d) − (b² − 1)] / (2(d − 1))                                    (2)
    ∇u = {[(r² − d + 2) b² − (r² + 1) a] v + 2(d − 1) b x̃} / (2(d − 1) r)     (3)
    ∇c = ∇uᵀv / r                                                             (4)
    ∇v = (∇u − (∇uᵀv) v) / r                                                  (5)

and each parameter follows the sum of its gradients over the samples, weighted by their utilities.
Where u would shrink, c and v are updated instead of u, so that u never flips.

For large r the terms of (2) and (3) cancel, and all digits with them. So they are computed from y, split
along and across v: with p = yᵀv, b = p + z r and q = ‖y‖² − p² = a − b²,

    ∇λ = (q/(d − 1) − 1)/2,    ∇uᵀv = [b² − (r² + 1) q/(d − 1)] / (2r),    the rest of ∇u = b (y − p v) / r

Y. Sun, F. Gomez, T. Schaul, J. Schmidhuber: A linear time natural evolution strategy for non-separable
functions, 2011. Its Eq. (5) is printed without the vector v and without the last term; (3) is complete.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from r1nes.arrays import Array
from r1nes.utilities import logarithmic

SHORTEST = 1e-8  # below it r² is lost in 1 + r², so a shorter u would be the same distribution


@dataclass(frozen=True, slots=True, eq=False)
class R1NES:
    """A Gaussian with one direction of its own, one natural-gradient step at a time."""

    min_dim: ClassVar[int] = 2  # the gradients divide by d − 1
    mirrored: ClassVar[bool] = False
    max_condition: ClassVar[float] = 1e30

    mean: Array  # μ, (d,)
    log_sigma: float  # λ
    u: Array  # (d,)
    rate_mean: float  # η_μ
    rate_sigma: float  # η_λ
    rate_shape: float  # η, for u, c and v

    @classmethod
    def start(
        cls,
        mean: Array,
        sigma: float,
        rng: np.random.Generator,
        *,
        rate_mean: float = 1.0,
        rate_sigma: float = 0.1,
        rate_shape: float = 0.1,
    ) -> Self:
        """Around ``mean``, with u a random unit vector and the authors' rates."""
        u = rng.standard_normal(mean.size).astype(mean.dtype)
        u /= math.sqrt(u @ u)
        return cls(mean, math.log(sigma), u, rate_mean, rate_sigma, rate_shape)

    @staticmethod
    def default_popsize(d: int) -> int:
        """The authors' population: it grows with d/5 beyond d = 150."""
        return int(max(5, 4 * math.log2(d), d / 5))

    @staticmethod
    def default_utilities(n: int) -> Array:
        """The authors subtract no baseline."""
        return logarithmic(n, zero_sum=False)

    @property
    def noise_size(self) -> int:
        """Normal numbers per sample: y and, last, z."""
        return self.mean.size + 1

    def sample(self, noise: Array) -> Array:
        """Points for standard normal ``noise``, one per row."""
        y, z = noise[:, :-1], noise[:, -1:]
        return self.mean + self.sigma * (y + z * self.u)  # ~ N(μ, σ²(I + uuᵀ))

    def update(self, noise: Array, utilities: Array) -> Self:
        """The distribution after one step along the natural gradient."""
        d, w, u, y, z = self.mean.size, utilities, self.u, noise[:, :-1], noise[:, -1]
        r = math.sqrt(u @ u)
        v = u / r
        p = y @ v
        b = p + r * z
        q = np.einsum("ij,ij->i", y, y) - p * p

        grad_mean = self.sigma * (w @ y + float(w @ z) * u)  # (1)
        grad_sigma = 0.5 * float(w @ (q / (d - 1) - 1))  # (2)
        along = float(w @ (b * b - (r * r + 1) / (d - 1) * q)) / (2 * r)
        across = ((w * b) @ y - float(w @ (b * p)) * v) / r
        grad_u = along * v + across  # (3)
        grad_c = along / r  # (4)
        grad_v = across / r  # (5)

        length = math.sqrt(grad_u @ grad_u)
        rate = min(self.rate_shape, 2 * r / length) if length > 0 else 0.0  # ε
        if grad_c < 0:  # shrink and turn apart: adding to u could flip it
            r = max(r * math.exp(rate * grad_c), SHORTEST)
            v = v + rate * grad_v
            u = r / math.sqrt(v @ v) * v
        else:  # grow: an exponential step in c could explode
            u = u + rate * grad_u
        return replace(
            self,
            mean=self.mean + self.rate_mean * grad_mean,
            log_sigma=self.log_sigma + self.rate_sigma * grad_sigma,
            u=u,
        )

    def capped(self, limits: Array) -> Self:
        """The same shape, with σ such that some coordinate's standard deviation is within ``limits``."""
        excess = float((self.stds() / limits).min())
        return replace(self, log_sigma=self.log_sigma - math.log(excess)) if excess > 1 else self

    @property
    def sigma(self) -> float:
        """The standard deviation σ across u."""
        return math.exp(self.log_sigma)

    def stds(self) -> Array:
        """The standard deviation of each coordinate."""
        return self.sigma * np.sqrt(1 + self.u * self.u)

    def cov(self) -> Array:
        """The covariance matrix, dense: for inspection and tests, not for large d."""
        return self.sigma**2 * (np.eye(self.mean.size) + np.outer(self.u, self.u))

    def condition(self) -> float:
        """The condition number of the covariance matrix."""
        return 1 + float(self.u @ self.u)

    def scalars(self) -> dict[str, float]:
        """What a history keeps of each generation: λ and c."""
        return {"lambda": self.log_sigma, "c": 0.5 * math.log(self.u @ self.u)}
