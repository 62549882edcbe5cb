"""The search distributions: one file each, found by name in ``STRATEGIES``."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from r1nes.arrays import Array, ArrayType
from r1nes.strategies.diagonal import SNES
from r1nes.strategies.full import XNES
from r1nes.strategies.rank_k.strategy import RkNES
from r1nes.strategies.rank_one import R1NES


class Strategy(Protocol):
    """What a search distribution must offer. Nothing ever changes one in place, nor its arrays.

    Rates and other settings are keyword-only parameters of ``start``, and so of ``Optimizer``.

    Arrays with a column per variable, noise and points are those of any library; it starts with NumPy's.
    Utilities and whatever else is small are NumPy's.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]  # numbers and arrays only; not frozen, which takes time
    min_dim: ClassVar[int]  # the fewest variables it is defined for
    orthogonal: ClassVar[bool]  # whether its noise is orthogonal directions, not normal numbers
    max_condition: ClassVar[float]  # where its arithmetic, not the search, reaches its end

    @classmethod
    def start(cls, mean: Array, sigma: float, rng: np.random.Generator, *args: Any, **settings: Any) -> Self:
        """The first distribution of a run."""
        ...

    @staticmethod
    def default_popsize(d: int) -> int:
        """Samples per generation for ``d`` variables."""
        ...

    @staticmethod
    def default_utilities(n: int, d: int) -> Array:
        """A weight per rank, best first; in several rows, (m, n), if it uses several kinds."""
        ...

    @property
    def mean(self) -> Array:
        """The centre μ."""
        ...

    @property
    def sigma(self) -> float:
        """The overall step size σ."""
        ...

    @property
    def fast(self) -> bool:
        """Whether its arithmetic is compiled, where it can be; a field, so that a run goes on as it was."""
        ...

    @property
    def noise_size(self) -> int:
        """Standard normal numbers that one sample is made of."""
        ...

    def sample(self, noise: Array, out: Array | None = None) -> Array:
        """Points for ``noise``, one per row."""
        ...

    def update(self, noise: Array, utilities: Array) -> Self:
        """The next distribution, given the utility of each point."""
        ...

    def moments(self) -> Any:
        """What an update needs to know of its samples, with none of them known yet."""
        ...

    def gather(self, moments: Any, noise: Array, utilities: Array) -> Any:
        """The ``moments`` with what some samples contribute; each sample once. Those given are used up."""
        ...

    def step(self, moments: Any) -> Self:
        """The next distribution, given the ``moments`` of all samples: ``update`` in three parts."""
        ...

    def capped(self, limits: Array) -> Self:
        """The same distribution, its σ no larger than what suits standard deviations up to ``limits``."""
        ...

    def stds(self) -> Array:
        """The standard deviation of each coordinate."""
        ...

    def largest_std(self) -> tuple[float, float]:
        """What the largest standard deviation of any coordinate lies between, at little cost."""
        ...

    def cov(self) -> Array:
        """The covariance matrix, dense and NumPy's."""
        ...

    def condition(self) -> float:
        """The condition number of the covariance matrix."""
        ...

    def scalars(self) -> dict[str, float]:
        """The numbers that a history keeps of each generation, beside σ."""
        ...


def placed(strategy: Strategy, array_type: ArrayType, **changes: Any) -> Strategy:
    """A copy of ``strategy`` with some fields changed and its (…, d) arrays as ``array_type``."""
    state = {field.name: getattr(strategy, field.name) for field in fields(strategy)} | changes
    d = len(strategy.mean)
    return replace(
        strategy,
        **{
            name: array_type.array(value)
            if isinstance(value, np.ndarray) and value.shape[-1:] == (d,)
            else value
            for name, value in state.items()
        },
    )


STRATEGIES: dict[str, type[Strategy]] = {"r1nes": R1NES, "rknes": RkNES, "snes": SNES, "xnes": XNES}
