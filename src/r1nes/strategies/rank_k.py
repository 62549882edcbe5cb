"""Rank-k natural evolution strategy (RkNES): N(μ, σ²DM²D), M = I + Vᵀ(e^c − 1)V, D diagonal.

The rows of V are k orthonormal directions. Along the i-th one the whitened Gaussian is stretched by e^{c_i}:
c > 0 makes it longer than D alone would, c < 0 shorter. A sample is x = μ + σDMy, and its mirror image
μ − σDMy is another; y is the whitened sample, so nothing is ever inverted. Instead of normal vectors the y
are orthogonal directions (module ``directions``): d pairs in a row look everywhere once, which tells as much
about f as half as many again that are independent.

In whitened coordinates the natural gradient over all covariances is G = Σ w (yyᵀ − I) and the metric is
½ tr(G²), so over these covariances it is the projection of G onto what V, c and σ can change: the block along
V, the block between V and the rest, and the mean of the rest. With S = Σ w, P = YVᵀ and W = diag(w)

    G_V = PᵀWP − S I                               (1)   within V
    τ   = Σ w (‖y‖² − ‖p‖²)/(d − k) − S            (2)   the rest, on average
    H   = PᵀWY − (PᵀWP) V                          (3)   between V and the rest, k × d

    δλ = τ/2,   δc = (diag G_V − τ)/2,   δv_i = H_i e^{c_i}/(e^{2c_i} − 1)        (4)

and for one direction c > 0 this is R1-NES. The mean follows the best few samples; for the covariance the
weights fall evenly from the best rank to the worst, since a bad sample tells of its direction what a good one
does. To this are added, as in CMA-ES: the evolution path as one more sample, of whitened value ŷ = M⁻¹D⁻¹p_c,
and a step size that follows the length of the path p_σ. Directions have a sign: some slots only grow, the
others only shrink, at half the rate; and a shrinking one is pulled back weakly, because a direction that is
shrunk by chance feels no selection.

D learns from the diagonal of the same G, but across what has grown, so that the two do not pull at one axis:

    (I − VᵀtV) G (I − VᵀtV) in place of G,   t = 1 − e^{−2c} for c > 0, else 0      (5)

and by the share of it that is signal: 1 − s/ρ, where ρ is the power of its average over some d generations,
relative to the power that pure noise would have. What V has learnt is kept when D moves by δ: long axes Dv,
and short ones D⁻¹v, still point where they did in the space of x,

    v ← v e^{−δ} for c > 0,   v ← v e^{δ} for c < 0                                (6)

since else each step of D would turn every direction away from where it must point to an angle of e^{−|c|}.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

import numpy as np

from r1nes.arrays import Array
from r1nes.utilities import linear, logarithmic

LEAST, SHORTEST, LONGEST = 0.1, -9.0, 12.0  # |c| of a free slot, and the limits of c
PACE = 0.5  # of shrinking slots, relative to growing ones
PULL = 0.02  # of shrunk directions back to 0, in units of the rate of the layer
TURN = 0.5  # the most that a direction turns in one generation, as a tangent
NOISE = 1.2  # s: how much stronger than pure noise the signal of D must be to count


@dataclass(frozen=True, slots=True)
class Moments:
    """What the natural gradient needs to know of weighted samples; those of two sets add up."""

    total: float  # S
    along: Array  # PᵀWP, (k, k)
    between: Array  # PᵀWY, (k, d)
    squares: Array  # Σ w y², (d,)

    @classmethod
    def of(cls, y: Array, w: Array, V: Array) -> Self:
        """Of samples ``y``, in rows, with weights ``w``."""
        P = y @ V.T
        PW = P.T * w
        return cls(float(w.sum()), PW @ P, PW @ y, w @ (y * y))

    def __add__(self, other: Moments) -> Moments:
        """Of both sets of samples."""
        return Moments(
            self.total + other.total,
            self.along + other.along,
            self.between + other.between,
            self.squares + other.squares,
        )


class Gradient(NamedTuple):
    """The natural gradient over the whitened layer: equations (1) to (3)."""

    within: Array  # G_V, (k, k)
    rest: float  # τ
    between: Array  # H, (k, d)


def natural_gradient(moments: Moments, V: Array) -> Gradient:
    """Of samples with these ``moments``, for the directions ``V``."""
    k, d = V.shape
    S, PWP = moments.total, moments.along
    return Gradient(
        PWP - S * np.eye(k, dtype=V.dtype),  # (1)
        float(moments.squares.sum() - np.trace(PWP)) / (d - k) - S,  # (2)
        moments.between - PWP @ V,  # (3)
    )


@dataclass(frozen=True, slots=True, eq=False)
class RkNES:
    """A Gaussian with a few directions of its own over a diagonal, one natural-gradient step at a time."""

    min_dim: ClassVar[int] = 2
    mirrored: ClassVar[bool] = True
    max_condition: ClassVar[float] = 1e30

    mean: Array  # μ, (d,)
    log_sigma: float  # λ
    log_scales: Array  # log D, (d,), of mean 0
    directions: Array  # V, (k, d), shrinking ones first
    stretches: Array  # c, (k,), ascending
    shrinking: int  # how many slots shrink
    path_sigma: Array  # p_σ, (d,), whitened
    path: Array  # p_c, (d,), in units of σ
    signal: Array  # average of the gradient of log D, (d,)
    signal_noise: float  # the variance it would have without a signal
    age: int  # generations
    rate_mean: float  # η_μ
    rate_sigma: float  # relative to the default of the step size
    rate_shape: float  # relative to the default of V and c
    rate_scales: float  # relative to the default of D; 0 leaves D = I

    @classmethod
    def start(
        cls,
        mean: Array,
        sigma: float,
        rng: np.random.Generator,
        *,
        rank: int | tuple[int, int] | None = None,
        base: str = "diagonal",
        rate_mean: float = 1.0,
        rate_sigma: float = 1.0,
        rate_shape: float = 1.0,
        rate_scales: float = 1.0,
    ) -> Self:
        """Around ``mean``, nearly round, with ``rank`` = (growing, shrinking) random directions.

        Over ``base="diagonal"`` D is learnt, over ``"identity"`` it stays I.
        """
        d = mean.size
        if base not in ("diagonal", "identity"):
            raise ValueError(f"base must be 'diagonal' or 'identity', got {base!r}")
        if base == "identity" and rate_scales != 1:
            raise ValueError(f"rate_scales has no use with base='identity', got {rate_scales}")
        growing, shrinking = _slots(rank, d)
        k = growing + shrinking
        V = np.linalg.qr(rng.standard_normal((d, k)))[0].T
        c = np.repeat([-LEAST, LEAST], [shrinking, growing])
        return cls(
            mean,
            math.log(sigma),
            log_scales=np.zeros_like(mean),
            directions=np.ascontiguousarray(V, mean.dtype),
            stretches=c.astype(mean.dtype),
            shrinking=shrinking,
            path_sigma=np.zeros_like(mean),
            path=np.zeros_like(mean),
            signal=np.zeros_like(mean),
            signal_noise=0.0,
            age=0,
            rate_mean=rate_mean,
            rate_sigma=rate_sigma,
            rate_shape=rate_shape,
            rate_scales=rate_scales if base == "diagonal" else 0.0,
        )

    @staticmethod
    def default_popsize(d: int) -> int:
        """As CMA-ES, but even."""
        return 2 * ((4 + int(3 * math.log(d))) // 2)

    @staticmethod
    def default_utilities(n: int) -> Array:
        """One row for the mean, one for the covariance, where the worst points tell as much as the best."""
        w = logarithmic(n, zero_sum=True)
        return np.stack([w, linear(n, like=w)])

    @property
    def noise_size(self) -> int:
        """Normal numbers per pair of samples."""
        return self.mean.size

    def sample(self, noise: Array) -> Array:
        """Points for standard normal ``noise``: one per row, then their mirror images."""
        steps = self.sigma * np.exp(self.log_scales) * self._stretched(noise, self.stretches)  # ~ N(0, C)
        return np.concatenate([self.mean + steps, self.mean - steps])

    def _stretched(self, y: Array, c: Array) -> Array:
        """M y, in rows; with −c for c, M⁻¹ y."""
        return y + (y @ self.directions.T * np.expm1(c)) @ self.directions

    def update(self, noise: Array, utilities: Array) -> Self:
        """The distribution after one step along the natural gradient."""
        if not utilities.any():
            return self
        d, y = self.mean.size, noise
        of_mean, of_shape = utilities if utilities.ndim == 2 else (utilities, utilities)
        n = of_mean.size
        odd = of_mean[: n // 2] - of_mean[n // 2 :]  # what a pair adds to sums,
        even = of_shape[: n // 2] + of_shape[n // 2 :]  # and to squares
        mu = 1 / float(of_mean @ of_mean + 1 / n)  # μ_eff, the effective number of selected samples

        D = np.exp(self.log_scales)
        whitened_step = odd @ y  # Σ w y
        step = D * self._stretched(whitened_step, self.stretches)  # Σ w (x − μ)/σ
        path_sigma, change, too_fast = self._cumulative_step_size(whitened_step, mu)
        c_path = min(1.0, 1.2 / math.sqrt(d))
        path = (1 - c_path) * self.path
        if not too_fast:
            path = path + math.sqrt(c_path * (2 - c_path) * mu) * step
        y_path = self._stretched(path / D, -self.stretches)  # ŷ

        rate = min(0.5, 4 * self.rate_shape * mu / (3 * d + 10))
        sampled = Moments.of(y, even, self.directions)
        moments = sampled + Moments.of(y_path[None], np.full(1, 1 / mu, y.dtype), self.directions)
        within, rest, between = natural_gradient(moments, self.directions)
        gradient = Gradient(rate * within, rate * rest, rate * between)
        V, c = _turned(self.directions, self.stretches, gradient, self.shrinking, PULL * rate)
        heard, signal, signal_noise = self._heard(sampled.squares, even)
        rate_scales = min(0.7, 0.6 * self.rate_scales * mu / math.sqrt(d))
        delta = np.clip(0.5 * rate_scales * heard * self._gradient_of_scales(moments), -1, 1)
        V = _transported(V, c, delta)
        shift = float(delta.mean())
        return replace(
            self,
            mean=self.mean + self.rate_mean * self.sigma * step,
            log_sigma=self.log_sigma + change + 0.5 * self.rate_sigma * gradient.rest + shift,
            log_scales=self.log_scales + (delta - shift),
            directions=V,
            stretches=c,
            path_sigma=path_sigma,
            path=path,
            signal=signal,
            signal_noise=signal_noise,
            age=self.age + 1,
        )

    def _cumulative_step_size(self, whitened_step: Array, mu: float) -> tuple[Array, float, bool]:
        """The path p_σ, what its length makes of λ, and whether it is longer than a steady state allows."""
        d = whitened_step.size
        c_sigma = (mu + 2) / (d + mu + 5)
        damping = 0.4 * (1 + c_sigma + 2 * max(0.0, math.sqrt(max(0.0, mu - 1) / (d + 1)) - 1))
        path = (1 - c_sigma) * self.path_sigma + math.sqrt(c_sigma * (2 - c_sigma) * mu) * whitened_step
        expected = math.sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d * d))  # E‖N(0, I)‖
        excess = math.sqrt(path @ path) / expected
        begun = math.sqrt(1 - (1 - c_sigma) ** (2 * (self.age + 1)))  # the path starts at 0
        return path, self.rate_sigma * c_sigma / damping * (excess - 1), excess >= begun * (1.4 + 2 / (d + 1))

    def _heard(self, squares: Array, even: Array) -> tuple[float, Array, float]:
        """The share of D's gradient that is signal, its new average, and the variance of noise in it."""
        d = squares.size
        memory = 0.7 / d
        signal = (1 - memory) * self.signal + memory * (squares - squares.mean())
        noise = (1 - memory) ** 2 * self.signal_noise + memory**2 * 2 * float(even @ even)
        power = float(signal @ signal)  # (d − 1) ρ times the noise
        heard = max(0.0, 1 - NOISE * (d - 1) * noise / power) if power > 0 else 0.0  # 1 − s/ρ
        return heard, signal, noise

    def _gradient_of_scales(self, moments: Moments) -> Array:
        """The diagonal of G across what has grown, less its mean: (5)."""
        t = -np.expm1(-2 * np.maximum(self.stretches, 0))
        V = self.directions
        tV = t[:, None] * V
        across = moments.squares - np.einsum("ij,ij->j", tV, 2 * moments.between - moments.along @ tV)
        share = 1 - (t * (2 - t)) @ (V * V)  # of each coordinate that is left
        return across - share * (across.sum() / share.sum())

    def capped(self, limits: Array) -> Self:
        """The same shape, with σ such that some coordinate's standard deviation is within ``limits``."""
        excess = float((self.stds() / limits).min())
        return replace(self, log_sigma=self.log_sigma - math.log(excess)) if excess > 1 else self

    @property
    def sigma(self) -> float:
        """The standard deviation σ across the directions, in the geometric mean of the coordinates."""
        return math.exp(self.log_sigma)

    def stds(self) -> Array:
        """The standard deviation of each coordinate."""
        layer = 1 + np.expm1(2 * self.stretches) @ (self.directions * self.directions)  # diag M²
        return self.sigma * np.exp(self.log_scales) * np.sqrt(layer)

    def cov(self) -> Array:
        """The covariance matrix, dense: for inspection and tests, not for large d."""
        V, d = self.directions, self.mean.size
        layer = np.eye(d) + (V.T * np.expm1(2 * self.stretches)) @ V
        D = np.exp(self.log_scales)
        return self.sigma**2 * D[:, None] * layer * D

    def condition(self) -> float:
        """A bound of the condition number of the covariance matrix: D's times the layer's."""
        c = np.append(self.stretches, 0.0)
        return math.exp(2 * float(np.ptp(self.log_scales) + np.ptp(c)))

    def scalars(self) -> dict[str, float]:
        """What a history keeps of each generation: λ, the spread of D, and each c."""
        c = {f"c{i}": float(value) for i, value in enumerate(self.stretches)}
        return {"lambda": self.log_sigma, "spread": float(np.ptp(self.log_scales)), **c}


