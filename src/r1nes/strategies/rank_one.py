"""Rank-one natural evolution strategy (R1-NES): N(μ, σ²(I + uuᵀ)).

The covariance is isotropic except for one direction u = r·v, ‖v‖ = 1, r = e^c, which may point anywhere.
A sample is x = μ + σ(y + z·u) with y ~ N(0, I), z ~ N(0, 1). With σ = e^λ, x̃ = (x − μ)/σ, a = x̃ᵀx̃ and
b = x̃ᵀv, the natural gradients of log p(x) are

    ∇μ = x − μ                                                               (1)
    ∇λ = [(a − d) − (b² − 1)] / (2(d − 1))                                    (2)
    ∇u = {[(r² − d + 2) b² − (r² + 1) a] v + 2(d − 1) b x̃} / (2(d − 1) r)     (3)
    ∇c = ∇uᵀv / r                                                             (4)
    ∇v = (∇u − (∇uᵀv) v) / r                                                  (5)

and each parameter follows the sum of its gradients over the samples, weighted by their utilities.
If u would shrink, c and v are updated instead of u, so that u never flips.

For large r the terms of (2) and (3) cancel, and all digits are lost. They are therefore computed from y,
split along and across v: with p = yᵀv, b = p + z r and q = ‖y‖² − p² = a − b²,

    ∇λ = (q/(d − 1) − 1)/2,    ∇uᵀv = [b² − (r² + 1) q/(d − 1)] / (2r),    the rest of ∇u = b (y − p v) / r

Y. Sun, F. Gomez, T. Schaul, J. Schmidhuber: A linear time natural evolution strategy for non-separable
functions, 2011. Its Eq. (5) is printed without the vector v and without the last term; (3) is complete.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from r1nes.arrays import Array, host, like, namespace, on_host, zeros
from r1nes.arrays.compiled import compiled, jitable, strip_width
from r1nes.arrays.passes import add_weighted, project
from r1nes.arrays.tiles import ALL, column_slices, compute_tiles
from r1nes.ranking import logarithmic
from r1nes.strategies.protocol import Method, Strategy

Moments = tuple[Array, Array]  # sums over samples: vectors and numbers

SHORTEST = 1e-8  # below this, 1 + r² rounds to 1, so a shorter u would give the same distribution


@dataclass(frozen=True, kw_only=True)
class R1NES(Method):
    """Rank-one NES as published: isotropic except for one direction, which may point anywhere.

    Args:
        rate_mean: Learning rate η_μ of the mean.
        rate_sigma: Learning rate η_λ of the step size.
        rate_shape: Learning rate η of u, c and v.
    """

    min_dim: ClassVar[int] = 2  # the gradients divide by d − 1
    max_condition: ClassVar[float] = 1e30

    rate_mean: float = 1.0
    rate_sigma: float = 0.1
    rate_shape: float = 0.1

    def start(self, mean: Array, sigma: float, rng: np.random.Generator) -> RankOneGaussian:
        """Return the first distribution, with u a random unit vector."""
        u = rng.standard_normal(mean.size).astype(mean.dtype)
        u /= math.sqrt(u @ u)
        return RankOneGaussian(mean, math.log(sigma), u, self.rate_mean, self.rate_sigma, self.rate_shape)

    @staticmethod
    def default_popsize(d: int) -> int:
        """Return the authors' population, which grows as d/5 beyond d = 150."""
        return int(max(5, 4 * math.log2(d), d / 5))

    @staticmethod
    def default_utilities(n: int, _: int) -> Array:
        """Return the authors' utilities, from which no baseline is subtracted."""
        return logarithmic(n, zero_sum=False)


@dataclass(slots=True, eq=False, repr=False)
class RankOneGaussian(Strategy):
    """A Gaussian that is isotropic except for one direction."""

    mean: Array  # μ, (d,)
    log_sigma: float  # λ
    u: Array  # (d,)
    rate_mean: float  # η_μ
    rate_sigma: float  # η_λ
    rate_shape: float  # η, for u, c and v
    fast: bool = False  # whether the compiled path is active

    @property
    def noise_size(self) -> int:
        """The number of normal numbers per sample: y, followed by z."""
        return len(self.mean) + 1

    def sample(self, noise: Array, out: Array | None = None) -> Array:
        """Return points for standard normal ``noise``, one per row."""
        if not self.fast:
            return _points(self.mean, self.sigma, self.u, noise, out)
        X = np.empty((len(noise), self.mean.size)) if out is None else out
        _points_loops.fast(self.mean, self.sigma, self.u, noise, X)
        return X

    def update(self, noise: Array, utilities: Array) -> Self:
        """Return the distribution after one step along the natural gradient."""
        if not self.fast:
            return self.step(self.accumulate(self.moments(), noise, utilities))
        rates, d = (self.rate_mean, self.rate_sigma, self.rate_shape), self.mean.size
        mean, u = np.empty(d), np.empty(d)
        log_sigma = _update_loops.fast(self.mean, self.log_sigma, self.u, noise, utilities, *rates, mean, u)
        return type(self)(mean, log_sigma, u, *rates, True)

    def moments(self) -> Moments:
        """Return the sums before any sample has been added: all zero."""
        return zeros((2, len(self.mean)), self.mean), np.zeros(5)

    def accumulate(self, moments: Moments, noise: Array, utilities: Array) -> Moments:
        """Return the ``moments`` with some samples added."""
        return _accumulate(self.u, noise, utilities, *moments)

    def step(self, moments: Moments) -> Self:
        """Return the next distribution, given the ``moments`` of all samples."""
        rates = self.rate_mean, self.rate_sigma, self.rate_shape
        mean, log_sigma, u = _step(self.mean, self.log_sigma, self.u, *moments, *rates)
        return type(self)(mean, log_sigma, u, *rates, self.fast)

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


