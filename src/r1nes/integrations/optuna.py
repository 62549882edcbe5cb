"""An Optuna sampler whose whole state is in the study's own trials.

The points of a generation follow from the seed and from the values of the generations before. So a trial
needs no more than a mark, (seed, generation, row), whatever the number of parameters: from these marks and
the values of the trials every process finds the same distribution again, be it the next thread, another
machine on the same storage, or the program that goes on tomorrow.

A trial counts only if its parameters are those of its row. Trials of other seeds or settings, or enqueued
with parameters of their own, are therefore no danger: they are left out.
"""

from __future__ import annotations

import math
import threading
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from r1nes.arguments import count
from r1nes.extras import needs
from r1nes.optimizer import Optimizer
from r1nes.restarts import Search

with needs("optuna", extra="optuna"):
    import optuna
    from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
    from optuna.samplers import BaseSampler, RandomSampler
    from optuna.search_space import IntersectionSearchSpace
    from optuna.study import Study, StudyDirection
    from optuna.trial import FrozenTrial, TrialState

Numeric = FloatDistribution | IntDistribution
Space = dict[str, Numeric]

MARK = "r1nes:place"
RESTARTS = 9  # doublings of the population, each where a run has converged


class NESSampler(BaseSampler):
    """Samples float and int parameters, in logarithmic scale or not, by a natural evolution strategy.

    Args:
        method: The search distribution, as for ``r1nes.minimize``.
        sigma0: The first standard deviation, as a share of each parameter's range.
        popsize: Trials per generation. With ``n_jobs`` or several processes set it to a multiple of how many
            run at a time: those that find all of a generation under way repeat one of its points.
        seed: Of all random numbers. By default random; a study that is continued keeps its own.
        independent_sampler: Samples what is left: categorical parameters, those that not every trial has, and
            all of them until a first trial has shown which there are. By default ``RandomSampler``.

    Pruned and failed trials rank last. When a run has converged, another one begins elsewhere with twice the
    population.

    Examples:
        >>> import optuna
        >>> from r1nes.integrations.optuna import NESSampler
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> def objective(trial):
        ...     rate = trial.suggest_float("rate", 1e-5, 1, log=True)
        ...     width = trial.suggest_int("width", 1, 100)
        ...     return abs(rate - 1e-3) + abs(width - 30) / 30
        >>> study = optuna.create_study(sampler=NESSampler(seed=1))
        >>> study.optimize(objective, n_trials=150)
        >>> study.best_value < 0.1
        True
    """

    def __init__(
        self,
        *,
        method: str | None = None,
        sigma0: float = 0.3,
        popsize: int | None = None,
        seed: int | None = None,
        independent_sampler: BaseSampler | None = None,
    ) -> None:
        """Checks every setting."""
        self._settings: dict[str, Any] = {"sigma0": sigma0, "method": method, "popsize": popsize}
        Optimizer(np.zeros(2), **self._settings)
        self._seed = None if seed is None else count("seed", seed, least=0)
        self._independent = RandomSampler(seed=seed) if independent_sampler is None else independent_sampler
        self._spaces = IntersectionSearchSpace()
        self._warned: set[str] = set()
        self._run: _Run | None = None
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Without what the storage holds anyway."""
        return {**self.__dict__, "_run": None, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """The run is found again in the storage."""
        self.__dict__.update(state, _lock=threading.Lock())

    def reseed_rng(self) -> None:
        """For a process of its own: the run stays the same, the independent sampler's numbers do not."""
        self._independent.reseed_rng()

    def infer_relative_search_space(
        self,
        study: Study,
        trial: FrozenTrial,  # noqa: ARG002
    ) -> dict[str, BaseDistribution]:
        """The numbers that every completed trial has."""
        return {
            name: distribution
            for name, distribution in self._spaces.calculate(study).items()
            if isinstance(distribution, FloatDistribution | IntDistribution) and not distribution.single()
        }

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The next point of the generation that is under way."""
        _refuse_several_objectives(study)
        space = {
            name: distribution
            for name, distribution in search_space.items()
            if isinstance(distribution, FloatDistribution | IntDistribution)
        }
        if not space:
            return {}
        with self._lock:
            trials = study.get_trials(deepcopy=False)
            if self._run is None or self._run.study is not study or self._run.space != space:
                self._run = _Run(study, space, self._seed_of(trials), self._settings)
            row = self._run.next_row(trials)
            # There is no public way to mark a trial; Optuna's own samplers use this one.
            study._storage.set_trial_system_attr(trial._trial_id, MARK, self._run.mark(row))  # noqa: SLF001
            return self._run.params[row]

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """A parameter that is none of the search space."""
        _refuse_several_objectives(study)
        if self._run is not None and param_name not in self._warned:
            self._warned.add(param_name)
            optuna.logging.get_logger(__name__).warning(
                f"{param_name} is left to {type(self._independent).__name__}: NESSampler takes float and int "
                "parameters that every trial has, within the same limits"
            )
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """For the independent sampler."""
        self._independent.before_trial(study, trial)

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """For the independent sampler."""
        self._independent.after_trial(study, trial, state, values)

    def _seed_of(self, trials: list[FrozenTrial]) -> int:
        """The user's, or that of the study's first marked trial, or a new one."""
        if self._seed is not None:
            return self._seed
        seeds = (int(trial.system_attrs[MARK][0]) for trial in trials if MARK in trial.system_attrs)
        return next(seeds, int(np.random.SeedSequence().generate_state(1)[0]))


class _Run:
    """The distribution as the trials of a study have made it."""

    def __init__(self, study: Study, space: Space, seed: int, settings: dict[str, Any]) -> None:
        d = len(space)
        self.study, self.space, self.seed = study, space, seed
        self.sign = -1 if study.direction == StudyDirection.MAXIMIZE else 1
        first = Optimizer(np.full(d, 0.5), bounds=[(0.0, 1.0)] * d, rng=seed, **settings)
        self.search = Search(first, RESTARTS)
        self.generation = 0
        self._since = 0  # the trial before which there is none of this generation
        self._ask()

    def mark(self, row: int) -> list[int]:
        """What tells that a trial belongs to a row of the present generation."""
        return [self.seed, self.generation, row]

    def next_row(self, trials: list[FrozenTrial]) -> int:
        """Which point of the generation to evaluate next, once all that is known of others is told."""
        marked: defaultdict[int, list[FrozenTrial]] = defaultdict(list)
        for trial in trials[self._since :]:
            seed, generation, _ = trial.system_attrs.get(MARK, (None, None, None))
            if seed == self.seed:
                marked[generation].append(trial)
        while True:
            values, running = self._outcomes(marked[self.generation])
            missing = [row for row in range(len(self.params)) if row not in values]
            if missing:
                return min(missing, key=running.__getitem__)
            self._since = min(trial.number for trial in marked[self.generation])
            self._tell([values[row] for row in range(len(self.params))])

    def _outcomes(self, trials: list[FrozenTrial]) -> tuple[dict[int, float], Counter[int]]:
        """The value of each row that has one, and how many trials are at work on each."""
        values: dict[int, float] = {}
        running: Counter[int] = Counter()
        finished = [trial for trial in trials if trial.state.is_finished()]
        for trial in sorted(finished, key=lambda trial: (trial.datetime_complete, trial.number)):
            row = trial.system_attrs[MARK][2]
            if row < len(self.params) and self._made(trial, self.params[row]):
                value = trial.value if trial.state == TrialState.COMPLETE else None
                values.setdefault(row, math.nan if value is None else self.sign * value)
        for trial in trials:
            if not trial.state.is_finished():
                running[trial.system_attrs[MARK][2]] += 1
        return values, running

    def _made(self, trial: FrozenTrial, params: dict[str, float]) -> bool:
        """Whether a trial had these parameters, but for what another processor rounds differently."""
        return all(
            name in trial.params
            and math.isclose(
                trial.params[name],
                value,
                rel_tol=1e-9,
                abs_tol=1e-9 * (self.space[name].high - self.space[name].low),
            )
            for name, value in params.items()
        )

    def _ask(self) -> None:
        self._points = self.search.optimizer.ask()
        self.params = [
            {name: _value(limits, u) for (name, limits), u in zip(self.space.items(), x, strict=True)}
            for x in self._points.tolist()
        ]

    def _tell(self, values: list[float]) -> None:
        with suppress(FloatingPointError):  # nothing but failures, of which Optuna has told
            self.search.optimizer.tell(self._points, values)
        self.search.continues()
        self.generation += 1
        self._ask()


def _value(limits: Numeric, u: float) -> float:
    """The parameter at ``u`` in [0, 1], where each of its steps takes the same share, or log-share."""
    step = limits.step or 0.0
    low, high = limits.low - step / 2, limits.high + step / 2
    value = low * (high / low) ** u if limits.log else low + u * (high - low)
    if step:
        value = limits.low + step * round((value - limits.low) / step)
    value = min(max(value, limits.low), limits.high)
    return int(value) if isinstance(limits, IntDistribution) else float(value)


def _refuse_several_objectives(study: Study) -> None:
    if len(study.directions) > 1:
        raise ValueError(f"NESSampler needs a study of one objective, got {len(study.directions)}")
