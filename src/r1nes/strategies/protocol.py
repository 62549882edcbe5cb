"""The interface of a method and its search distribution, with defaults for everything that can be derived.

A ``Method`` holds the settings of an algorithm and starts it; a ``Strategy`` is the search distribution at
one moment of a run. To add your own, subclass both and pass ``method=MyMethod()``. Required are

    Method.start        the first distribution
    Strategy.mean       the centre μ             Strategy.sample    noise → points
    Strategy.sigma      the step size σ          Strategy.update    noise and utilities → next distribution
    Strategy.stds       the standard deviations

and, for bounds and ``min_sigma``, ``Strategy.shrunk``. For ``weight_decay``, ``mean`` is a field, or
``decayed`` is defined. Without ``shrunk``, plateaus do not widen σ.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np

from r1nes.arguments import number, shown
from r1nes.arrays import Array, ArrayType, host, like
from r1nes.probing import Doubt
from r1nes.ranking import logarithmic
from r1nes.sampling.streaming import Stream

LARGEST_RATE = 10.0  # of learning, where 1 or less is usual; larger ones only make steps overflow


class Strategy(ABC):
    """A search distribution. It is never changed in place, and neither are its arrays.

    A strategy is a dataclass whose fields are numbers, arrays and tuples of these, because a checkpoint
    stores exactly these. Its arrays, noise and points may belong to any array library; utilities are NumPy
    arrays. Declare the dataclass with ``repr=False`` to keep the short representation below.
    """

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]

    if TYPE_CHECKING:  # a field or a property, as the strategy prefers

        @property
        @abstractmethod
        def mean(self) -> Array:
            """The centre μ."""

        @property
        @abstractmethod
        def sigma(self) -> float:
            """The overall step size σ."""

        @property
        def compiled(self) -> bool:
            """Whether numba compiles the arithmetic; strategies that support it declare this as a field."""
            return False

    else:
        compiled = False

    @abstractmethod
    def sample(self, noise: Array, out: Array | None = None) -> Array:
        """Return points for ``noise``, one per row; written into ``out`` if given."""

    @abstractmethod
    def update(self, noise: Array, utilities: Array) -> Self:
        """Return the next distribution, given the utility of each point."""

    @abstractmethod
    def stds(self) -> Array:
        """Return the standard deviation of each coordinate."""

    @property
    def noise_size(self) -> int:
        """The number of standard normal numbers that one sample is computed from."""
        return len(self.mean)

    def moments(self) -> Any:
        """Return the sums that an update needs of its samples, before any has been added.

        None, the default, means that an update needs all samples at once. A strategy with sums also defines
        ``accumulate(moments, noise, utilities)``, which returns the moments with some samples added, and
        ``step(moments)``, which returns the next distribution: then ``update`` equals
        ``step(accumulate(moments(), …))``, and streamed samples can be added one at a time.
        """
        return None

    def capped(self, limits: Array) -> Self:
        """Return the same shape, with σ so small that some standard deviation is within ``limits``."""
        excess = float((self.stds() / limits).min())
        return self.shrunk(excess) if excess > 1 else self

    def shrunk(self, factor: float) -> Self:
        """Return the same shape with σ divided by ``factor``; a factor below 1 widens it."""
        raise TypeError(f"{type(self).__name__} must define shrunk({factor}) for bounds and min_sigma")

    def widened(self, factor: float) -> Self:
        """Return the same shape with σ multiplied by ``factor``; unchanged without ``shrunk``."""
        return self if type(self).shrunk is Strategy.shrunk else self.shrunk(1 / factor)

    def with_rates_times(self, _: float) -> Self:
        """Return the same distribution, with learning rates multiplied by a factor; unchanged by default."""
        return self

    def decayed(self, factor: float) -> Self:
        """Return the same shape with the mean multiplied by ``factor``."""
        return replace(self, mean=factor * self.mean)

    def heeding(self, _: Doubt) -> Self:
        """Return the same distribution, with learning rates that suit the noise; unchanged by default."""
        return self

    def averaged_mean(self) -> Array:
        """Return the mean, averaged over recent generations if that is nearer to the optimum."""
        return self.mean

    def largest_std(self) -> tuple[float, float]:
        """Return a lower and an upper bound of the largest standard deviation, at little cost."""
        largest = float(self.stds().max())
        return largest, largest

    def cov(self) -> Array:
        """Return the covariance matrix, dense and on the host: for inspection and tests, not for large d."""
        noise = like(np.eye(self.noise_size), self.mean)
        J = host(self.sample(noise)) - host(self.mean)  # sampling is linear in the noise
        return J.T @ J

    def condition(self) -> float:
        """Return the condition number of the covariance matrix."""
        return float(np.linalg.cond(self.cov()))

    def scalars(self) -> dict[str, float]:
        """Return the numbers that the history keeps of each generation: σ, and others that are cheap."""
        return {"sigma": self.sigma}

    def __repr__(self) -> str:
        """The kind of distribution, its dimension and its scalars."""
        listed = ", ".join(f"{name}={value:.4g}" for name, value in self.scalars().items())
        return f"{type(self).__name__}(d={len(self.mean)}, {listed})"


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """The settings of an algorithm: a frozen dataclass of plain values, each with a default.

    Fields whose names start with ``rate_`` are learning rates, which must be between 0 and 10.
    """

    min_dim: ClassVar[int] = 1  # the smallest number of variables it supports
    orthogonal: ClassVar[bool] = False  # whether its noise is orthogonal directions, not normal numbers
    heeds_noise: ClassVar[bool] = False  # whether it adapts its learning rates to noise
    max_condition: ClassVar[float] = 1e14  # beyond this, rounding errors dominate

    def __post_init__(self) -> None:
        """Check the learning rates."""
        for field in fields(self):
            value = getattr(self, field.name)
            is_rate = field.name.startswith("rate_") and value is not None
            if is_rate and not 0 <= number(field.name, value) <= LARGEST_RATE:
                limits = f"between 0 and {LARGEST_RATE:g}"
                raise ValueError(f"{field.name} must be {limits}, got {shown(value)}")

    @abstractmethod
    def start(self, mean: Array, sigma: float, rng: np.random.Generator) -> Strategy:
        """Return the first distribution of a run; ``mean`` is a NumPy array."""

    def default_popsize(self, d: int) -> int:
        """Return the samples per generation for ``d`` variables; by default, as for SNES and xNES."""
        return 4 + int(3 * math.log(d))

    def default_utilities(self, n: int, _: int) -> Array:
        """Return a weight per rank, best first; several rows, (m, n), if the strategy uses several kinds."""
        return logarithmic(n, zero_sum=True)

    def choices(self, _: int) -> dict[str, str]:
        """Return what is chosen for settings whose default depends on the number of variables, and why."""
        return {}

    def slowed(self, factor: float) -> Self:
        """Return the method with ``rate_sigma`` divided by ``factor``; unchanged if it has no such number."""
        rate = getattr(self, "rate_sigma", None)
        return self if rate is None or factor == 1 else cast("Any", replace)(self, rate_sigma=rate / factor)

    def given(self) -> dict[str, Any]:
        """Return the settings that differ from their defaults."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            field.name: values[field.name] for field in fields(self) if values[field.name] != field.default
        }


