"""The ask/tell object: seed → noise → sample → (your objective) → utilities → update."""

from __future__ import annotations

import math
import os
from dataclasses import fields, replace
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import Bounds, OptimizeResult

from r1nes.arguments import at_least_zero, count, number, positive
from r1nes.arrays import Array, as_start, copied, host
from r1nes.arrays.compiled import numba_available
from r1nes.bounds import BoundsLike, Box, as_edges
from r1nes.matching import Pending, checked_points, checked_values, marks_of, places_in, rows_of
from r1nes.ranking import best_first, ranking
from r1nes.sampling.gaussian import SETUP, GaussianNoise, Seed, seed_sequence
from r1nes.sampling.on_device import DeviceDirections, DeviceNoise, HostNoise, NoiseSource
from r1nes.sampling.orthogonal import OrthogonalDirections
from r1nes.sampling.streaming import Stream, update
from r1nes.settings import (
    checked_popsize,
    checked_utilities,
    default_sigma,
    from_plain,
    strategy_type_of,
    to_plain,
)
from r1nes.stopping import RUNNING, STATUS, Stopping, describe, succeeded
from r1nes.storage import checkpoint
from r1nes.strategies import Strategy, placed

COUNTS = (
    "generation",
    "restart",
    "nfev",
    "nan_count",
    "best",
    "ranked",
    "_best_x",
    "_earlier",
    "_blanks",
    "_drawn",
)
PATIENCE = 1.0  # seconds that numba would have saved so far, from which on it is worth the time to load it
SAVING, SAVING_PER_NUMBER = 25e-6, 6e-9  # seconds of a generation, and of each number in it
BLANK_GENERATIONS = 10  # of nothing but NaN in a row, after which tell raises


