"""The ask/tell object: seed → noise → sample → (your objective) → ranking → update."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import OptimizeResult

from r1nes.arrays import Array, copied, hosted
from r1nes.arrays.threads import one_thread
from r1nes.counts import Counts, count, only_nan
from r1nes.learning import learnt
from r1nes.matching import Asynchronous, Matching, Synchronous
from r1nes.points import Points, first_distribution
from r1nes.probing import Probing
from r1nes.ranking import best_first, ranking
from r1nes.sampling.keys import Key
from r1nes.sampling.streaming import Stream
from r1nes.settings import Settings, takes
from r1nes.stopping import Stopping
from r1nes.storage import checkpoint
from r1nes.strategies import Method, Strategy, name_of
from r1nes.strategies.protocol import placed


class Optimizer:
    """Minimises in steps: ``ask`` for points, evaluate them as you like, ``tell`` their values.

    Attributes:
        strategy: The current search distribution, with ``mean``, ``sigma``, ``stds()``, ``cov()`` and
            ``condition()``. With bounds, the distribution of points before they are folded into the box,
            without the variables that the bounds fix; with ``sigma0`` per variable, that of x/scales.
        settings: The ``Settings`` it was created with, defaults filled in.
        seed: The seed of the run, a ``SeedSequence``; pass it as ``rng`` to reproduce the run.

    Examples:
        >>> import numpy as np, r1nes
        >>> optimizer = r1nes.Optimizer(np.ones(10), 0.5, ftarget=1e-8, rng=1)
        >>> while not optimizer.stop():
        ...     X = optimizer.ask()
        ...     optimizer.tell(X, (X**2).sum(axis=1))
        >>> list(optimizer.stop())
        ['ftarget']
    """

    generation = count("generation", "Completed generations of this run.")
    restart = count("restart", "Runs of the same search before this one.")
    nfev = count("nfev", "Completed evaluations, in all runs.")
    nan_count = count("nan_count", "Evaluations with the value NaN, in all runs.")
    best = count("best", "The smallest value so far, in all runs.")
    ranked = count("ranked", "The values of the last generation, best first.")

    @takes(Settings)
    def __init__(self, settings: Settings) -> None:
        """Check every setting and start the method."""
        self.settings, self.seed, self.popsize = settings, settings.seed, settings.size
        self.stopping = Stopping.from_settings(settings)
        self.strategy: Strategy = first_distribution(settings)
        self._points = Points(settings, self.strategy.noise_size)
        kind = Asynchronous if settings.asynchronous else Synchronous
        self._matching: Matching = kind(settings.size, settings.start.size, settings.array_type)
        self.counts = Counts(best_x=settings.array_type.array(settings.start))
        self._probing = Probing(settings.probes, always=settings.noise is True)

    def __repr__(self) -> str:
        """The method and the state of the run at a glance."""
        return (
            f"<Optimizer: {name_of(self.settings.algorithm)}, {self.settings.variables}, "
            f"generation {self.generation} of {self.popsize}, {self.nfev} evaluations, best {self.best:.6g}, "
            f"σ {self.strategy.sigma:.3g}, {', '.join(self.stop()) or 'running'}>"
        )

    @overload
    def ask(self, *, out: Array | None = None) -> Array: ...

    @overload
    def ask(self, *, streaming: Literal[True]) -> Stream: ...

    def ask(self, *, out: Array | None = None, streaming: bool = False) -> Array | Stream:
        """Return the points to evaluate next, one per row; the same ones until ``tell`` has their values.

        An asynchronous Optimizer returns one new point per call.

        Args:
            out: A NumPy array for the points, of their shape and dtype. To save memory, pass the array of an
                earlier ask that you no longer need.
            streaming: Whether to return an iterable that generates the points one at a time, in the same
                array. Pass it to ``tell`` as ``X``.
        """
        if streaming:
            return self._stream(out)
        if out is not None:
            self._points.check(out, 1 if self.settings.asynchronous else self.popsize)
        try:
            noise = self._draw() if self._matching.pending is None else self._matching.pending
            with one_thread(self.popsize, self.settings.dim):
                if self._probing.repeated:
                    points = self._probing.complete(self._points.at(self.strategy, noise), out)
                else:
                    points = self._points.at(self.strategy, noise, out)
        except MemoryError:
            size = f"{self.popsize} points of {self.settings.start.size} variables"
            raise MemoryError(
                f"{size} do not fit into memory; ask(streaming=True) holds one at a time"
            ) from None
        self._matching.asked(noise, points)
        return points

    def _draw(self) -> Any:
        """Return the noise of the next generation or, if asynchronous, of the next point."""
        self._points.vary(self._probing.is_blind)
        if self.settings.asynchronous:
            self.counts.drawn += 1
            return self._points.draw_one(self.counts.drawn - 1)
        return self._points.draw(self.counts.generation + 1, self._probing.repeated)

    def _stream(self, out: Array | None) -> Stream:
        if out is not None:
            raise ValueError(f"out must be None with streaming=True, got an array of shape {np.shape(out)}")
        if not isinstance(self._matching, Synchronous):
            raise ValueError("streaming must be False with asynchronous=True, where ask returns one point")
        self._points.vary(self._probing.is_blind)
        stream = self._points.stream(self.strategy, self.counts.generation + 1, self._probing.points)
        self._matching.asked_stream(stream)
        return stream

    def tell(self, X: ArrayLike | Stream, values: ArrayLike) -> None:
        """Take one step, given the ``values`` of ``X``: the rows of the last ``ask``, in any order.

        An asynchronous Optimizer accepts any points it has returned, and takes a step once it has the values
        of a full generation. NaN ranks last. A generation of only NaN leaves the distribution unchanged;
        the tenth in a row raises FloatingPointError, after which the Optimizer can still be used.
        """
        points, told, generations = self._matching.told(X, values)
        self.counts.nfev += len(told)
        if self.settings.asynchronous and len(told):
            self.counts.keep_best(points, told, int(best_first(told)[0]))
        with one_thread(self.popsize, self.settings.dim):
            for generation in generations:
                self._step(*generation)

    def _step(self, noise: Any, points: Array | Stream, told: Array) -> None:
        weights, probing = self.settings.weights, self._probing
        if probing.repeated:
            probing.hear(told[-probing.repeated :])
            self.counts.nan_count += int(np.isnan(told[-probing.repeated :]).sum())
            told, weights = told[: -probing.repeated], self.settings.probe_weights
        first, ranked, utilities = ranking(told, weights)
        if self.settings.algorithm.heeds_noise:
            probing.observe(self.counts.generation + 1, points, told, ranked)
        with np.errstate(all="ignore"):  # what is not finite is a reason to stop
            step = learnt(self.strategy, noise, ranked, utilities, self.settings, probing, self._points)
            self.strategy = self.strategy if step is None else step
            is_blank = self.counts.finish_generation(points, told, first, ranked)
            self.stopping.noise = probing.share if probing.doubt_begins else 0.0
            observed = ranked, self.counts.generation, self.strategy
            self.strategy = self.stopping.observe(*observed, overflows=step is None)
        if is_blank:
            raise only_nan(self.popsize, self.strategy.sigma)

    def abandon(self, points: Array, values: Array) -> None:
        """Count the ``values`` of some points of the last ask, and make no step: the time is up."""
        self.counts.keep_part(points, values)
        self.stopping.best = min(self.stopping.best, float(np.fmin.reduce(values, initial=np.inf)))

    def stop(self) -> dict[str, float]:
        """Return the reasons to stop, as {reason: value}; empty while the run should continue."""
        return self.stopping.reasons(self.counts.nfev)

    @property
    def key(self) -> Key:
        """The number and the seed of the generation that ``ask`` returns: what its evaluations may share."""
        return self._points.key(self.counts.generation + 1)

    @property
    def mean(self) -> Array:
        """The centre within the bounds, averaged over recent generations under noise: the answer there."""
        return self._points.folded(self.strategy.averaged_mean())

    @property
    def center(self) -> Array:
        """The mean of the free variables in the last generation, before it is folded into the bounds."""
        return self._points.scaled(copied(self.strategy.mean))

    @property
    def stds(self) -> Array:
        """The standard deviation of each variable before points are folded into the bounds; 0 if fixed."""
        return self._points.stds(self.strategy)

    @property
    def result(self) -> OptimizeResult:
        """The run so far: the best point ever evaluated, its value, and whether and why the run ended."""
        counts = self.counts
        result: OptimizeResult = OptimizeResult()
        result.update(
            x=copied(counts.best_x),
            fun=counts.best,
            nfev=counts.nfev,
            nit=counts.earlier + counts.generation,
            **self.outcome(),
            mean=self.mean,
            sigma=self.strategy.sigma,
            noise=self.noise,
            noise_share=self.noise_share,
            nan_count=counts.nan_count,
            restarts=counts.restart,
            seed=self.seed,
            choices=dict(self.settings.choices),
        )
        return result

    @property
    def noise(self) -> float | None:
        """The estimated standard deviation of the noise; None if no point was evaluated again."""
        return self._probing.std if self.settings.probes else None

    @property
    def noise_share(self) -> float:
        """The estimated share of the noise in the variance of the values of a generation."""
        return self._probing.share

    def outcome(self) -> dict[str, Any]:
        """Return the entries of ``result`` that say whether and why this run ended."""
        return self.stopping.outcome(self.counts.nfev)

    @property
    def is_best(self) -> bool:
        """Whether no earlier run of the same search found a lower value."""
        return self.stopping.best <= self.counts.best

    def inherit(self, ended: Optimizer) -> None:
        """Take over the counts, the best point and the clock of a run that ``ended``."""
        self.counts.continue_from(ended.counts)
        self.stopping.follow(ended.stopping)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything the run depends on to one file, atomically."""
        checkpoint.write(path, self.state())

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        method: Method | type[Method] | None = None,
        compiled: bool | None = None,
    ) -> Self:
        """Return the Optimizer that ``save`` wrote; it continues bit for bit. Reading the file runs no code.

        Pass ``method`` again if it is your own, because the file cannot contain its code. Pass
        ``compiled=False`` to continue a compiled run without numba; it then agrees up to rounding.
        """
        state = checkpoint.read(path)
        try:
            if compiled is not None:
                state["settings"]["compiled"] = compiled
            return cls.from_state(state, method)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ValueError(f"{os.fspath(path)} holds no Optimizer: {error!r}") from None

    def state(self) -> dict[str, Any]:
        """Return everything the run depends on, as plain values and NumPy arrays."""
        names = [each.name for each in fields(self.strategy) if each.name != "compiled"]  # a setting
        strategy = {name: getattr(self.strategy, name) for name in names}
        return {
            "settings": self.settings.to_plain(),
            "strategy": hosted(strategy),
            "stopping": self.stopping.state(),
            "asked": self._matching.is_waiting,
            "arrived": hosted(self._matching.state()),
            "counts": hosted(self.counts.state()),
            "probing": hosted(self._probing.state()),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], method: Method | type[Method] | None = None) -> Self:
        """Return the Optimizer with that ``state``; a ``method`` of the user's own must be passed again."""
        optimizer = cls(**Settings.from_plain(state["settings"], method).keywords())
        optimizer.restore(state)
        return optimizer

    def restore(self, state: dict[str, Any]) -> None:
        """Restore ``state``, which must come from an Optimizer with the same settings."""
        example = self.state()
        checkpoint.check_alike({**state, "settings": None}, {**example, "settings": None}, "the state")
        checkpoint.check_alike(state["strategy"], example["strategy"], "the distribution", shapes=True)
        array_type = self.settings.array_type
        self.strategy = placed(self.strategy, array_type, **state["strategy"])
        self.stopping.restore(state["stopping"])
        self.counts = Counts.from_state(state["counts"], array_type)
        if "probing" in state:  # not in the earliest files
            self._probing = Probing.from_state(state["probing"], array_type)
        self._matching.restore(state.get("arrived", {}))  # not in earlier files
        if state["asked"]:
            self.ask()
