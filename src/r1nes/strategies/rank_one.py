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
from typing import Any, ClassVar, Self

import numpy as np

from r1nes.arrays import Array, host, library_of, like, namespace, on_host, zeros
from r1nes.arrays.one_text import dot, exp, join, number, one_text, powers, sqrt
from r1nes.arrays.tiles import BLOCK, STRIP, column_slices
from r1nes.ranking import logarithmic
from r1nes.strategies.presets import PRESETS, preset_named
from r1nes.strategies.protocol import Method, Strategy

Moments = tuple[Array, Array]  # sums over samples: vectors and numbers

SHORTEST = 1e-8  # below this, 1 + r² rounds to 1, so a shorter u would give the same distribution


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
            return _points.of(library_of(noise))(mean, sigma, u, noise[:, :d], noise[:, d:])
        X = np.empty((len(noise), d), noise.dtype) if out is None else out
        if self.compiled:
            _write_points.of("numba")(mean, sigma, u, noise, X)
            return X
        y, z = noise[:, :d], noise[:, d:]
        for t in column_slices(*X.shape, size=BLOCK):
            X[:, t] = _points(mean[t], sigma, u[t], y[:, t], z)
        return X

    def update(self, noise: Array, utilities: Array) -> Self:
        """Return the distribution after one step along the natural gradient."""
        if not self.compiled:
            return self.step(self._measured(noise, utilities))
        rates, d = (self.rate_mean, self.rate_sigma, self.rate_shape), self.mean.size
        mean, u = np.empty(d), np.empty(d)
        state = self.mean, self.log_sigma, self.u
        log_sigma = _write_update.of("numba")(*state, noise, utilities, *rates, mean, u)
        return type(self)(mean, log_sigma, u, *rates, True)

    def moments(self) -> Moments:
        """Return the sums before any sample has been added: all zero."""
        return zeros((2, self.noise_size), self.mean), np.zeros(4)

    def accumulate(self, moments: Moments, noise: Array, utilities: Array) -> Moments:
        """Return the ``moments`` with some samples added; NumPy arrays are changed in place."""
        more, numbers = self._measured(noise, utilities)
        return moments[0] + more, moments[1] + numbers

    def _measured(self, noise: Array, utilities: Array) -> Moments:
        sums, numbers = _measure.of(self._library)(self.u, noise, like(utilities, noise))
        return sums, np.array([float(value) for value in numbers])

    def step(self, moments: Moments) -> Self:
        """Return the next distribution, given the ``moments`` of all samples."""
        rates, (sums, numbers) = (self.rate_mean, self.rate_sigma, self.rate_shape), moments
        state = _step.eager(self._library)(
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


@one_text
def _points(mean: Array, sigma: float, u: Array, y: Array, z: Array) -> Array:
    """Return points x = μ + σ(y + z·u), ~ N(μ, σ²(I + uuᵀ))."""
    x = z * u  # changed in place, because temporary arrays cost NumPy more than the arithmetic
    x += y
    x *= sigma
    x += mean
    return x


@one_text
def _write_points(mean: Array, sigma: float, u: Array, noise: Array, X: Array) -> None:
    """Write points to X, one number at a time: for numba, which needs no temporary arrays then."""
    n, d = X.shape
    for start in range(0, d, STRIP):
        stop = min(start + STRIP, d)
        m, v = mean[start:stop], u[start:stop]
        for i in range(n):
            x, y, z = X[i, start:stop], noise[i, start:stop], noise[i, d]
            for j in range(m.size):
                x[j] = _points(m[j], sigma, v[j], y[j], z)


@one_text
def _direction(u: Array) -> tuple[Array, float]:
    """Return v, followed by a 0 for the z of the noise, and r."""
    r = sqrt(number(dot(u, u)))
    return join((u / r, 0.0 * u[:1])), r


@one_text
def _project(v: Array, noise: Array) -> tuple[Array, Array]:
    """Return p = yᵀv and ‖y‖² + z² for each sample."""
    return dot(noise, v), powers(noise)


@one_text
def _weigh(d: int, r: float, p: Array, power: Array, z: Array, w: Array) -> Any:
    """Return the weights w and w b; and Σ w, Σ w b p, Σ w b², Σ w q/(d − 1)."""
    b = p + r * z
    wb, q = w * b, power - z * z - p * p
    numbers = number(w.sum()), number(dot(wb, p)), number(dot(wb, b)), number(dot(w, q)) / (d - 1)
    return join((w, wb)).reshape((2, -1)), numbers


@one_text
def _measure(u: Array, noise: Array, w: Array) -> Any:
    """Return Σ w (y, z) and Σ w b (y, z), one per row; and the numbers of ``_weigh``."""
    v, r = _direction(u)
    p, power = _project(v, noise)
    weights, numbers = _weigh(u.shape[0], r, p, power, noise[:, -1], w)
    return dot(weights, noise), numbers


@one_text
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


@one_text
def _numbers(log_sigma: float, u: Array, sums: Array, numbers: Any,
             rate_mean: float, rate_sigma: float, rate_shape: float) -> Any:  # fmt: skip
    """Return the next λ, and the coefficients of ``_next``."""
    wz, wby = number(sums[0, -1]), sums[1, : u.shape[0]]
    total, wbp, wbb, wq = numbers
    r, power = sqrt(number(dot(u, u))), number(dot(wby, wby))
    of_u, of_wby = _shape(r, wbp, wbb, wq, power, rate_shape)
    log_next = log_sigma + rate_sigma * 0.5 * (wq - total)  # (2)
    return log_next, (rate_mean * exp(log_sigma), wz, of_u, of_wby)


@one_text
def _next(mean: Array, u: Array, wy: Array, wby: Array, numbers: Any) -> tuple[Array, Array]:
    """Return the next μ and u."""
    rate, wz, of_u, of_wby = numbers
    return mean + rate * (wy + wz * u), of_u * u + of_wby * wby  # (1), (3) to (5)


@one_text
def _step(mean: Array, log_sigma: float, u: Array, sums: Array, numbers: Any,
          rate_mean: float, rate_sigma: float, rate_shape: float) -> tuple[Array, float, Array]:  # fmt: skip
    """Return the next μ, λ and u, given what ``_measure`` returns."""
    log_next, parts = _numbers(log_sigma, u, sums, numbers, rate_mean, rate_sigma, rate_shape)
    next_mean, next_u = _next(mean, u, sums[0, :-1], sums[1, :-1], parts)
    return next_mean, log_next, next_u


@one_text
def _write_update(mean: Array, log_sigma: float, u: Array, noise: Array, w: Array,
                  rate_mean: float, rate_sigma: float, rate_shape: float,
                  next_mean: Array, next_u: Array) -> float:  # fmt: skip
    """Return the next λ and write the next μ and u, given samples and their utilities: for numba."""
    sums, numbers = _measure(u, noise, w)
    log_next, parts = _numbers(log_sigma, u, sums, numbers, rate_mean, rate_sigma, rate_shape)
    for j in range(u.size):
        next_mean[j], next_u[j] = _next(mean[j], u[j], sums[0, j], sums[1, j], parts)
    return log_next
