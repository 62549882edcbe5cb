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

Y. Sun, F. Gomez, T. Schaul, J. Schmidhuber: A linear time natural evolution strategy for non-separable
functions, 2011. Its Eq. (5) is printed without the vector v and without the last term; (3) is complete.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from r1nes.arrays import Array

SHORTEST = 1e-8  # below it r² is lost in 1 + r², so a shorter u would be the same distribution


@dataclass(frozen=True, slots=True, eq=False)
class R1NES:
    """A Gaussian with one direction of its own, one natural-gradient step at a time."""

    min_dim: ClassVar[int] = 2  # the gradients divide by d − 1
    zero_sum: ClassVar[bool] = False  # the authors subtract no baseline from the utilities
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

    @property
    def noise_size(self) -> int:
        """Normal numbers per sample: y and, last, z."""
        return self.mean.size + 1

    def sample(self, noise: Array) -> Array:
        """Points for standard normal ``noise``, one per row."""
        return self.mean + self.sigma * self._steps(noise)  # ~ N(μ, σ²(I + uuᵀ))

    def update(self, noise: Array, utilities: Array) -> Self:
        """The distribution after one step along the natural gradient."""
        d, w, u, x = self.mean.size, utilities, self.u, self._steps(noise)
        r = math.sqrt(u @ u)
        v = u / r
        a = np.einsum("ij,ij->i", x, x)
        b = x @ v

        grad_mean = self.sigma * (w @ x)  # (1)
        grad_sigma = float(w @ (a - d - (b * b - 1))) / (2 * (d - 1))  # (2)
        along = float(w @ ((r * r - d + 2) * (b * b) - (r * r + 1) * a))
        grad_u = (along * v + 2 * (d - 1) * ((w * b) @ x)) / (2 * (d - 1) * r)  # (3)
        grad_c = float(grad_u @ v) / r  # (4)

        length = math.sqrt(grad_u @ grad_u)
        rate = min(self.rate_shape, 2 * r / length) if length > 0 else 0.0  # ε
        if grad_c < 0:  # shrink and turn apart: adding to u could flip it
            grad_v = grad_u / r - grad_c * v  # (5)
            v = v + rate * grad_v
            r = max(r * math.exp(rate * grad_c), SHORTEST)
            u = r / math.sqrt(v @ v) * v
        else:  # grow: an exponential step in c could explode
            u = u + rate * grad_u
        return replace(
            self,
            mean=self.mean + self.rate_mean * grad_mean,
            log_sigma=self.log_sigma + self.rate_sigma * grad_sigma,
            u=u,
        )

    def _steps(self, noise: Array) -> Array:
        y, z = noise[:, :-1], noise[:, -1:]
        return y + z * self.u  # x̃

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
