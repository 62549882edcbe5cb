"""From noise to points: the samples of a distribution, scaled and folded into the bounds.

If σ₀ differs between variables, the distribution is one of x/scales, with scales = σ₀ divided by its
geometric mean. So every method can begin with such a σ₀, whatever shapes it can represent.
"""

from __future__ import annotations

from dataclasses import fields, replace
from functools import partial
from typing import Any, cast

import numpy as np

from r1nes.arrays import Array, copied, is_masked, zeros
from r1nes.bounds import Box
from r1nes.sampling.gaussian import SETUP, GaussianNoise
from r1nes.sampling.keys import Key, key_of
from r1nes.sampling.on_device import HostNoise
from r1nes.sampling.orthogonal import OrthogonalDirections, first_of
from r1nes.sampling.sources import source_of
from r1nes.sampling.streaming import Stream
from r1nes.settings import Settings
from r1nes.strategies import Strategy
from r1nes.strategies.protocol import placed


class Points:
    """Draws the noise of a run and makes points of it."""

    def __init__(self, settings: Settings, noise_size: int) -> None:
        """Draw nothing yet; a sample is computed from ``noise_size`` numbers."""
        self._settings, self._noise_size = settings, noise_size
        box = _box(settings)
        self._box = None if box is None else box.on(settings.array_type)
        scales = _scales(settings)
        self._scales = None if scales is None else settings.array_type.array(scales)
        self.noise = source_of(
            settings.sampling,
            settings.seed,
            noise_size,
            settings.array_type,
            settings.size,
            orthogonal=settings.algorithm.orthogonal,
            compiled=settings.is_compiled,
        )
        self._buffer: Any = None  # the noise, reused because allocating it costs more than filling it

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the settings alone, because all else follows from them."""
        return type(self), (self._settings, self._noise_size)

    def check(self, out: Any, rows: int) -> None:
        """Raise TypeError or ValueError unless ``rows`` points can be written to the array ``out``."""
        array_type, shape = self._settings.array_type, (rows, self._settings.start.size)
        if array_type.library != "numpy":
            raise ValueError(f"out needs a NumPy array as x0, got one of {array_type.library}")
        if not isinstance(out, np.ndarray) or is_masked(out) or out.dtype != array_type.dtype:
            kind = f"{type(out).__name__} of {out.dtype}" if hasattr(out, "dtype") else type(out).__name__
            raise TypeError(f"out must be a NumPy array of {array_type.dtype}, got {kind}")
        if out.shape != shape:
            raise ValueError(f"out must be of shape {shape}, one row per point, got {out.shape}")
        if not out.flags.writeable:
            raise ValueError("out must be writable, got a read-only array")

    def vary(self, varied: bool) -> None:
        """Set whether orthogonal directions have lengths that differ."""
        if isinstance(self.noise, OrthogonalDirections | HostNoise):
            self.noise.vary(varied)

    def draw(self, generation: int, repeated: int) -> Any:
        """Return the noise of a ``generation`` of which the last ``repeated`` points were drawn before."""
        n = self._settings.size
        self._buffer = self.noise.draw(generation, 0, n, self._buffer)
        return first_of(self._buffer, n - repeated) if repeated else self._buffer

    def draw_one(self, number: int) -> Any:
        """Return the noise of the point with that ``number``, counted over all generations."""
        generation, row = divmod(number, self._settings.size)
        return self.noise.rows(generation + 1, row, row + 1)

    def at(self, strategy: Strategy, noise: Any, out: Array | None = None) -> Array:
        """Return the points of ``noise``, one per row, folded into the box if there is one."""
        if self._box is None:
            return self.scaled(strategy.sample(noise, out))
        points = self._box.fold(self.scaled(strategy.sample(noise, None)))
        if out is None:
            return points
        out[:] = points
        return out

    def stream(self, strategy: Strategy, generation: int, repeated: Array | None) -> Stream:
        """Return the points of a ``generation`` one at a time; the last ones are those ``repeated``."""
        sample = partial(self.at, strategy)
        settings = self._settings
        return Stream(sample, self.noise, generation, settings.size, cast("Array", settings.x0), repeated)

    def scaled(self, rows: Array) -> Array:
        """Return points of the unbounded space for those of the distribution; NumPy arrays are changed."""
        if self._scales is None:
            return rows
        if not isinstance(rows, np.ndarray):
            return rows * self._scales
        rows *= self._scales
        return rows

    def folded(self, x: Array) -> Array:
        """Return the point of the box for ``x``, a point of the distribution."""
        x = self.scaled(copied(x))
        return x if self._box is None else self._box.fold(x[None])[0]

    def stds(self, strategy: Strategy) -> Array:
        """Return the standard deviation of each variable before the fold; 0 for those that are fixed."""
        stds = self.scaled(copied(strategy.stds()))
        if self._box is None:
            return stds
        n = self._settings.start.size - len(stds)
        return self._box.complete(stds[None], zeros((n,), stds))[0]

    def limited(self, strategy: Strategy) -> Strategy:
        """Return ``strategy`` no wider than the box, with σ not below ``min_sigma``, and its mean decayed."""
        settings = self._settings
        if self._box is not None:
            limits = self._box.limits
            strategy = strategy.capped(limits if self._scales is None else limits / self._scales)
        if settings.weight_decay:
            strategy = strategy.decayed(1 - settings.weight_decay)
        sigma = strategy.sigma if settings.min_sigma else 0.0
        return strategy.shrunk(sigma / settings.min_sigma) if sigma < settings.min_sigma else strategy

    def key(self, generation: int) -> Key:
        """Return the key of a ``generation``."""
        if self._settings.asynchronous:
            raise ValueError("key needs asynchronous=False: points of several generations mix")
        return key_of(self._settings.seed, generation)


def first_distribution(settings: Settings) -> Strategy:
    """Return the distribution with which a run begins."""
    mean, box = settings.start, _box(settings)
    setup = GaussianNoise(settings.seed, 1, mean.dtype).stream(SETUP)
    mean, scales = mean if box is None else box.unfold(mean), _scales(settings)
    first = settings.algorithm.start(mean if scales is None else mean / scales, settings.sigma, setup)
    if settings.is_compiled and any(field.name == "compiled" for field in fields(first)):
        first = replace(first, compiled=True)
    return placed(first, settings.array_type)


def _box(settings: Settings) -> Box | None:
    if settings.edges is None:
        return None
    scales = _scales(settings)
    return Box(*settings.edges, settings.sigma * (1.0 if scales is None else scales))


def _scales(settings: Settings) -> Array | None:
    """Return the scales of the free variables."""
    if settings.scales is None or settings.edges is None:
        return settings.scales
    low, high = settings.edges
    return settings.scales[low < high]
