"""An Optuna sampler that stores its whole state in the trials of the study.

The points of a generation follow from the seed and the values of earlier generations. A trial therefore
stores only a mark, (seed, generation, row), whatever the number of parameters. From the marks and values of
the trials, any process reconstructs the same distribution: another thread, another machine with the same
storage, or a program that resumes the study later.

A trial counts only if its parameters match its row. Trials with other seeds or settings, and enqueued trials
with their own parameters, are ignored.
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
FAILED = "r1nes:failed"  # marks a trial whose objective has failed; one that failed without it was killed
ATTEMPTS = 4  # trials of a point that are killed before it ranks last
RESTARTS = 9  # doublings of the population, one whenever a run has converged


class NESSampler(BaseSampler):
    """Sample float and int parameters, on a linear or log scale, with a natural evolution strategy.

    Args:
        method: The search distribution, as for ``r1nes.minimize``.
        sigma0: The initial standard deviation, as a fraction of each parameter's range.
        popsize: Trials per generation. With ``n_jobs`` or several processes, use a multiple of the number of
            concurrent trials: a worker repeats a point if all points of the generation are being evaluated.
        seed: Seed of all random numbers. By default random; a resumed study keeps its seed.
        independent_sampler: Samples the remaining parameters: categorical ones, those that only some trials
            have, and all parameters of the first trial, which defines the search space. By default
            ``RandomSampler``.

    Pruned and failed trials rank last; the points of killed ones are repeated. When a run has converged, the
    search restarts from a random point with twice the population.

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
        """Check every setting."""
        self._settings: dict[str, Any] = {"sigma0": sigma0, "method": method, "popsize": popsize}
        Optimizer(np.zeros(2), **self._settings)
        self._seed = None if seed is None else count("seed", seed, least=0)
        self._independent = RandomSampler(seed=seed) if independent_sampler is None else independent_sampler
        self._spaces = IntersectionSearchSpace()
        self._warned: set[str] = set()
        self._run: _Run | None = None
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Omit the run, which the storage contains, and the lock."""
        return {**self.__dict__, "_run": None, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the settings; the next sample reconstructs the run from the storage."""
        self.__dict__.update(state, _lock=threading.Lock())

    def reseed_rng(self) -> None:
        """Reseed the independent sampler in a new process; the run itself keeps its seed."""
        self._independent.reseed_rng()

    def infer_relative_search_space(
        self,
        study: Study,
        trial: FrozenTrial,  # noqa: ARG002
    ) -> dict[str, BaseDistribution]:
        """Return the numeric parameters that all completed trials have in common."""
        return {
            name: distribution
            for name, distribution in self._spaces.calculate(study).items()
            if isinstance(distribution, FloatDistribution | IntDistribution) and not distribution.single()
        }

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return the next point of the current generation."""
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
            # Optuna has no public way to mark a trial; its own samplers use this one.
            study._storage.set_trial_system_attr(trial._trial_id, MARK, self._run.mark(row))  # noqa: SLF001
            return self._run.params[row]

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Sample a parameter outside the search space."""
        _refuse_several_objectives(study)
        if self._run is not None and param_name not in self._warned:
            self._warned.add(param_name)
            optuna.logging.get_logger(__name__).warning(
                f"{param_name} is sampled by {type(self._independent).__name__}: NESSampler samples "
                "float and int parameters that all trials have, with the same limits"
            )
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Forward the call to the independent sampler."""
        self._independent.before_trial(study, trial)

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Mark a trial that has failed, which one that was killed cannot be."""
        if state == TrialState.FAIL and MARK in trial.system_attrs:
            study._storage.set_trial_system_attr(trial._trial_id, FAILED, True)  # noqa: SLF001
        self._independent.after_trial(study, trial, state, values)

    def _seed_of(self, trials: list[FrozenTrial]) -> int:
        """Return the user's seed, or that of the study's first marked trial, or a new one."""
        if self._seed is not None:
            return self._seed
        seeds = (int(trial.system_attrs[MARK][0]) for trial in trials if MARK in trial.system_attrs)
        return next(seeds, int(np.random.SeedSequence().generate_state(1)[0]))


class _Run:
    """The search distribution, reconstructed from the trials of a study."""

    def __init__(self, study: Study, space: Space, seed: int, settings: dict[str, Any]) -> None:
        d = len(space)
        self.study, self.space, self.seed = study, space, seed
        self.sign = -1 if study.direction == StudyDirection.MAXIMIZE else 1
        first = Optimizer(np.full(d, 0.5), bounds=[(0.0, 1.0)] * d, rng=seed, **settings)
        self.search = Search(first, RESTARTS)
        self.generation = 0
        self._since = 0  # number of the first trial that can belong to this generation
        self._ask()

    def mark(self, row: int) -> list[int]:
        """Return the mark of a trial that evaluates ``row`` of the current generation."""
        return [self.seed, self.generation, row]

    def next_row(self, trials: list[FrozenTrial]) -> int:
        """Process all completed generations and return the row of the current one to evaluate next."""
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
        """Return the value of each completed row, and the number of running trials per row.

        With a heartbeat, Optuna lets trials fail whose process was killed. They give no value.
        """
        values: dict[int, float] = {}
        running: Counter[int] = Counter()
        killed: Counter[int] = Counter()
        finished = [trial for trial in trials if trial.state.is_finished()]
        for trial in sorted(finished, key=lambda trial: (trial.datetime_complete, trial.number)):
            row = trial.system_attrs[MARK][2]
            if row < len(self.params) and self._matches(trial, self.params[row]):
                if trial.state == TrialState.FAIL and FAILED not in trial.system_attrs:
                    killed[row] += 1
                    if killed[row] < ATTEMPTS:
                        continue
                value = trial.value if trial.state == TrialState.COMPLETE else None
                values.setdefault(row, math.nan if value is None else self.sign * value)
        for trial in trials:
            if not trial.state.is_finished():
                running[trial.system_attrs[MARK][2]] += 1
        return values, running

    def _matches(self, trial: FrozenTrial, params: dict[str, float]) -> bool:
        """Return whether a trial has these parameters, up to rounding differences between processors."""
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
        with suppress(FloatingPointError):  # all trials failed, which Optuna has reported
            self.search.optimizer.tell(self._points, values)
        self.search.continues()
        self.generation += 1
        self._ask()


def _value(limits: Numeric, u: float) -> float:
    """Map ``u`` in [0, 1] to the parameter; all of its steps have equal width, on its linear or log scale."""
    step = limits.step or 0.0
    low, high = limits.low - step / 2, limits.high + step / 2
    value = low * (high / low) ** u if limits.log else low + u * (high - low)
    if step:
        value = limits.low + step * round((value - limits.low) / step)
    value = min(max(value, limits.low), limits.high)
    return int(value) if isinstance(limits, IntDistribution) else float(value)


def _refuse_several_objectives(study: Study) -> None:
    if len(study.directions) > 1:
        raise ValueError(f"NESSampler needs a study with one objective, got {len(study.directions)}")
