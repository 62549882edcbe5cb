"""Rank-k natural evolution strategy (RkNES): N(μ, σ²DM²D), M = I + Vᵀ(e^c − 1)V, D diagonal.

The rows of V are k orthonormal directions. Along the i-th one the whitened Gaussian is stretched by
e^{c_i}: c > 0 makes it longer than D alone would, c < 0 shorter. A sample is x = μ + σDMy; y is the
whitened sample, so nothing is ever inverted. Instead of normal vectors the y are orthogonal directions
(``sampling.orthogonal``): d of them in a row cover the space evenly and carry as much information about f as
1.5 d independent ones.

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

from r1nes.arrays import Array, Operations, host, like, namespace, operations
from r1nes.ranking import linear, logarithmic
from r1nes.sampling.orthogonal import ShiftedSequence, as_shifts, paired
from r1nes.strategies.protocol import Method, Strategy
from r1nes.strategies.rank_k import kernels as layer_loops
from r1nes.strategies.rank_k import points as layer_points
from r1nes.strategies.rank_k.matrices import LEAST
from r1nes.strategies.rank_k.points import FIRST, MEAN, PATH, SCALES
from r1nes.strategies.rank_k.step import gather, orthonormalise, points, step

Moments = tuple[Array, Array]  # sums over samples: vectors and numbers


@dataclass(frozen=True, kw_only=True)
class RkNES(Method):
    """Rank-k NES, the default: a few directions that grow or shrink, over a diagonal.

    Args:
        rank: The number of directions, or a pair (growing, shrinking); by default (2, 1).
        base: ``"diagonal"`` learns a scale per variable, ``"identity"`` does not.
        rate_mean: Learning rate η_μ of the mean.
        rate_sigma: Learning rate of the step size, relative to its default.
        rate_shape: Learning rate of the directions and their stretches, relative to its default.
        rate_scales: Learning rate of the diagonal, relative to its default.
    """

    min_dim: ClassVar[int] = 2
    orthogonal: ClassVar[bool] = True
    max_condition: ClassVar[float] = 1e30

    rank: int | tuple[int, int] | None = None
    base: str = "diagonal"
    rate_mean: float = 1.0
    rate_sigma: float = 1.0
    rate_shape: float = 1.0
    rate_scales: float = 1.0

    def start(self, mean: Array, sigma: float, rng: np.random.Generator) -> RankKGaussian:
        """Return the first distribution: nearly round, with random directions."""
        d = mean.size
        if self.base not in ("diagonal", "identity"):
            raise ValueError(f"base must be 'diagonal' or 'identity', got {self.base!r}")
        if self.base == "identity" and self.rate_scales != 1:
            raise ValueError(f"rate_scales has no use with base='identity', got {self.rate_scales}")
        growing, shrinking = _slots(self.rank, d)
        k = growing + shrinking
        rows = np.zeros((FIRST + k, d), mean.dtype)
        rows[MEAN], rows[SCALES] = mean, 1
        rows[FIRST:] = rng.standard_normal((d, k)).T
        c = np.repeat([-LEAST, LEAST], [shrinking, growing])
        orthonormalise(operations(rows), rows[FIRST:], c)
        return RankKGaussian(
            rows,
            c.astype(mean.dtype),
            math.log(sigma),
            signal_noise=0.0,
            largest_scale=1.0,
            age=0,
            shrinking=shrinking,
            rate_mean=self.rate_mean,
            rate_sigma=self.rate_sigma,
            rate_shape=self.rate_shape,
            rate_scales=self.rate_scales if self.base == "diagonal" else 0.0,
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


@dataclass(slots=True, eq=False, repr=False)
class RankKGaussian(Strategy):
    """A Gaussian with a few directions of its own over a diagonal, one natural-gradient step at a time."""

    rows: Array  # (5 + k, d): μ, D of geometric mean 1, p_c in units of σ, signal of D, p_σ whitened, V
    stretches: Array  # c, (k,), ascending: shrinking directions first
    log_sigma: float  # λ
    signal_noise: float  # the variance that the signal would have if there was none
    largest_scale: float  # of D
    age: int  # generations
    shrinking: int  # how many directions shrink
    rate_mean: float  # η_μ
    rate_sigma: float  # relative to the default of the step size
    rate_shape: float  # relative to the default of V and c
    rate_scales: float  # relative to the default of D; 0 leaves D = I
    fast: bool = False  # whether its arithmetic is compiled

    @property
    def mean(self) -> Array:
        """The centre μ."""
        return self.rows[MEAN]

    @property
    def scales(self) -> Array:
        """D."""
        return self.rows[SCALES]

    @property
    def path(self) -> Array:
        """p_c, in units of σ."""
        return self.rows[PATH]

    @property
    def directions(self) -> Array:
        """V, one direction per row."""
        return self.rows[FIRST:]

    @property
    def noise_size(self) -> int:
        """Numbers per direction."""
        return int(self.rows.shape[1])

    def sample(self, noise: Array | ShiftedSequence, out: Array | None = None) -> Array:
        """Points for the directions ``noise``, one per row."""
        if isinstance(noise, ShiftedSequence) or self.fast:
            shifts = as_shifts(noise)
            X = np.empty((shifts.n, self.rows.shape[1])) if out is None else out
            layer_points.points.fast(self.rows, math.exp(self.log_sigma), self.stretches, *shifts, X)
            return X
        return points(self.mean, self.sigma, self.scales, self.directions, self.stretches, noise, out)

    def update(self, noise: Array | ShiftedSequence, utilities: Array) -> Self:
        """The distribution after one step along the natural gradient."""
        if not (isinstance(noise, ShiftedSequence) or self.fast):
            ops = operations(self.rows)
            moments = ops.xp.zeros_like(self.rows), np.zeros(4)
            return self._step(ops, gather(ops, self.directions, noise, _in_two_rows(utilities), *moments))
        w = _in_two_rows(utilities)
        if not w[0, 0] and not w[0].any():  # no sample carries any weight
            return self
        rates = self.rate_mean, self.rate_sigma, self.rate_shape, self.rate_scales
        rows, c = np.empty(self.rows.shape), np.empty(self.stretches.size)
        numbers = layer_loops.update.fast(
            self.rows,
            self.stretches,
            self.log_sigma,
            self.signal_noise,
            self.age,
            self.shrinking,
            *as_shifts(noise),
            w,
            *rates,
            rows,
            c,
        )
        return type(self)(rows, c, *numbers, self.age + 1, self.shrinking, *rates, True)

    def moments(self) -> Moments:
        """All zero: ``accumulate`` adds to them, ``step`` needs them."""
        return operations(self.rows).xp.zeros_like(self.rows), np.zeros(4)

    def accumulate(self, moments: Moments, noise: Array, utilities: Array) -> Moments:
        """The ``moments`` with some samples added."""
        return gather(operations(noise), self.directions, noise, _in_two_rows(utilities), *moments)

    def step(self, moments: Moments) -> Self:
        """The next distribution, given the ``moments`` of all samples; they are used up."""
        return self._step(operations(self.rows), moments)

    def _step(self, ops: Operations, moments: Moments) -> Self:
        if not moments[1][2]:  # no sample carries any weight
            return self
        rates = self.rate_mean, self.rate_sigma, self.rate_shape, self.rate_scales
        state = self.rows, self.stretches, self.log_sigma, self.signal_noise
        stepped = step(ops, *state, self.age, self.shrinking, *moments, *rates)
        return type(self)(*stepped, self.age + 1, self.shrinking, *rates, self.fast)

    def shrunk(self, factor: float) -> Self:
        """The same shape with σ divided by ``factor``."""
        return replace(self, log_sigma=self.log_sigma - math.log(factor))

    @property
    def sigma(self) -> float:
        """The standard deviation σ across the directions, in the geometric mean of the coordinates."""
        return math.exp(self.log_sigma)

    def stds(self) -> Array:
        """The standard deviation of each coordinate."""
        V, xp = self.directions, namespace(self.directions)
        layer = 1 + like(np.expm1(2 * self.stretches), V) @ (V * V)  # diag M²
        return self.sigma * self.scales * xp.sqrt(layer)

    def largest_std(self) -> tuple[float, float]:
        """What the largest of them lies between, at little cost."""
        longest, c = math.exp(self.log_sigma) * self.largest_scale, self.stretches.tolist()
        return longest * math.exp(min(c[0], 0.0)), longest * math.exp(max(c[-1], 0.0))

    def cov(self) -> Array:
        """The covariance matrix, dense and on the host: for inspection and tests, not for large d."""
        V, D = host(self.directions), host(self.scales)
        layer = np.eye(D.size) + (V.T * np.expm1(2 * self.stretches)) @ V
        return self.sigma**2 * D[:, None] * layer * D

    def condition(self) -> float:
        """A bound of the condition number of the covariance matrix: D's times the layer's."""
        layer = max(float(self.stretches[-1]), 0.0) - min(float(self.stretches[0]), 0.0)
        return math.exp(2 * (self._spread() + layer))

    def _spread(self) -> float:
        D = self.scales
        return math.log(self.largest_scale / float(D[D.argmin()]))

    def scalars(self) -> dict[str, float]:
        """What a history keeps: λ, the spread of D, each c, and how far the path goes along the longest."""
        axis = self.scales * self.directions[-1]
        lengths = math.sqrt(float(axis @ axis) * float(self.path @ self.path))
        c = {f"c{i}": float(value) for i, value in enumerate(self.stretches)}
        return {
            "sigma": self.sigma,
            "lambda": self.log_sigma,
            "spread": self._spread(),
            "alignment": abs(float(axis @ self.path)) / lengths if lengths else 0.0,
            **c,
        }


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
