"""The Optuna sampler on a real storage: killed, resumed and shared; and Optuna's own sampler tests."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.samplers import BaseSampler
from optuna.storages import RDBStorage
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)
from optuna.trial import Trial, TrialState

from r1nes.integrations.optuna import ATTEMPTS, MARK, NESSampler

optuna.logging.set_verbosity(optuna.logging.ERROR)


class TestByOptuna(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    """Optuna's tests for single-objective samplers without categorical parameters."""

    test_sample_relative_categorical = None  # type: ignore[assignment]
    test_sample_relative_mixed = None  # type: ignore[assignment]

    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return NESSampler


def bowl(trial: Trial) -> float:
    """Best at rate = 1e-3, width = 30, x = 1, with x and y in a valley."""
    rate = math.log10(trial.suggest_float("rate", 1e-6, 1, log=True)) + 3
    width = trial.suggest_int("width", 1, 100) / 30 - 1
    x, y = trial.suggest_float("x", -4, 4), trial.suggest_float("y", -4, 4, step=0.25)
    return rate**2 + width**2 + (x - 1) ** 2 + 10 * (x - y) ** 2


def params_of(study: optuna.Study) -> list[dict[str, Any]]:
    return [trial.params for trial in study.trials]


def url(path: Path) -> str:
    return f"sqlite:///{path / 'study.db'}"


def study_at(path: Path, sampler: BaseSampler, **more: Any) -> optuna.Study:
    return optuna.create_study(
        storage=url(path), sampler=sampler, study_name="one", load_if_exists=True, **more
    )


@pytest.mark.parametrize("method", ["rknes", "snes", "xnes"])
def test_it_finds_the_best_parameters(method: str) -> None:
    best = median_best(lambda seed: NESSampler(method=method, seed=seed))
    assert best < 0.2 * median_best(lambda seed: optuna.samplers.RandomSampler(seed=seed))


def median_best(sampler: Callable[[int], BaseSampler]) -> float:
    found = []
    for seed in range(5):
        study = optuna.create_study(sampler=sampler(seed))
        study.optimize(bowl, n_trials=300)
        found.append(study.best_value)
    return float(np.median(found))


def test_it_maximises_where_the_study_does() -> None:
    less = optuna.create_study(sampler=NESSampler(seed=1))
    more = optuna.create_study(sampler=NESSampler(seed=1), direction="maximize")
    less.optimize(bowl, n_trials=40)
    more.optimize(lambda trial: -bowl(trial), n_trials=40)
    assert params_of(less) == params_of(more)


def test_another_program_resumes_from_the_storage(tmp_path: Path) -> None:
    whole = optuna.create_study(sampler=NESSampler(seed=1))
    whole.optimize(bowl, n_trials=33)
    for _ in range(3):  # a new sampler and connection each time, in the middle of generations of eight
        study_at(tmp_path, NESSampler(seed=1)).optimize(bowl, n_trials=11)
    assert params_of(study_at(tmp_path, NESSampler()))[1:] == params_of(whole)[1:]


def test_without_a_seed_it_uses_that_of_the_study(tmp_path: Path) -> None:
    for _ in range(3):
        study_at(tmp_path, NESSampler()).optimize(bowl, n_trials=7)
    marks = [trial.system_attrs[MARK] for trial in study_at(tmp_path, NESSampler()).trials[1:]]
    assert len({seed for seed, _, _ in marks}) == 1
    assert [(generation, row) for _, generation, row in marks] == [divmod(i, 8) for i in range(20)]


def test_trials_with_other_settings_are_ignored(tmp_path: Path) -> None:
    alone = optuna.create_study(sampler=NESSampler(seed=2, sigma0=0.1))
    alone.optimize(bowl, n_trials=13)
    for sampler in (NESSampler(seed=1), NESSampler(seed=1, sigma0=0.1), NESSampler(seed=2, sigma0=0.1)):
        study_at(tmp_path, sampler).optimize(bowl, n_trials=12)
    trials = params_of(study_at(tmp_path, NESSampler()))
    assert trials[-12:] == params_of(alone)[1:]


def test_enqueued_trials_do_not_disturb_it() -> None:
    plain = optuna.create_study(sampler=NESSampler(seed=1))
    plain.optimize(bowl, n_trials=30)
    study = optuna.create_study(sampler=NESSampler(seed=1))
    study.optimize(bowl, n_trials=10)
    study.enqueue_trial({"rate": 1e-3, "width": 30, "x": 1, "y": 1})
    study.optimize(bowl, n_trials=21)
    assert study.best_value == pytest.approx(0)
    params = params_of(study)
    assert params[:10] + params[11:] == params_of(plain)


