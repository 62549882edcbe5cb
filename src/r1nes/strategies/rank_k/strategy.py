"""Rank-k natural evolution strategy (RkNES): N(μ, BM²Bᵀ), M = I + Vᵀ(a − 1)V.

A layer M of a few directions, which learn fast, over a base B, which learns slowly: a diagonal, at linear
cost, or a full matrix. ``rank_k.step`` has the equations. As in CMA-ES, the step size follows the length of
the path p_σ, and the path q of the mean is one more sample; the mean also drifts along q.

Instead of normal vectors the y are orthogonal directions (``sampling.orthogonal``): d of them in a row carry
as much information about f as 1.5 d independent ones. The weights fall evenly from the best rank to the
worst, because a bad sample tells as much about its direction as a good one; the more samples come in pairs,
the more the mean follows the best few.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from operator import add
from typing import Any, ClassVar, Self

import numpy as np

from r1nes.arguments import one_of, shown
from r1nes.arrays import Array, array_type_of, host, library_of, like, namespace
from r1nes.arrays.one_text import inner
from r1nes.arrays.tiles import BLOCK, column_slices
from r1nes.probing import Doubt
from r1nes.ranking import linear, logarithmic
from r1nes.sampling.compact import ShiftedSequence
from r1nes.sampling.orthogonal import Pairs, around, as_pairs, folded, pairs_of, points_like, rows_of
from r1nes.strategies.pacing import LONGEST, Pace, followed
from r1nes.strategies.protocol import Method, Strategy
from r1nes.strategies.rank_k.rates import LEAST, Rates, Slots, State, numbers_like, rates_of, slots_of, slowed
from r1nes.strategies.rank_k.step import advance, offsets, orthonormal, step, whole_offsets
from r1nes.strategies.rank_k.tiles import Moments, advance_in_tiles, moments_of

LARGEST_FULL = 300  # variables up to which ``base="auto"`` is a full matrix
LARGEST_WHOLE = 2**15  # variables up to which a step is not divided into tiles


@dataclass(frozen=True, kw_only=True)
class RkNES(Method):
    """Rank-k NES, the default: a few directions that grow or shrink, over a diagonal or a full matrix.

    Args:
        rank: The number of directions, or a pair (growing, shrinking); by default (2, 1).
        base: ``"full"`` learns a matrix, at a cost of d² per evaluation; ``"diagonal"`` a scale per variable,
            at a cost of d. ``"auto"`` is full up to 300 variables, where it costs 0.1 ms per evaluation.
        rate_mean: Learning rate η_μ of the mean.
        rate_sigma: Learning rate of the step size, relative to its default.
        rate_shape: Learning rate of the directions and their stretches, relative to its default.
        rate_base: Learning rate of the base, relative to its default; 0 turns its learning off.
    """

    min_dim: ClassVar[int] = 2
    orthogonal: ClassVar[bool] = True
    heeds_noise: ClassVar[bool] = True
    max_condition: ClassVar[float] = 1e30

    rank: int | tuple[int, int] | None = None
    base: str = "auto"
    rate_mean: float = 1.0
    rate_sigma: float = 1.0
    rate_shape: float = 1.0
    rate_base: float = 1.0

    def __post_init__(self) -> None:
        """Check the base, the rank and the learning rates."""
        one_of("auto", "diagonal", "full")("base", self.base)
        pair = self.rank if isinstance(self.rank, tuple) else (self.rank, 0)
        if self.rank is not None and not (len(pair) == 2 and all(type(n) in (int, np.int64) for n in pair)):
            raise TypeError(f"rank must be an int or a pair of ints, got {shown(self.rank)}")
        super().__post_init__()

    def start(self, mean: Array, sigma: float, rng: np.random.Generator) -> RankKGaussian:
        """Return the first distribution: nearly round, with random directions."""
        d, dtype = mean.size, mean.dtype
        (growing, k), full, zeros = _slots(self.rank, d), self._is_full(d), np.zeros(d, dtype)
        V = np.ascontiguousarray(rng.standard_normal((d, k)).T, dtype)
        V, a = orthonormal(V, V @ V.T), np.exp(np.where(np.arange(k) < growing, LEAST, -LEAST)).astype(dtype)
        B = sigma * (np.eye(d, dtype=dtype) if full else np.ones(d, dtype))
        past = np.zeros((d, d) if full else (0, 0), dtype)
        state = State(mean, B, V, a, zeros, zeros, zeros, past, 0.0, 0.0, math.log(sigma), 0)
        relative = self.rate_mean, self.rate_sigma, self.rate_shape, self.rate_base
        return RankKGaussian(state, growing, relative, Pace(math.log(sigma), zeros, mean))

    def _is_full(self, d: int) -> bool:
        return self.base == "full" or (self.base == "auto" and d <= LARGEST_FULL)

    def choices(self, d: int) -> dict[str, str]:
        """Return which base is used, and why."""
        chosen = "full" if self._is_full(d) else "diagonal"
        side = "at most" if d <= LARGEST_FULL else "more than"
        reason = f"{d} variables are {side} {LARGEST_FULL}" if self.base == "auto" else "it was set"
        return {"base": f"{chosen}, because {reason}"}

    @staticmethod
    def default_popsize(d: int) -> int:
        """Return the population of CMA-ES, made even; 4 for two variables."""
        return min(2 * d, 2 * ((4 + int(3 * math.log(d))) // 2))

    @staticmethod
    def default_utilities(n: int, d: int) -> Array:
        """Return a row of weights for the mean, and one for the covariance."""
        best_few = logarithmic(n, zero_sum=True)
        evenly = linear(n, like=best_few)
        share = 2 * pairs_of(n, d) / n
        return np.stack([(1 - share) * evenly + share * best_few, evenly])


@dataclass(slots=True, eq=False, repr=False)
class RankKGaussian(Strategy):
    """A Gaussian with a few directions of its own over a diagonal or a full matrix."""

    state: State
    growing: int  # how many directions grow
    relative: tuple[float, float, float, float]  # rates of μ, σ, the layer and B, relative to their defaults
    pace: Pace
    compiled: bool = False  # whether numba compiles the arithmetic

    @property
    def mean(self) -> Array:
        """The centre μ."""
        return self.state.mean

    @property
    def _library(self) -> str:
        return "numba" if self.compiled else library_of(self.state.mean)

    def sample(self, noise: Array | Pairs | ShiftedSequence, out: Array | None = None) -> Array:
        """Return points for the directions ``noise``, one per row."""
        mean, B, V, a = self.state[:4]
        if isinstance(noise, ShiftedSequence) and B.ndim == 1:
            return noise.points(mean, B, V, a - 1, out)
        Y = rows_of(noise)
        if B.ndim == 2 or type(Y) is not np.ndarray or Y.size <= BLOCK:
            return around(mean, whole_offsets.of(self._library)(B, V, a, Y), noise, out)
        X, P = points_like(noise) if out is None else out, (a - 1) * inner(Y, V)
        for t in column_slices(*Y.shape, size=BLOCK):
            around(mean[t], offsets(B[t], V[:, t], P, Y[:, t]), noise, X[:, t])
        return X

    def update(self, noise: Array | Pairs | ShiftedSequence, utilities: Array) -> Self:
        """Return the distribution after one step along the natural gradient."""
        full = self.state.B.ndim == 2
        if not full and (isinstance(noise, ShiftedSequence) or len(self.mean) > LARGEST_WHOLE):
            return self.step(self.accumulate(Moments(), noise, utilities))
        noise = as_pairs(noise)
        Y, (of_mean, w, weights) = rows_of(noise), folded(noise, utilities, self.compiled)
        if not weights[0]:  # no sample carries any weight
            return self
        sampled = self.state, Y, like(of_mean, Y), like(w, Y), Y if full else None
        stepped = self._next(step.of(self._library)(*sampled, *self._constants(*weights)))
        return stepped.paced(sampled[2] @ Y, *weights) if self.pace.is_adapted else stepped

    def moments(self) -> Moments | None:
        """Return the sums over samples before any has been added; a full base has no such sums."""
        return Moments() if self.state.B.ndim == 1 else None

    def accumulate(self, moments: Moments, noise: Any, utilities: Array) -> Moments:
        """Return the ``moments`` with some samples added."""
        return Moments._make(map(add, moments, moments_of(self.state.V, noise, utilities)))

    def step(self, moments: Moments) -> Self:
        """Return the next distribution, given the ``moments`` of all samples."""
        if not moments.power:
            return self
        constants = self._constants(moments.power, moments.total, moments.n)
        is_tiled = len(self.mean) > LARGEST_WHOLE and library_of(self.mean) == "numpy"
        text = advance_in_tiles() if is_tiled else advance.of(self._library)
        stepped = self._next(
            text(self.state, moments.rows, moments.squares, None, None, moments.w_power, *constants)
        )
        weights = moments.power, moments.total, moments.n
        return stepped.paced(moments.rows[-1], *weights) if self.pace.is_adapted else stepped

    def averaged_mean(self) -> Array:
        """Return the mean, averaged over recent generations under noise."""
        return self.pace.average if self.pace.eta < 1 else self.mean

    def decayed(self, factor: float) -> Self:
        """Return the same shape with the mean, and its average, multiplied by ``factor``."""
        state = self.state._replace(mean=factor * self.mean)
        return replace(self, state=state, pace=self.pace._replace(average=factor * self.pace.average))

    def heeding(self, doubt: Doubt) -> Self:
        """Return the same distribution, with rates that follow the signal as far as ``doubt`` says."""
        return replace(self, pace=self.pace.heeding(doubt))

    def paced(self, s: Array, power: float, total: float, n: int) -> Self:
        """Return the distribution with the rates and the width that follow from the mean's last step s."""
        rates, log_sigma = self._rates(power, total, n), self.state.log_sigma
        weights = rates.mu, 1 - rates.keep_p
        pace, change = followed(self.pace, s, self.mean, log_sigma, self.state.age, *weights, self._library)
        paced = replace(self.shrunk(math.exp(-change)), pace=pace)
        longest = max(math.exp(LEAST), LONGEST * math.exp(pace.first - paced.state.log_sigma))
        doubt = Doubt(*pace.doubt)
        if not doubt.noisy or doubt.is_blind or float(paced.state.a[0]) <= longest:
            return paced
        a = namespace(paced.state.a).clip(paced.state.a, 0.0, longest)  # (17)
        return replace(paced, state=paced.state._replace(a=a))

    def _rates(self, power: float, total: float, n: int) -> Rates:
        d = len(self.mean)
        rates = rates_of(power, total, n, d, *self.relative)
        if not self.pace.is_adapted:
            return rates
        return slowed(rates, power, n, d, self.pace.eta, Doubt(*self.pace.doubt).is_blind)

    def _constants(self, power: float, total: float, n: int) -> tuple[Rates, Slots]:
        """Return the numbers of a step that do not depend on the samples."""
        mean, rates = self.mean, self._rates(power, total, n)
        kind = mean.dtype if type(mean) is np.ndarray else array_type_of(mean)
        slots = slots_of(self.growing, len(self.state.a), rates.layer, kind)
        return (numbers_like(rates, kind) if self._library == "jax" else rates), slots

    def _next(self, state: State) -> Self:
        if self._library == "jax":  # numbers are arrays there
            state = State._make((*state[:8], *map(float, state[8:11]), self.state.age + 1))
        return type(self)(state, self.growing, self.relative, self.pace, self.compiled)

    def shrunk(self, factor: float) -> Self:
        """Return the same shape with σ divided by ``factor``."""
        state = self.state
        state = state._replace(B=state.B / factor, log_sigma=state.log_sigma - math.log(factor))
        return replace(self, state=state)

    def with_rates_times(self, factor: float) -> Self:
        """Return the same distribution, with all learning rates multiplied by ``factor``."""
        mean, sigma, layer, base = self.relative
        return replace(self, relative=(factor * mean, factor * sigma, factor * layer, factor * base))

    @property
    def sigma(self) -> float:
        """The geometric mean of B's singular values."""
        return math.exp(self.state.log_sigma)

    def stds(self) -> Array:
        """Return the standard deviation of each coordinate."""
        _, B, V, a, *_ = self.state
        xp, longer = namespace(B), a * a - 1.0  # M² = I + Vᵀ(a² − 1)V
        if B.ndim == 1:
            return B * xp.sqrt(1.0 + longer @ (V * V))
        along = V @ B.T
        return xp.sqrt(abs(xp.vecdot(B, B) + longer @ (along * along)))  # rounding may reach below 0

    def largest_std(self) -> tuple[float, float]:
        """Return a lower and an upper bound of the largest standard deviation, at little cost."""
        B, a = self.state.B, host(self.state.a).tolist()
        shortest, longest = min(1.0, a[-1]), max(1.0, a[0])
        if B.ndim == 1:
            largest = float(B[B.argmax()])  # faster than max
            return largest * shortest, largest * longest
        numbers = B.reshape(-1)
        root = math.sqrt(numbers.dot(numbers))  # faster than @
        return root * shortest / math.sqrt(len(B)), root * longest

    def condition(self) -> float:
        """Return a bound of the condition number of the covariance matrix: the base's times the layer's."""
        B, a = host(self.state.B), host(self.state.a).tolist()
        base = float(B.max() / B.min()) if B.ndim == 1 else float(np.linalg.cond(B))
        return (base * max(1.0, a[0]) / min(1.0, a[-1])) ** 2

    def scalars(self) -> dict[str, float]:
        """Return the numbers that the history keeps of each generation.

        σ; how sure the base is of what it learns; the cosine between the path of the mean and the longest
        direction; and each c, smallest first.
        """
        V, q, c = self.state.V, self.state.q, [math.log(a) for a in host(self.state.a).tolist()]
        along = abs(float(V[0].dot(q)))  # faster than @
        return {
            "sigma": self.sigma,
            "e_diagonal": self.state.e_diagonal,
            "e_full": self.state.e_full,
            "rate": self.pace.eta,
            "alignment": along / math.sqrt(float(q.dot(q)) or 1.0),
            **{f"c{i}": value for i, value in enumerate(reversed(c))},
        }


def _slots(rank: int | tuple[int, int] | None, d: int) -> tuple[int, int]:
    """Return how many directions grow, and how many there are; of an int, one in three shrinks."""
    if rank is None:
        return min(d - 1, 3) - (d > 2), min(d - 1, 3)  # 2 of 3; 1 of 2 for three variables; 1 for two
    growing, shrinking = rank if isinstance(rank, tuple) else (rank - rank // 3, rank // 3)
    if not (growing >= 0 and shrinking >= 0 and 1 <= growing + shrinking < d):
        limits = f"1 to {d - 1} directions, or a pair (growing, shrinking)"
        raise ValueError(f"rank must be {limits}, got {rank!r}")
    return growing, growing + shrinking