def _slots(rank: int | tuple[int, int] | None, d: int) -> tuple[int, int]:
    """Growing and shrinking directions; an int has one of three shrink."""
    if rank is None:
        return min(d - 1, 3) - (d > 2), int(d > 2)  # (2, 1); two of three axes; one of two
    growing, shrinking = rank if isinstance(rank, tuple) else (rank - rank // 3, rank // 3)
    if not (growing >= 0 and shrinking >= 0 and 1 <= growing + shrinking < d):
        raise ValueError(
            f"rank must be 1 to {d - 1} directions, or a pair (growing, shrinking), got {rank!r}"
        )
    return growing, shrinking


def _turned(V: Array, c: Array, gradient: Gradient, shrinking: int, pull: float) -> tuple[Array, Array]:
    """V and c after the step (4): turned out of their span, and within it by an eigenproblem."""
    pace = np.ones_like(c)
    pace[:shrinking] = PACE
    turn = (pace / (2 * np.sinh(c)))[:, None] * gradient.between  # e^c/(e^{2c} − 1) = 1/(2 sinh c)
    tangents = np.linalg.norm(turn, axis=1, keepdims=True)
    V = V + turn * np.minimum(1, TURN / np.maximum(tangents, TURN))

    within = gradient.within - gradient.rest * np.eye(c.size, dtype=c.dtype)
    g, U = np.linalg.eigh(np.sqrt(pace)[:, None] * within * np.sqrt(pace))
    grown = (U * np.exp(np.clip(g, -1, 1))) @ U.T
    variances, U = np.linalg.eigh(np.exp(c)[:, None] * grown * np.exp(c))  # ascending: shrinking ones first
    V, c = U.T @ V, 0.5 * np.log(np.maximum(variances, np.finfo(c.dtype).tiny))
    c[:shrinking] = np.clip(c[:shrinking] + pull, SHORTEST, -LEAST)
    c[shrinking:] = np.clip(c[shrinking:], LEAST, LONGEST)
    return _orthonormal(V, c), c


def _transported(V: Array, c: Array, delta: Array) -> Array:
    """V that leaves the long and the short axes where they point while log D moves by ``delta``: (6)."""
    return _orthonormal(V * np.exp(-np.sign(c)[:, None] * delta), c) if delta.any() else V


def _orthonormal(V: Array, c: Array) -> Array:
    """The rows of ``V`` made orthonormal; those with the largest |c| move the least."""
    order = np.argsort(-np.abs(c))
    Q, R = np.linalg.qr(V[order].T)
    orthonormal = np.empty_like(V)
    orthonormal[order] = (Q * np.sign(np.diag(R))).T
    return orthonormal