def test_threads_share_a_generation(tmp_path: Path) -> None:
    serial = optuna.create_study(sampler=NESSampler(seed=1, popsize=12))
    serial.optimize(bowl, n_trials=37)
    study = study_at(tmp_path, NESSampler(seed=1, popsize=12))
    study.optimize(bowl, n_trials=1)
    study.optimize(bowl, n_trials=60, n_jobs=4)
    assert all(trial.state == TrialState.COMPLETE for trial in study.trials)
    places = points_by_place(study)
    assert places.items() >= points_by_place(serial).items()
    repeated = 60 - len(places)
    assert repeated <= 5 * 3  # at most three workers wait for the last trial of each generation


def points_by_place(study: optuna.Study) -> dict[tuple[int, int], tuple[float, ...]]:
    return {
        (int(trial.system_attrs[MARK][1]), int(trial.system_attrs[MARK][2])): tuple(trial.params.values())
        for trial in study.trials
        if MARK in trial.system_attrs
    }


WORKER = """
import sys, optuna
from test_optuna import bowl, url
from pathlib import Path
from r1nes.integrations.optuna import NESSampler

study = optuna.load_study(study_name="one", storage=url(Path(sys.argv[1])), sampler=NESSampler())
study.optimize(bowl, n_trials=14)
"""


def test_processes_share_a_study(tmp_path: Path) -> None:
    study = study_at(tmp_path, NESSampler(seed=1, popsize=8))
    study.optimize(bowl, n_trials=9)
    command = [sys.executable, "-c", WORKER.replace("NESSampler()", "NESSampler(popsize=8)"), str(tmp_path)]
    here = Path(__file__).parent
    workers = [subprocess.Popen(command, cwd=here) for _ in range(2)]
    assert [worker.wait() for worker in workers] == [0, 0]
    serial = optuna.create_study(sampler=NESSampler(seed=1, popsize=8))
    serial.optimize(bowl, n_trials=25)
    assert len(study.trials) == 37
    assert points_by_place(study).items() >= points_by_place(serial).items()


def test_a_killed_worker_does_not_block_the_others(tmp_path: Path) -> None:
    whole = optuna.create_study(sampler=NESSampler(seed=1))
    whole.optimize(bowl, n_trials=25)
    study = study_at(tmp_path, NESSampler(seed=1))
    study.optimize(bowl, n_trials=5)
    for _ in range(3):
        study.ask(whole.trials[-1].distributions)  # never completed
    study = study_at(tmp_path, NESSampler(seed=1))
    study.optimize(bowl, n_trials=20)
    finished = {
        tuple(trial.system_attrs[MARK][1:]) for trial in study.trials[1:] if trial.state.is_finished()
    }
    assert finished == set(points_by_place(whole))
    assert points_by_place(study) == points_by_place(whole)


DYING = """
import os, sys, warnings, optuna
from test_optuna import bowl, heartbeat
from r1nes.integrations.optuna import NESSampler

def dies(trial):
    bowl(trial)
    os._exit(9)

warnings.simplefilter("ignore")
optuna.load_study(study_name="one", storage=heartbeat(sys.argv[1]), sampler=NESSampler()).optimize(dies, 1)
"""


def heartbeat(folder: object) -> RDBStorage:
    return RDBStorage(f"sqlite:///{folder}/heart.db", heartbeat_interval=1, grace_period=2)


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_a_killed_trial_fails_by_its_heartbeat_and_its_point_is_repeated(tmp_path: Path) -> None:
    whole = optuna.create_study(sampler=NESSampler(seed=1))
    whole.optimize(bowl, n_trials=25)
    study = optuna.create_study(study_name="one", storage=heartbeat(tmp_path), sampler=NESSampler(seed=1))
    study.optimize(bowl, n_trials=5)
    ended = subprocess.run(
        [sys.executable, "-c", DYING, str(tmp_path)], cwd=Path(__file__).parent, check=False
    )
    assert ended.returncode == 9
    assert study.trials[-1].state == TrialState.RUNNING
    time.sleep(4)
    study.optimize(bowl, n_trials=20)
    states = Counter(trial.state for trial in study.trials)
    assert states == {TrialState.COMPLETE: 25, TrialState.FAIL: 1}
    assert points_by_place(study) == points_by_place(whole)
    assert params_of(study)[-1] == params_of(whole)[-1]


def test_a_point_whose_trials_are_always_killed_ranks_last(tmp_path: Path) -> None:
    study = study_at(tmp_path, NESSampler(seed=1, popsize=4))
    study.optimize(bowl, n_trials=1)
    space = study.trials[0].distributions
    while True:
        trial = study.ask(space)
        _, generation, row = study.trials[-1].system_attrs[MARK]
        if generation == 1:
            break
        if row == 2:  # as Optuna does if there is no heartbeat any more
            study._storage.set_trial_state_values(trial._trial_id, TrialState.FAIL)
        else:
            study.tell(trial, bowl(trial))
    rows = Counter(each.system_attrs[MARK][2] for each in study.trials[1:-1])
    assert rows == {0: 1, 1: 1, 2: ATTEMPTS, 3: 1}


