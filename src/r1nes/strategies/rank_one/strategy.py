"""Rank-one natural evolution strategy (R1-NES): N(μ, σ²(I + uuᵀ)).

The covariance is isotropic except for one direction u, which may point anywhere. A sample is
x = μ + σ(y + z·u) with y ~ N(0, I), z ~ N(0, 1). ``rank_one.step`` has the equations.

Y. Sun, F. Gomez, T. Schaul, J. Schmidhuber: A linear time natural evolution strategy for non-separable
functions, 2011.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from r1nes.arrays import Array, host, library_of, like, namespace, on_host, zeros
from r1nes.arrays.tiles import BLOCK, column_slices
from r1nes.ranking import logarithmic
from r1nes.strategies.presets import PRESETS, preset_named
from r1nes.strategies.protocol import Method, Strategy
from r1nes.strategies.rank_one.step import measure, points, step, write_points, write_update

Moments = tuple[Array, Array]  # sums over samples: vectors and numbers


@dataclass(frozen=True, kw_only=True)
class R1NES(Method):
    """Rank-one NES as published: isotropic except for one direction, which may point anywhere.

    Args:
        preset: Which of its authors' settings to use, since the paper prints none. ``"pybrain"``: η_λ = η =
            0.1, n = ⌊max(5, 4 log₂ d, d/5)⌋. ``"heuristic"``, as xNES: (9 + 3 ln d)/(5d√d), 4 + ⌊3 ln d⌋,
            utilities of sum 0. ``"matlab"``: 0.1, ⌊8 ln d⌋. Settings that are given take precedence.
        rate_mean: Learning rate η_μ of the mean.
        rate_sigma: Learning rate η_λ of the step size; by default, the preset's.
        rate_shape: Learning rate η of u, c and v; by default, the preset's.
    """

    min_dim: ClassVar[int] = 2  # the gradients divide by d − 1
    max_condition: ClassVar[float] = 1e30

    preset: str = "pybrain"
    rate_mean: float = 1.0
    rate_sigma: float | None = None
    rate_shape: float | None = None

    def __post_init__(self) -> None:
        """Check the preset and the learning rates."""
        preset_named(self.preset)
        super().__post_init__()

    def start(self, mean: Array, sigma: float, rng: np.random.Generator) -> RankOneGaussian:
        """Return the first distribution, with u a random unit vector."""
        rate = PRESETS[self.preset].rate_for(mean.size)
        u = rng.standard_normal(mean.size).astype(mean.dtype)
        u /= math.sqrt(u @ u)
        of_sigma, of_shape = (rate if each is None else each for each in (self.rate_sigma, self.rate_shape))
        return RankOneGaussian(mean, math.log(sigma), u, self.rate_mean, of_sigma, of_shape)

    def default_popsize(self, d: int) -> int:
        """Return the population of the preset."""
        return PRESETS[self.preset].popsize(d)

    def default_utilities(self, n: int, _: int) -> Array:
        """Return the utilities of the preset."""
        return logarithmic(n, zero_sum=PRESETS[self.preset].zero_sum)

    def slowed(self, factor: float) -> Self:
        """Return the method with η_λ divided by ``factor``; unchanged if the preset's depends on d."""
        rate = PRESETS[self.preset].rate if self.rate_sigma is None else self.rate_sigma
        return self if rate is None or factor == 1 else replace(self, rate_sigma=rate / factor)


@dataclass(slots=True, eq=False, repr=False)
class RankOneGaussian(Strategy):
    """A Gaussian that is isotropic except for one direction."""

    mean: Array  # μ, (d,)
    log_sigma: float  # λ
    u: Array  # (d,)
    rate_mean: float  # η_μ
    rate_sigma: float  # η_λ
    rate_shape: float  # η, for u, c and v
    compiled: bool = False  # whether numba compiles the arithmetic

    @property
    def _library(self) -> str:
        return "numba" if self.compiled else library_of(self.mean)

    @property
    def noise_size(self) -> int:
        """The number of normal numbers per sample: y, followed by z."""
        return len(self.mean) + 1

    def sample(self, noise: Array, out: Array | None = None) -> Array:
        """Return points for standard normal ``noise``, one per row."""
        mean, sigma, u, d = self.mean, self.sigma, self.u, len(self.mean)
        if not on_host(noise):
            return points.of(library_of(noise))(mean, sigma, u, noise[:, :d], noise[:, d:])
        X = np.empty((len(noise), d), noise.dtype) if out is None else out
        if self.compiled:
            write_points.of("numba")(mean, sigma, u, noise, X)
            return X
        y, z = noise[:, :d], noise[:, d:]
        for t in column_slices(*X.shape, size=BLOCK):
            X[:, t] = points(mean[t], sigma, u[t], y[:, t], z)
        return X

    def update(self, noise: Array, utilities: Array) -> Self:
        """Return the distribution after one step along the natural gradient."""
        if not self.compiled:
            return self.step(self._measured(noise, utilities))
        rates, d = (self.rate_mean, self.rate_sigma, self.rate_shape), self.mean.size
        mean, u = np.empty(d), np.empty(d)
        state = self.mean, self.log_sigma, self.u
        log_sigma = write_update.of("numba")(*state, noise, utilities, *rates, mean, u)
        return type(self)(mean, log_sigma, u, *rates, True)

    def moments(self) -> Moments:
        """Return the sums before any sample has been added: all zero."""
        return zeros((2, self.noise_size), self.mean), np.zeros(4)

    def accumulate(self, moments: Moments, noise: Array, utilities: Array) -> Moments:
        """Return the ``moments`` with some samples added; NumPy arrays are changed in place."""
        more, numbers = self._measured(noise, utilities)
        return moments[0] + more, moments[1] + numbers

    def _measured(self, noise: Array, utilities: Array) -> Moments:
        sums, numbers = measure.of(self._library)(self.u, noise, like(utilities, noise))
        return sums, np.array([float(value) for value in numbers])

    def step(self, moments: Moments) -> Self:
        """Return the next distribution, given the ``moments`` of all samples."""
        rates, (sums, numbers) = (self.rate_mean, self.rate_sigma, self.rate_shape), moments
        state = step.eager(self._library)(
            self.mean, self.log_sigma, self.u, sums, tuple(numbers.tolist()), *rates
        )
        return type(self)(*state, *rates, self.compiled)

    def shrunk(self, factor: float) -> Self:
        """Return the same shape with σ divided by ``factor``."""
        return replace(self, log_sigma=self.log_sigma - math.log(factor))

    @property
    def sigma(self) -> float:
        """The standard deviation σ across u."""
        return math.exp(self.log_sigma)

    def stds(self) -> Array:
        """Return the standard deviation of each coordinate."""
        return self.sigma * namespace(self.u).sqrt(1 + self.u * self.u)

    def largest_std(self) -> tuple[float, float]:
        """Return a lower and an upper bound of the largest standard deviation, at little cost."""
        sigma = self.sigma
        return sigma, sigma * math.sqrt(1 + float(self.u.dot(self.u)))  # faster than @

    def cov(self) -> Array:
        """Return the covariance matrix, dense and on the host: for inspection and tests, not for large d."""
        u = host(self.u)
        return self.sigma**2 * (np.eye(u.size) + np.outer(u, u))

    def condition(self) -> float:
        """Return the condition number of the covariance matrix."""
        return 1 + float(self.u @ self.u)

    def scalars(self) -> dict[str, float]:
        """Return the numbers that the history keeps of each generation: σ, λ and c."""
        c = 0.5 * math.log(self.u.dot(self.u))  # faster than @
        return {"sigma": self.sigma, "lambda": self.log_sigma, "c": c}
