"""A generation whose points are generated one at a time, because they would not all fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from r1nes.arrays import Array
from r1nes.arrays.tiles import new_buffer
from r1nes.sampling.orthogonal import OrthogonalDirections, Pairs, first_of
from r1nes.sampling.sources import NoiseSource

Sampler = Callable[[Any, Array | None], Array]  # (noise, out) → points


class Stream:
    """The points of one generation, yielded one after the other in the same array.

    No point is kept: each is computed from its noise, which follows from the seed, the generation and its
    number. So the stream can be iterated several times, and a population may be larger than memory.
    """

    def __init__(
        self,
        sample: Sampler,
        source: NoiseSource,
        generation: int,
        popsize: int,
        mean: Array,
        again: Array | None = None,
    ) -> None:
        """Draw nothing yet; ``mean`` determines the type of a point, and the last ones are ``again``."""
        self._sample, self._source, self._generation = sample, source, generation
        self._popsize, self._mean, self._again = popsize, mean, again
        self._fresh = popsize if again is None else popsize - len(again)  # points that are new

    def __len__(self) -> int:
        """The number of points."""
        return self._popsize

    def __iter__(self) -> Iterator[Array]:
        """Yield each point; evaluate or copy it before taking the next one."""
        out = new_buffer(self._mean[None, :], len(self._mean))
        noise: Any = None
        for i in range(self._fresh):
            noise = self._source.draw(self._generation, i, i + 1, noise)
            yield from self._sample(noise, out)
        if self._again is not None:
            yield from self._again

    def __repr__(self) -> str:
        """The generation and its size."""
        return (
            f"<Stream: generation {self._generation}, {self._popsize} points of {len(self._mean)} variables>"
        )

    def pieces(self) -> Iterator[tuple[Any, list[int]]]:
        """Yield parts of the noise, each with the numbers of its samples."""
        source, generation, fresh = self._source, self._generation, self._fresh
        if (shifts := self._shifts()) is not None:
            yield shifts, list(range(fresh))
            return
        pairs = source.pairs if isinstance(source, OrthogonalDirections) else 0
        first, out = self._popsize - pairs, None  # the first opposite
        for i in range(min(first, fresh)):
            out = source.rows(generation, i, i + 1, out)
            yield (Pairs(out, 1), [i, first + i]) if i < fresh - first else (out, [i])

    def noise(self) -> Any:
        """Return all of the noise at once."""
        return first_of(self._source.draw(self._generation, 0, self._popsize), self._fresh)

    def point(self, number: int) -> Array:
        """Return the point with that number."""
        return self._sample(self._source.rows(self._generation, number, number + 1), None)[0]

    def _shifts(self) -> Any:
        """Return the noise of all points in compact form, or None if it has none."""
        if not isinstance(self._source, OrthogonalDirections):
            return None
        return self._source.shifts(self._generation, 0, self._fresh)
