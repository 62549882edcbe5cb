"""Rank-k natural evolution strategy (RkNES): N(μ, σ²DM²D), M = I + Vᵀ(e^c − 1)V, D diagonal.

The rows of V are k orthonormal directions. Along the i-th one the whitened Gaussian is stretched by
e^{c_i}: c > 0 makes it longer than D alone would, c < 0 shorter. A sample is x = μ + σDMy; y is the
whitened sample, so nothing is ever inverted. Instead of normal vectors the y are orthogonal directions
(module ``directions``): d in a row look everywhere once, which tells as much about f as half as many again
that are independent.

In whitened coordinates the natural gradient over all covariances is G = Σ w (yyᵀ − I) and the metric is
½ tr(G²), so over these covariances it is the projection of G onto what V, c and σ can change: the block along
V, the block between V and the rest, and the mean of the rest. With S = Σ w, P = YVᵀ and W = diag(w)

    G_V = PᵀWP − S I                               (1)   within V
    τ   = Σ w (‖y‖² − ‖p‖²)/(d − k) − S            (2)   the rest, on average
    H   = PᵀWY − (PᵀWP) V                          (3)   between V and the rest, k × d

    δλ = τ/2,   δc = (diag G_V − τ)/2,   δv_i = H_i e^{c_i}/(e^{2c_i} − 1)        (4)

and for one direction c > 0 this is R1-NES. The weights fall evenly from the best rank to the worst, since a
bad sample tells of its direction what a good one does; only where samples come in pairs, so with few
variables, does the mean follow the best few. To this are added, as in CMA-ES: the evolution path as one
more sample, of whitened value ŷ = M⁻¹D⁻¹p_c, and a step size that follows the length of the path p_σ. The
mean drifts along p_c besides.
Directions have a sign: some slots only grow, the others only shrink, at half the rate; and a shrinking one
is pulled back weakly, because a direction that is shrunk by chance feels no selection.

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
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from r1nes.arrays import Array, host, like, namespace, zeros
from r1nes.compiled import strip
from r1nes.directions import Shifts, paired
from r1nes.strategies import layer_loops
from r1nes.strategies.layer import gather, orthonormalise, points, step
from r1nes.strategies.layer_loops import LEAST
from r1nes.tiles import room
from r1nes.utilities import linear, logarithmic

MADE = Shifts(np.empty(0), np.empty(0, np.int8), np.empty(0, np.int64))  # none is left to be made
Moments = tuple[Array, Array]  # sums over samples: vectors and numbers


@dataclass(slots=True, eq=False)
class RkNES:
    """A Gaussian with a few directions of its own over a diagonal, one natural-gradient step at a time."""

    min_dim: ClassVar[int] = 2
    orthogonal: ClassVar[bool] = True
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
    fast: bool = False  # whether its arithmetic is compiled

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
        V = np.ascontiguousarray(rng.standard_normal((d, k)).T, mean.dtype)
        c = np.repeat([-LEAST, LEAST], [shrinking, growing])
        orthonormalise(V, c)
        return cls(
            mean,
            math.log(sigma),
            log_scales=np.zeros_like(mean),
            directions=V,
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
    def default_utilities(n: int, d: int) -> Array:
        """One row for the mean, one for the covariance, where bad points tell as much as good ones.

        The mean follows the best few where samples come in pairs.
        """
        best_few = logarithmic(n, zero_sum=True)
        evenly = linear(n, like=best_few)
        return np.stack([best_few if paired(n, d) else evenly, evenly])

    @property
    def noise_size(self) -> int:
        """Numbers per direction."""
        return len(self.mean)

    def sample(self, noise: Array | Shifts, out: Array | None = None) -> Array:
        """Points for the directions ``noise``, one per row."""
        distribution = self.mean, self.sigma, self.log_scales, self.directions, self.stretches
        if isinstance(noise, Shifts) or self.fast:
            directions = _in_parts(noise, len(self.mean))
            X = np.empty((len(directions[0]), len(self.mean))) if out is None else out
            layer_loops.points.fast(*distribution, *directions, X)
            return X
        return points(*distribution, noise, room(noise, len(self.mean)) if out is None else out)

    def update(self, noise: Array | Shifts, utilities: Array) -> Self:
        """The distribution after one step along the natural gradient."""
        if isinstance(noise, Shifts) or self.fast:
            return self._fast_update(noise, utilities)
        return self.step(self.gather(self.moments(), noise, utilities))

    def moments(self) -> Moments:
        """All zero: ``gather`` adds to them, ``step`` needs them."""
        return zeros((2 + self.stretches.size, len(self.mean)), self.mean), np.zeros(4)

    def gather(self, moments: Moments, noise: Array, utilities: Array) -> Moments:
        """The ``moments`` with some samples added."""
        return gather(self.directions, noise, _in_two_rows(utilities), *moments)

    def step(self, moments: Moments) -> Self:
        """The next distribution, given the ``moments`` of all samples; they are used up."""
        if not moments[1][2]:  # no sample carries any weight
            return self
        rates = self.rate_mean, self.rate_sigma, self.rate_shape, self.rate_scales
        mean, log_sigma, log_scales, V, c, path_sigma, path, signal, signal_noise = step(
            self.mean,
            self.log_sigma,
            self.log_scales,
            self.directions,
            self.stretches,
            self.shrinking,
            self.path_sigma,
            self.path,
            self.signal,
            self.signal_noise,
            self.age,
            *moments,
            *rates,
        )
        return type(self)(
            mean,
            log_sigma,
            log_scales,
            V,
            c,
            self.shrinking,
            path_sigma,
            path,
            signal,
            signal_noise,
            self.age + 1,
            *rates,
            self.fast,
        )

    def _fast_update(self, noise: Array | Shifts, utilities: Array) -> Self:
        w = _in_two_rows(utilities)
        if not w[0, 0] and not w[0].any():  # no sample carries any weight
            return self
        rates = self.rate_mean, self.rate_sigma, self.rate_shape, self.rate_scales
        d, k = self.mean.size, self.stretches.size
        state, c = np.empty((5 + k, d)), np.empty(k)
        log_sigma, signal_noise = layer_loops.update.fast(
            self.mean,
            self.log_sigma,
            self.log_scales,
            self.directions,
            self.stretches,
            self.shrinking,
            self.path_sigma,
            self.path,
            self.signal,
            self.signal_noise,
            self.age,
            paired(w.shape[1], d),
            *_in_parts(noise, d),
            w,
            *rates,
            state,
            c,
            np.empty(d),
        )
        return type(self)(
            state[0],
            log_sigma,
            state[1],
            state[5:],
            c,
            self.shrinking,
            state[2],
            state[3],
            state[4],
            signal_noise,
            self.age + 1,
            *rates,
            True,
        )

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
        V, xp = self.directions, namespace(self.directions)
        layer = 1 + like(np.expm1(2 * self.stretches), V) @ (V * V)  # diag M²
        return self.sigma * xp.exp(self.log_scales) * xp.sqrt(layer)

    def largest_std(self) -> tuple[float, float]:
        """What the largest of them lies between, at little cost."""
        longest = self.log_sigma + float(self.log_scales[self.log_scales.argmax()])  # faster than max
        shrunk, grown = float(self.stretches[0]), float(self.stretches[-1])
        return math.exp(longest + min(shrunk, 0.0)), math.exp(longest + max(grown, 0.0))

    def cov(self) -> Array:
        """The covariance matrix, dense and on the host: for inspection and tests, not for large d."""
        V, D = host(self.directions), np.exp(host(self.log_scales))
        layer = np.eye(D.size) + (V.T * np.expm1(2 * self.stretches)) @ V
        return self.sigma**2 * D[:, None] * layer * D

    def condition(self) -> float:
        """A bound of the condition number of the covariance matrix: D's times the layer's."""
        layer = max(float(self.stretches[-1]), 0.0) - min(float(self.stretches[0]), 0.0)
        return math.exp(2 * (self._spread() + layer))

    def _spread(self) -> float:
        s = self.log_scales
        return float(s[s.argmax()] - s[s.argmin()])

    def scalars(self) -> dict[str, float]:
        """What a history keeps: λ, the spread of D, each c, and how far the path goes along the longest."""
        axis = namespace(self.path).exp(self.log_scales) * self.directions[-1]
        lengths = math.sqrt(float(axis @ axis) * float(self.path @ self.path))
        c = {f"c{i}": float(value) for i, value in enumerate(self.stretches)}
        return {
            "lambda": self.log_sigma,
            "spread": self._spread(),
            "alignment": abs(float(axis @ self.path)) / lengths if lengths else 0.0,
            **c,
        }


def _in_parts(noise: Array | Shifts, d: int) -> tuple[Array, Array, NDArray[np.int8], NDArray[np.int64]]:
    """Directions, or room for some of their columns, and what is to be put there."""
    if isinstance(noise, Shifts):
        n = noise.starts.size
        return np.empty((n, min(strip(n, d), d))), *noise
    return noise, *MADE


def _in_two_rows(utilities: Array) -> Array:
    """One for the mean, one for the covariance."""
    return utilities if utilities.ndim == 2 else np.stack([utilities, utilities])


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
