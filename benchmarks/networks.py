"""Train networks with the default, SNES, OpenAI-ES and CR-FM-NES: digits, control tasks and 10⁵ weights.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/networks.py [--table]

``network_tasks`` has the tasks. The default, SNES and CR-FM-NES have their default populations and start with
the same x0 and σ₀; nothing else is set. OpenAI-ES takes Adam's steps along centred ranks of mirrored samples,
with the population of the default. Its σ and learning rate are the best of six, on seed 101, for each task.
Recorded is the score of the mean on the way and at the end: the loss over all training images, or the mean
return of 100 test episodes.

Runs that ``results/networks.json`` has are not repeated: delete it to measure all again, in about 20 minutes
on one core. Then a table of medians is printed. Requires crfmnes, scikit-learn and gymnasium[box2d].
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from network_tasks import TASKS, Task
from r1nes import Optimizer
from r1nes.arrays import Array
from r1nes.sampling.keys import Key, key_of

RECORDS = Path(__file__).parents[1] / "results" / "networks.json"
TUNED_ON = 101  # the seed on which OpenAI-ES was tuned
SIGMAS, RATES = (1.0, 2.0), (0.1, 0.3, 1.0)  # of OpenAI-ES, in units of σ₀
POINTS = 12  # of a curve

Steps = Iterator[tuple[int, Array]]  # evaluations so far, and the mean


def popsize_of(d: int) -> int:
    """Return the default population of RkNES."""
    return 2 * ((4 + int(3 * math.log(d))) // 2)


def ours(task: Task, seed: int, **settings: Any) -> Steps:
    """Run a method of this package."""
    optimizer = Optimizer(task.x0, task.sigma0, rng=seed, max_evals=task.budget, **settings)
    while True:
        X = optimizer.ask()
        optimizer.tell(X, task.values(X, _key(seed, optimizer.generation)))
        yield optimizer.nfev, optimizer.mean


def crfmnes(task: Task, seed: int) -> Steps:
    """Run CR-FM-NES. It takes values one by one; its points are drawn ahead, to evaluate them at once."""
    d, n, values = task.x0.size, popsize_of(task.x0.size), list[float]()
    es = import_module("crfmnes").CRFMNES(
        d,
        lambda _: values.pop(0),
        task.x0[:, None].copy(),
        task.sigma0,
        n,
        seed=seed,
        use_constraint_violation=False,  # there are no constraints, and the check takes longer than the rest
    )
    while True:
        drawn = np.random.get_state()  # noqa: NPY002
        half = np.random.randn(d, n // 2)  # noqa: NPY002
        np.random.set_state(drawn)  # noqa: NPY002
        z, v = np.append(half, -half, axis=1), es.v / np.linalg.norm(es.v)
        y = z + (math.sqrt(1 + float(np.sum(es.v**2))) - 1) * v @ (v.T @ z)
        values += task.values((es.m + es.sigma * y * es.D).T, _key(seed, es.g)).tolist()
        es.one_iteration()
        yield es.g * n, es.m[:, 0]


def openai_es(task: Task, seed: int, sigma: float, rate: float) -> Steps:
    """Take steps of Adam along the gradient of centred ranks over mirrored samples."""
    rng, mean = np.random.default_rng([seed, 3]), task.x0.copy()
    n, first, second, generation = popsize_of(mean.size), np.zeros(mean.size), np.zeros(mean.size), 0
    while True:
        half = rng.standard_normal((n // 2, mean.size))
        Y = np.concatenate([half, -half])
        values = task.values(mean + sigma * task.sigma0 * Y, _key(seed, generation))
        ranks = values.argsort().argsort() / (n - 1) - 0.5
        gradient = ranks @ Y / (n * sigma * task.sigma0)
        generation += 1
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        scale = math.sqrt(1 - 0.999**generation) / (1 - 0.9**generation)
        mean = mean - rate * task.sigma0 * scale * first / (np.sqrt(second) + 1e-8)
        yield generation * n, mean


def _key(seed: int, generation: int) -> Key:
    return key_of(np.random.SeedSequence([seed, 4]), generation + 1)


METHODS: dict[str, Callable[..., Steps]] = {
    "rknes": ours,
    "snes": lambda task, seed: ours(task, seed, method="snes"),
    "crfmnes": crfmnes,
    "openai-es": openai_es,
}
DEFAULT = "rknes"


def measure(name: str, method: str, seed: int, *tuned: float) -> dict[str, Any]:
    """Return the scores of the mean along a run."""
    task = TASKS[name](seed)
    curve = [(0, task.score(task.x0, False))]
    began, mean = time.process_time(), task.x0
    with np.errstate(all="ignore"):
        for nfev, after in METHODS[method](task, seed, *tuned):
            if nfev > task.budget:
                break
            mean = after
            if nfev * POINTS >= len(curve) * task.budget:
                curve.append((nfev, task.score(mean, False)))
    return {
        "end": task.score(mean, True),
        "center": float(np.linalg.norm(mean)),
        "seconds": round(time.process_time() - began, 1),
        "curve": curve,
    }


def read(path: Path) -> dict[str, Any]:
    """Return what is recorded."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def add(path: Path, key: str, record: dict[str, Any]) -> None:
    """Record one run, replacing the file at once."""
    lines = [
        f"{json.dumps(name)}: {json.dumps(one)}" for name, one in sorted((read(path) | {key: record}).items())
    ]
    scratch = path.with_suffix(".new")
    scratch.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    os.replace(scratch, path)