def placed(strategy: Strategy, array_type: ArrayType, **changes: Any) -> Strategy:
    """Return a copy of ``strategy`` with some fields changed and its arrays as ``array_type``."""
    state = {field.name: getattr(strategy, field.name) for field in fields(strategy)}
    if changes and (missing := state.keys() - changes.keys() - {"compiled"}):
        needed = f"{type(strategy).__name__} needs {', '.join(sorted(missing))}"
        raise ValueError(f"{needed}: an earlier version wrote the file, and this one cannot continue its run")

    def converted(value: Any, like: Any) -> Any:
        if isinstance(like, tuple):
            values = (converted(*pair) for pair in zip(value, like, strict=True))
            return getattr(like, "_make", tuple)(values)  # a checkpoint stores a NamedTuple as a tuple
        return array_type.array(value) if isinstance(value, np.ndarray) else value

    return replace(strategy, **{name: converted(changes.get(name, old), old) for name, old in state.items()})


def updated(strategy: Strategy, noise: Any, utilities: Array) -> Strategy:
    """Return the next distribution; the noise of a ``Stream`` is drawn again, if possible row by row."""
    if not isinstance(noise, Stream):
        return strategy.update(noise, utilities)
    moments, summing = strategy.moments(), cast("Any", strategy)
    if moments is None:
        return strategy.update(noise.noise(), utilities)
    for piece, numbers in noise.pieces():
        moments = summing.accumulate(moments, piece, utilities[..., numbers])
    stepped: Strategy = summing.step(moments)
    return stepped
