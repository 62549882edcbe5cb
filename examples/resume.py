"""A run that is killed and goes on: eight cities' worth of antennas, placed to cover a country.

The first process is killed, as a job is that exceeds its time; the same call then goes on from its
checkpoint and ends where a run ends that nobody disturbed, to the last bit.
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
    """Where they live: around a few centres."""
    rng = np.random.default_rng(2)
    centres = rng.uniform(-1, 1, (12, 2))
    return np.concatenate([centre + rng.normal(0, 0.12, (10, 2)) for centre in centres])


PEOPLE = people()


def distance(places):
    """The mean squared distance to the nearest antenna."""
    away = PEOPLE[:, None] - places.reshape(ANTENNAS, 2)
    return float(np.mean(np.min(np.sum(away**2, axis=2), axis=1)))


def search(checkpoint=None):
    """The call; with a checkpoint it goes on from it if there is one."""
    bounds = [(-1.5, 1.5)] * (2 * ANTENNAS)
    x0 = np.random.default_rng(3).uniform(-1, 1, 2 * ANTENNAS)
    return r1nes.minimize(
        distance, x0, bounds=bounds, max_evals=4000, rng=1, checkpoint=checkpoint, checkpoint_every=0.1
    )


def main():
    """Killed, resumed, compared."""
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Path(folder) / "antennas.r1nes"
        process = multiprocessing.get_context("spawn").Process(target=search, args=(checkpoint,))
        process.start()
        while process.is_alive() and not checkpoint.exists():
            time.sleep(0.01)
        process.join(0.3)
        process.kill()
        process.join()
        print("killed" if process.exitcode == -signal.SIGKILL else "too fast to be killed")
        resumed = search(checkpoint)
    undisturbed = search()
    print(f"mean squared distance {resumed.fun:.4f} after {resumed.nfev} evaluations")
    print("the same as undisturbed:", np.array_equal(resumed.x, undisturbed.x))
    assert np.array_equal(resumed.x, undisturbed.x)


if __name__ == "__main__":
    main()