def best_setting(records: dict[str, Any], name: str) -> tuple[float, float]:
    """Return the σ and the learning rate of OpenAI-ES that ended best on the seed for tuning."""
    sign = -1 if TASKS[name](TUNED_ON).higher else 1
    ends = {
        (sigma, rate): sign * records[f"{name}|openai-es {sigma} {rate}|{TUNED_ON}"]["end"]
        for sigma, rate in product(SIGMAS, RATES)
    }
    return min(ends, key=lambda setting: ends[setting])


def run(path: Path, names: list[str], methods: list[str], seeds: range) -> None:
    """Run what is missing; OpenAI-ES is tuned first."""
    for name in names:
        if "openai-es" in methods:
            for setting in product(SIGMAS, RATES):
                key = f"{name}|openai-es {setting[0]} {setting[1]}|{TUNED_ON}"
                if key not in read(path):
                    add(path, key, measure(name, "openai-es", TUNED_ON, *setting))
        for seed, method in product(seeds, methods):
            if (key := f"{name}|{method}|{seed}") not in read(path):
                tuned = best_setting(read(path), name) if method == "openai-es" else ()
                add(path, key, measure(name, method, seed, *tuned))
                print(key, f"{read(path)[key]['end']:.4g}", flush=True)


def table(records: dict[str, Any], seeds: range) -> None:
    """Print the median end of each method and task, and how the default compares."""
    near = last = lost = 0
    for name in TASKS:
        task = TASKS[name](1)
        sign = -1 if task.higher else 1
        ends = {
            method: [
                sign * records[key]["end"] for seed in seeds if (key := f"{name}|{method}|{seed}") in records
            ]
            for method in METHODS
        }
        medians = {method: statistics.median(found) for method, found in ends.items() if found}
        if DEFAULT not in medians:
            continue
        first = min(medians.values())
        start = sign * records[f"{name}|{DEFAULT}|{seeds[0]}"]["curve"][0][1]
        near += medians[DEFAULT] <= first + 0.05 * abs(first)
        last += medians[DEFAULT] == max(medians.values())
        lost += sum(end > 0.5 * (start + first) for end in ends[DEFAULT])
        print(f"{name}, {task.x0.size:,} weights, {task.budget:,} evaluations, first {sign * start:.3g}")
        for method, found in ends.items():
            listed = ", ".join(f"{sign * end:.3g}" for end in sorted(found))
            print(f"    {method:10} {sign * medians.get(method, math.nan):8.4g}   ({listed})")
    print(f"The default is first or within 5 % in {near}, last in {last}; seeds lost: {lost}")


def main() -> None:
    """Run what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tasks", default=";".join(TASKS), help="names, separated by ;")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--seeds", default="1-5")
    parser.add_argument("--records", type=Path, default=RECORDS)
    parser.add_argument("--table", action="store_true", help="only print what is recorded")
    options = parser.parse_args()
    first, last = map(int, options.seeds.split("-"))
    seeds = range(first, last + 1)
    if not options.table:
        run(options.records, options.tasks.split(";"), options.methods.split(","), seeds)
    table(read(options.records), seeds)


if __name__ == "__main__":
    main()