def _points(mean: Array, sigma: float, u: Array, noise: Array, out: Array | None) -> Array:
    """Return points x = μ + σ(z·u + y), ~ N(μ, σ²(I + uuᵀ))."""
    xp, d = namespace(noise), len(mean)
    y, z = noise[:, :d], noise[:, d:]

    def formula(c: slice, **into: Array) -> Array:
        x: Array = xp.multiply(z, u[c], **into)
        x += y[:, c]
        x *= sigma
        x += mean[c]
        return x

    return compute_tiles(formula, noise, d, out)


def _accumulate(u: Array, noise: Array, w: Array, sums: Array, numbers: Array) -> Moments:
    """Add Σ w y and Σ w b y to ``sums``; Σ w, Σ w z, Σ w b p, Σ w b², Σ w q/(d − 1) to ``numbers``."""
    xp, n, d = namespace(noise), len(noise), len(u)
    y, z = noise[:, :d], host(noise[:, d])
    r = math.sqrt(u @ u)
    p, q = np.zeros(n, w.dtype), np.zeros(n, w.dtype)
    for c in column_slices(n, d) if on_host(noise) else [ALL]:
        p += host(y[:, c] @ u[c])
        q += host(xp.einsum("ij,ij->i", y[:, c], y[:, c]))  # not in the array API standard
    p /= r
    b = p + r * z
    q -= p * p
    sums += like(np.array([w, w * b]), y) @ y
    numbers += w.sum(), w @ z, w @ (b * p), w @ (b * b), w @ q / (d - 1)
    return sums, numbers


def _step(
    mean: Array,
    log_sigma: float,
    u: Array,
    sums: Array,
    numbers: Array,
    rate_mean: float,
    rate_sigma: float,
    rate_shape: float,
) -> tuple[Array, float, Array]:
    """Return the next μ, λ and u."""
    wy, wby = sums[0], sums[1]
    total, wz, wbp, wbb, wq = numbers.tolist()
    of_u, of_wby = _shape(math.sqrt(u @ u), wbp, wbb, wq, float(wby @ wby), rate_shape)
    return (
        mean + rate_mean * math.exp(log_sigma) * (wy + wz * u),  # (1)
        log_sigma + rate_sigma * 0.5 * (wq - total),  # (2)
        of_u * u + of_wby * wby,
    )


@jitable
def _shape(
    r: float, wbp: float, wbb: float, wq: float, power: float, rate_shape: float
) -> tuple[float, float]:
    """Return the coefficients of u and Σ w b y in the next u; ``power`` is the squared length of Σ w b y.

    ∇u = along·v + across, where across = (Σ w b y − (Σ w b p) v)/r is normal to v.
    """
    along = (wbb - (r * r + 1) * wq) / (2 * r)
    across = math.sqrt(max(0.0, power - wbp * wbp)) / r  # its length
    length = math.hypot(along, across)  # of ∇u (3)
    rate = min(rate_shape, 2 * r / length) if length > 0 else 0.0  # ε
    if along < 0:  # shrink c by (4) and turn v by (5) separately: adding to u could flip it
        turned = max(r * math.exp(rate * along / r), SHORTEST) / math.hypot(1, rate * across / r)
        along_v, across_v = turned, turned * rate / r
    else:  # grow: an exponential step in c could explode
        along_v, across_v = r + rate * along, rate
    return (along_v - across_v * wbp / r) / r, across_v / r


@compiled
def _points_loops(mean: Array, sigma: float, u: Array, noise: Array, X: Array) -> None:
    n, d = X.shape
    width = strip_width(n, d)
    for start in range(0, d, width):
        m, v = mean[start : start + width], u[start : start + width]
        for i in range(n):
            x, y, z = X[i, start : start + width], noise[i, start : start + width], noise[i, d]
            for j in range(m.size):
                x[j] = m[j] + sigma * (z * v[j] + y[j])


@compiled
def _update_loops(
    mean: Array,
    log_sigma: float,
    u: Array,
    noise: Array,
    w: Array,
    rate_mean: float,
    rate_sigma: float,
    rate_shape: float,
    next_mean: Array,
    next_u: Array,
) -> float:
    """Return the next λ; write the next μ and u to ``next_mean`` and ``next_u``, which first hold sums."""
    n, d = noise.shape[0], u.size
    along, squares, weights = np.zeros(n), np.zeros(n), np.zeros((2, n + 3))
    starts = np.arange(n) * noise.shape[1]
    r = math.sqrt(project(u, noise.ravel(), starts, along, squares))
    total, wz, wbp, wbb, wq = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        p, q, z = along[i] / r, squares[i], noise[i, d]
        b = p + r * z
        weights[0, i], weights[1, i] = w[i], w[i] * b
        total += w[i]
        wz += w[i] * z
        wbp += w[i] * b * p
        wbb += w[i] * b * b
        wq += w[i] * (q - p * p) / (d - 1)
    power = add_weighted(noise.ravel(), starts, weights, next_mean, next_u)
    of_u, of_wby = _shape(r, wbp, wbb, wq, power, rate_shape)
    step = rate_mean * math.exp(log_sigma)
    for j in range(d):
        next_mean[j] = mean[j] + step * (next_mean[j] + wz * u[j])  # (1)
    for j in range(d):
        next_u[j] = of_u * u[j] + of_wby * next_u[j]
    return log_sigma + rate_sigma * 0.5 * (wq - total)  # (2)