class Optimizer:
    """Minimises by turns: ``ask`` for points, evaluate them as you like, ``tell`` their values.

    Args:
        x0: Where to start, a vector of numbers. float32 stays float32; all else becomes float64. If it is a
            tensor of PyTorch or an array of JAX, of float32 or float64, then so are points, on its device.
        sigma0: The standard deviation of the first samples around ``x0``, in the units of ``x0``. By
            default 1, or 0.3 times the narrowest side of a finite box.
        method: The search distribution: ``"rknes"``, ``"r1nes"``, ``"snes"`` or ``"xnes"``. By default
            ``"rknes"``, or ``"snes"`` for a single variable.
        popsize: Points per generation; by default the method's own choice for ``len(x0)`` variables.
        utilities: A weight per rank, best first; by default the method's own.
        bounds: SciPy's ``Bounds`` or a pair (low, high) per variable; None is unbounded. Every point is
            folded into the box, and none drawn again.
        ftarget: Stop once a value is at or below it.
        max_evals: Stop before the evaluations exceed it; at least one generation.
        max_seconds: Stop once this much time has passed since the Optimizer was made.
        xtol: Stop once the largest standard deviation is at or below it; by default 1e-12 ``sigma0``.
        ftol: Stop once the best values of recent generations differ by no more; 0 turns it off.
        max_condition: Stop once the covariance matrix's condition number exceeds it; by default
            what the method's arithmetic can bear.
        asynchronous: Whether ``ask`` gives one point at a time, and ``tell`` takes them as they come:
            no worker waits for others, but points may be older than the distribution they change.
        noise: Where random numbers come from: None draws them on the host, the same ones for every array
            library; ``"device"`` by the generator of the device on which ``x0`` lives.
        rng: Seed of the run: None, an int, a ``SeedSequence`` or a ``Generator``.
        **settings: The method's learning rates: ``rate_mean``, ``rate_sigma`` and, but for ``"snes"``,
            ``rate_shape``; for ``"rknes"`` also ``rate_scales``, ``rank`` and ``base``.

    Attributes:
        strategy: The search distribution as it is now, with ``mean``, ``sigma``, ``stds()``, ``cov()`` and
            ``condition()``. With bounds, that of the points before they are folded into the box.
        settings: The arguments that it was made with, defaults of ``sigma0`` and ``popsize`` filled in.
        popsize: Points per generation.
        generation: Generations told.
        restart: How many runs of the same search came before.
        nfev: Evaluations told, in all these runs, as for the counts below.
        nan_count: How many of them were NaN.
        best: The smallest value so far.
        ranked: The values of the last generation, best first.
        seed: The seed of the run, a ``SeedSequence`` that reproduces it as ``rng``.

    Examples:
        >>> import numpy as np, r1nes
        >>> optimizer = r1nes.Optimizer(np.ones(10), 0.5, ftarget=1e-8, rng=1)
        >>> while not optimizer.stop():
        ...     X = optimizer.ask()
        ...     optimizer.tell(X, (X**2).sum(axis=1))
        >>> list(optimizer.stop())
        ['ftarget']
    """

    def __init__(
        self,
        x0: ArrayLike,
        sigma0: float | None = None,
        *,
        method: str | None = None,
        popsize: int | None = None,
        utilities: ArrayLike | None = None,
        bounds: BoundsLike = None,
        ftarget: float | None = None,
        max_evals: float | None = None,
        max_seconds: float | None = None,
        xtol: float | None = None,
        ftol: float = 1e-12,
        max_condition: float | None = None,
        asynchronous: bool = False,
        noise: str | None = None,
        rng: Seed = None,
        **settings: Any,
    ) -> None:
        """Checks every setting and draws nothing but what the method's start needs."""
        mean, self.array_type = as_start(x0)
        if method is None:
            method = "rknes" if mean.size > 1 else "snes"
        strategy_type = strategy_type_of(method, mean.size, settings)
        self.popsize = checked_popsize(popsize, strategy_type, mean.size)
        weights = checked_utilities(utilities, strategy_type, self.popsize, mean.size)
        self.utilities = weights.astype(mean.dtype)
        edges = as_edges(bounds, mean)
        sigma0 = default_sigma(edges) if sigma0 is None else positive("sigma0", sigma0)
        box = None if edges is None else Box(*edges, sigma0)
        self.box = None if box is None else box.on(self.array_type)
        self.seed = seed_sequence(rng)
        self.settings: dict[str, Any] = {
            "x0": self.array_type.array(mean),
            "sigma0": sigma0,
            "method": method,
            "popsize": self.popsize,
            "utilities": None if utilities is None else self.utilities,
            "bounds": None if edges is None else Bounds(*edges),
            "ftarget": ftarget,
            "max_evals": max_evals,
            "max_seconds": max_seconds,
            "xtol": xtol,
            "ftol": ftol,
            "max_condition": max_condition,
            "asynchronous": asynchronous,
            "noise": noise,
            "rng": self.seed,
            **settings,
        }
        if max_condition is None:
            max_condition = strategy_type.max_condition
        self._stopping = Stopping(
            dim=mean.size,
            popsize=self.popsize,
            dtype=mean.dtype,
            ftarget=None if ftarget is None else number("ftarget", ftarget),
            max_evals=None if max_evals is None else count("max_evals", max_evals, self.popsize),
            max_seconds=None if max_seconds is None else positive("max_seconds", max_seconds),
            xtol=1e-12 * sigma0 if xtol is None else at_least_zero("xtol", xtol),
            ftol=at_least_zero("ftol", ftol),
            max_condition=positive("max_condition", max_condition),
        )
        setup = GaussianNoise(self.seed, 1, mean.dtype).stream(SETUP)
        centre = mean if box is None else box.unfold(mean)
        start = strategy_type.start(centre, sigma0, setup, **settings)
        self.strategy: Strategy = placed(start, self.array_type)
        self.generation = 0
        self.restart = 0
        self.nfev = 0
        self.nan_count = 0
        self._earlier = 0  # generations of the runs before a restart
        self._blanks = 0  # generations of nothing but NaN, in a row
        self._noise = self._source(noise)
        self._fast = False  # whether numba was called in
        self._saving = SAVING + SAVING_PER_NUMBER * self.popsize * mean.size
        self._asked: tuple[Any, bytes] | Stream | None = None  # the noise, and what tells its points
        self._buffer: Any = None  # of the noise: fresh memory costs more than filling it
        self._pending = Pending() if asynchronous else None
        self._drawn = 0  # rows of noise, if asynchronous
        self.best = math.inf
        self.ranked: Array = np.empty(0)
        self._best_x = self.settings["x0"]

    @overload
    def ask(self, *, out: Array | None = None) -> Array: ...

    @overload
    def ask(self, *, streaming: Literal[True]) -> Stream: ...

    def ask(self, *, out: Array | None = None, streaming: bool = False) -> Array | Stream:
        """The points to evaluate next, one per row: the same ones until their values are told.

        If asynchronous, another one in each call.

        They are put into ``out``, if that is given, an array of NumPy's: an earlier ask's that is no longer
        needed saves the memory of another one. With ``streaming`` they are never held at once: iterating over
        what is returned gives one point after the other, in the same array, and ``tell`` takes it as ``X``.
        """
        if not self._fast and (self.generation + 1) * self._saving > PATIENCE:
            self._compile()
        if streaming:
            return self._stream()
        if out is not None and self.array_type.library != "numpy":
            raise ValueError(f"out needs arrays of NumPy, and x0 is one of {self.array_type.library}")
        try:
            noise = self._asked[0] if isinstance(self._asked, tuple) else self._draw()
            points = self.strategy.sample(noise, out)
            if self.box is not None:
                points = self.box.fold(points)
        except MemoryError:
            size = f"{self.popsize} points of {self._stopping.dim} variables"
            raise MemoryError(
                f"{size} do not fit into memory; ask(streaming=True) holds one at a time"
            ) from None
        if self._pending is None:
            self._asked = noise, marks_of(points)
        else:
            self._pending.ask(noise, copied(points))
        return points

    def _stream(self) -> Stream:
        if self._pending is not None:
            raise ValueError(
                "streaming has no use for an asynchronous Optimizer: it gives few points at a time"
            )
        stream = Stream(self.strategy, self._noise, self.generation + 1, self.popsize, self.box)
        self._asked = stream
        return stream

    def tell(self, X: ArrayLike | Stream, values: ArrayLike) -> None:
        """Take one step, given the ``values`` of ``X``: the rows of the last ``ask``, in any order.

        If asynchronous, any points that were asked will do, and a step is taken once there are as many
        as a generation has. NaN ranks last. A generation of nothing but NaN leaves the distribution as it
        is; after ten of them in a row this raises FloatingPointError, and the Optimizer can still go on.
        """
        asked, n = self._asked, self.popsize
        if isinstance(asked, Stream) or isinstance(X, Stream):
            if X is not asked:
                raise ValueError(f"X must be what the last ask returned, got {X!r}")
            told = checked_values(values, n)
            self._asked = None
            self.nfev += n
            self._step(X, X, told)
            return
        if self._pending is not None:
            self._tell_some(self._pending, X, values)
            return
        if asked is None:
            raise RuntimeError("tell needs the points of an ask: call ask first, and tell its values once")
        noise, marks = asked
        points = checked_points(X, n, self._stopping.dim, self.array_type)
        rows = places_in(points, marks)  # where each row of the ask stands in X
        told = checked_values(values, n)
        if rows is not None:
            points, told = rows_of(points, rows), told[rows]
        self._asked = None
        self.nfev += n
        self._step(noise, points, told)

    def _tell_some(self, pending: Pending, X: ArrayLike, values: ArrayLike) -> None:
        points = self.array_type.array(X)
        points = checked_points(points, len(points), self._stopping.dim, self.array_type)
        told = checked_values(values, len(points))
        pending.tell(points, told)
        self.nfev += len(points)
        if len(points):
            self._keep_best(points, told, int(best_first(told)[0]))
        while generation := pending.take(self.popsize):
            self._step(*generation)

    def _step(self, noise: Array | Stream, points: Array | Stream, told: Array) -> None:
        """One generation on, given its ``points`` and their values, ordered as sampled from ``noise``."""
        first, ranked, utilities = ranking(told, self.utilities, fast=self.strategy.fast)
        if isinstance(noise, Stream):
            self.strategy = update(self.strategy, noise, utilities)
        else:
            self.strategy = self.strategy.update(noise, utilities)
        if self.box is not None:
            self.strategy = self.strategy.capped(self.box.limits)
        self._keep_best(points, told, first)
        self.ranked = ranked
        self.generation += 1
        self._stopping.observe(ranked, self.generation, self.strategy)
        self._count_nan(ranked)

    def stop(self) -> dict[str, float]:
        """Why the run should end, as {reason: value}; empty while it should go on."""
        return self._stopping.reasons(self.nfev, self.generation, self.strategy)

    @property
    def mean(self) -> Array:
        """The centre of the distribution as a point, within the bounds: under noise, the better answer."""
        mean = copied(self.strategy.mean)
        return mean if self.box is None else self.box.fold(mean[None])[0]

    @property
    def result(self) -> OptimizeResult:
        """The run so far: the best point ever evaluated, its value, and whether and why it ended."""
        stop = self.stop()
        result: OptimizeResult = OptimizeResult()
        result.update(
            x=copied(self._best_x),
            fun=self.best,
            nfev=self.nfev,
            nit=self._earlier + self.generation,
            success=succeeded(stop, self._stopping.ftarget),
            status=STATUS[next(iter(stop))] if stop else RUNNING,
            message=describe(stop),
            stop=stop,
            sigma=self.strategy.sigma,
            nan_count=self.nan_count,
            restarts=self.restart,
            seed=self.seed,
        )
        return result

    def inherit(self, ended: Optimizer) -> None:
        """Start as the restart of a run that ``ended``: count on, and keep its best point and its clock."""
        self.restart, self._earlier = ended.restart + 1, ended._earlier + ended.generation
        self.nfev, self.nan_count = ended.nfev, ended.nan_count
        self.best, self._best_x = ended.best, ended._best_x
        self._stopping.began = ended._stopping.began

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all that the run depends on into one file, which a crash cannot leave half-written."""
        checkpoint.write(path, self.state())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The Optimizer of a file that ``save`` wrote: it goes on bit for bit. Reading runs no code."""
        state = checkpoint.read(path)
        try:
            return cls.from_state(state)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ValueError(f"{os.fspath(path)} holds no Optimizer: {error!r}") from None

    def state(self) -> dict[str, Any]:
        """All that the run depends on, as plain values and arrays of NumPy's."""
        strategy = {field.name: getattr(self.strategy, field.name) for field in fields(self.strategy)}
        return {
            "settings": to_plain(self.settings),
            "strategy": {name: _on_host(value) for name, value in strategy.items()},
            "stopping": self._stopping.state(),
            "asked": self._asked is not None,
            "counts": {name: _on_host(getattr(self, name)) for name in COUNTS},
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The Optimizer whose ``state`` this is."""
        optimizer = cls(**from_plain(state["settings"]))
        optimizer.strategy = placed(optimizer.strategy, optimizer.array_type, **state["strategy"])
        optimizer._stopping.restore(state["stopping"])
        for name in COUNTS:
            setattr(optimizer, name, state["counts"][name])
        optimizer._best_x = optimizer.array_type.array(optimizer._best_x)
        if state["asked"]:
            optimizer.ask()
        return optimizer

    def _keep_best(self, points: Array | Stream, values: Array, first: int) -> None:
        if values[first] < self.best:
            self._best_x = points.point(int(first)) if isinstance(points, Stream) else copied(points[first])
            self.best = float(values[first])

    def _compile(self) -> None:
        """From now on with numba, if it is there; when, depends on the run alone: it can be repeated."""
        self._fast = True
        if numba_available():
            if self.array_type.library == "numpy" and self.array_type.dtype == np.float64:
                self.strategy = replace(self.strategy, fast=True)
            self._noise.fast = self.strategy.fast or not self.strategy.orthogonal

    def _source(self, noise: str | None) -> NoiseSource:
        if noise not in (None, "device"):
            raise ValueError(f"noise must be None or 'device', got {noise!r}")
        array_type, width = self.array_type, self.strategy.noise_size
        on_device = array_type.library != "numpy"
        if noise == "device":
            if not on_device:
                raise ValueError("noise='device' needs x0 as a tensor of PyTorch or an array of JAX")
            kind = DeviceDirections if self.strategy.orthogonal else DeviceNoise
            return kind(self.seed, width, array_type, self.popsize)
        source = (
            OrthogonalDirections(self.seed, width, array_type.dtype, self.popsize)
            if self.strategy.orthogonal
            else GaussianNoise(self.seed, width, array_type.dtype)
        )
        return HostNoise(source, array_type) if on_device else source

    def _draw(self) -> Any:
        if self._pending is None:
            self._buffer = self._noise.draw(self.generation + 1, 0, self.popsize, self._buffer)
            return self._buffer
        generation, row = divmod(self._drawn, self.popsize)
        self._drawn += 1
        return self._noise.rows(generation + 1, row, row + 1)

    def _count_nan(self, ranked: Array) -> None:
        if not math.isnan(ranked[-1]):
            self._blanks = 0
            return
        self.nan_count += int(np.isnan(ranked).sum())
        self._blanks = self._blanks + 1 if math.isnan(ranked[0]) else 0
        if self._blanks == BLANK_GENERATIONS:
            self._blanks = 0  # whoever catches the error may go on
            raise FloatingPointError(
                f"fun must return a number somewhere, got nothing but NaN in {BLANK_GENERATIONS} generations "
                f"in a row of {self.popsize} points, with σ = {self.strategy.sigma:.3g}"
            )


def _on_host(value: Any) -> Any:
    """An array as NumPy's; all else as it is."""
    return host(value) if hasattr(value, "shape") else value