def test_failed_and_pruned_trials_rank_last() -> None:
    def halved(trial: Trial) -> float:
        value = bowl(trial)
        if trial.params["x"] > 0:
            raise optuna.TrialPruned if trial.params["y"] > 0 else RuntimeError
        return value

    study = optuna.create_study(sampler=NESSampler(seed=1))
    study.optimize(halved, n_trials=600, catch=(RuntimeError,))
    states = [trial.state for trial in study.trials]
    assert TrialState.PRUNED in states
    assert TrialState.FAIL in states
    assert study.best_value < 1.3  # the infimum is 1, on the edge of what fails


def test_it_recovers_from_generations_of_failures() -> None:
    study = optuna.create_study(sampler=NESSampler(seed=1))
    study.optimize(bowl, n_trials=1)

    def fails(trial: Trial) -> float:
        return bowl(trial) * math.nan

    study.optimize(fails, n_trials=100)
    study.optimize(bowl, n_trials=300)
    assert study.best_value < 0.1


def test_a_mark_does_not_grow_with_the_number_of_parameters() -> None:
    def wide(trial: Trial) -> float:
        return sum(trial.suggest_float(f"x{i}", -1, 1) ** 2 for i in range(300))

    study = optuna.create_study(sampler=NESSampler(seed=1))
    study.optimize(wide, n_trials=30)
    for trial in study.trials[1:]:
        assert list(trial.system_attrs) == [MARK]
        assert len(str(trial.system_attrs[MARK])) < 20


def test_all_steps_of_a_parameter_are_equally_likely() -> None:
    def flat(trial: Trial) -> float:
        trial.suggest_int("n", 1, 4)
        trial.suggest_float("s", 0, 0.9, step=0.3)
        return float(np.random.default_rng(trial.number).random())

    study = optuna.create_study(sampler=NESSampler(seed=1, sigma0=2.0, popsize=400))
    study.optimize(flat, n_trials=401)
    steps_of: dict[str, list[float]] = {"n": [1, 2, 3, 4], "s": [0, 0.3, 0.6, 0.9]}
    for name, steps in steps_of.items():
        values = np.array([trial.params[name] for trial in study.trials])
        shares = [np.isclose(values, step).mean() for step in steps]
        np.testing.assert_allclose(shares, 0.25, atol=0.06)


def test_it_restarts_once_it_has_converged() -> None:
    def steps(trial: Trial) -> float:
        return float(trial.suggest_int("n", 0, 50) + trial.suggest_int("m", 0, 50))

    study = optuna.create_study(sampler=NESSampler(seed=1))
    study.optimize(steps, n_trials=1_500)
    assert study.best_value == 0
    assert max(row for _, row in points_by_place(study)) >= 4  # the first population is four


def test_a_pickled_sampler_resumes_its_run() -> None:
    whole = optuna.create_study(sampler=NESSampler(seed=1))
    whole.optimize(bowl, n_trials=30)
    study = optuna.create_study(sampler=NESSampler(seed=1))
    study.optimize(bowl, n_trials=20)
    study.sampler = pickle.loads(pickle.dumps(study.sampler))
    study.optimize(bowl, n_trials=10)
    assert params_of(study) == params_of(whole)


def test_independent_sampling_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def mixed(trial: Trial) -> float:
        return bowl(trial) + {"a": 0, "b": 1}[trial.suggest_categorical("kind", ["a", "b"])]

    optuna.logging.enable_propagation()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        study = optuna.create_study(sampler=NESSampler(seed=1))
        study.optimize(mixed, n_trials=10)
    finally:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        optuna.logging.disable_propagation()
    messages = [record.message for record in caplog.records if record.name.startswith("r1nes")]
    assert len(messages) == 1
    assert messages[0].startswith("kind is sampled by RandomSampler")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "cmaes"}, "method must be one of"),
        ({"sigma0": 0}, "sigma0 must be finite and above 0"),
        ({"popsize": 1}, "popsize must be a whole number from 2 to"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
    ],
)
def test_wrong_settings_are_refused_at_once(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NESSampler(**settings)


def test_it_can_be_sampled_from_many_threads_at_once() -> None:
    study = optuna.create_study(sampler=NESSampler(seed=1, popsize=40))
    study.optimize(bowl, n_trials=1)
    distributions = study.trials[0].distributions
    threads = [threading.Thread(target=study.ask, args=(distributions,)) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(points_by_place(study)) == 40
