"""The points of a generation that are never held at once, but made one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from r1nes.arrays import Array
from r1nes.arrays.tiles import new_buffer
from r1nes.bounds import Box
from r1nes.sampling.on_device import NoiseSource
from r1nes.sampling.orthogonal import OrthogonalDirections
from r1nes.strategies import Strategy


class Stream:
    """The points of one generation, one after the other in the same array, as often as it is iterated.

    None of them is kept: a point is made from its noise, which its key alone determines. So a population
    may be larger than the memory holds.
    """

    def __init__(
        self, strategy: Strategy, noise: NoiseSource, generation: int, popsize: int, box: Box | None
    ) -> None:
        """Nothing is drawn yet."""
        self._strategy, self._noise, self._generation = strategy, noise, generation
        self._popsize, self._box = popsize, box

    def __len__(self) -> int:
        """How many points there are."""
        return self._popsize

    def __iter__(self) -> Iterator[Array]:
        """Each point, to be evaluated or copied before the next one takes its place."""
        mean = self._strategy.mean
        out = new_buffer(mean[None, :], len(mean))
        noise: Any = None
        for i in range(self._popsize):
            noise = self._noise.draw(self._generation, i, i + 1, noise)
            yield from self._points(noise, out)

    def rows(self) -> Iterator[Array]:
        """The noise of each point, in the same array."""
        out = None
        for i in range(self._popsize):
            out = self._noise.rows(self._generation, i, i + 1, out)
            yield out

    def point(self, sample: int) -> Array:
        """A point by its number."""
        return self._points(self._noise.rows(self._generation, sample, sample + 1))[0]

    def shifts(self) -> Any:
        """The noise of all points, if it takes no memory."""
        if not isinstance(self._noise, OrthogonalDirections):
            return None
        return self._noise.shifts(self._generation, 0, self._popsize)

    def _points(self, noise: Any, out: Array | None = None) -> Array:
        points = self._strategy.sample(noise, out)
        return points if self._box is None else self._box.fold(points)


def update(strategy: Strategy, stream: Stream, utilities: Array) -> Strategy:
    """The next distribution, from noise that is drawn again, one row at a time or as strategies need it."""
    if (shifts := stream.shifts()) is not None:
        return strategy.update(shifts, utilities)
    moments = strategy.moments()
    for i, noise in enumerate(stream.rows()):
        moments = strategy.gather(moments, noise, utilities[..., i : i + 1])
    return strategy.step(moments)
