"""Kill a run and resume it: place eight antennas to cover a country.

The first process is killed, as a job scheduler kills a job at its time limit. The same call then resumes
from the checkpoint and returns exactly the result of an uninterrupted run.
"""

import multiprocessing
import signal
import tempfile
import time
from pathlib import Path

import numpy as np

import r1nes

ANTENNAS = 8


def people():
    """Sample the homes of 120 people, clustered around 12 centres."""
    rng = np.random.default_rng(2)
    centres = rng.uniform(-1, 1, (12, 2))
    return np.concatenate([centre + rng.normal(0, 0.12, (10, 2)) for centre in centres])


PEOPLE = people()


def distance(places):
    """The mean squared distance of the people to their nearest antenna."""
    away = PEOPLE[:, None] - places.reshape(ANTENNAS, 2)
    return float(np.mean(np.min(np.sum(away**2, axis=2), axis=1)))


def search(checkpoint=None):
    """Place the antennas, resuming from the checkpoint if it exists."""
    bounds = [(-1.5, 1.5)] * (2 * ANTENNAS)
    x0 = np.random.default_rng(3).uniform(-1, 1, 2 * ANTENNAS)
    return r1nes.minimize(
        distance, x0, bounds=bounds, max_evals=4000, rng=1, checkpoint=checkpoint, checkpoint_every=0.1
    )


def main():
    """Kill a run, resume it, and compare it with an uninterrupted one."""
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Path(folder) / "antennas.r1nes"
        process = multiprocessing.get_context("spawn").Process(target=search, args=(checkpoint,))
        process.start()
        while process.is_alive() and not checkpoint.exists():
            time.sleep(0.01)
        process.join(0.3)
        process.kill()
        process.join()
        print("killed" if process.exitcode == -signal.SIGKILL else "finished before it could be killed")
        resumed = search(checkpoint)
    uninterrupted = search()
    print(f"mean squared distance {resumed.fun:.4f} after {resumed.nfev} evaluations")
    print("same as uninterrupted:", np.array_equal(resumed.x, uninterrupted.x))
    assert np.array_equal(resumed.x, uninterrupted.x)


if __name__ == "__main__":
    main()
