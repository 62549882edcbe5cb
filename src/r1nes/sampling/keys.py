"""The key of a generation: what its evaluations may share, such as a mini-batch or the seed of a simulator.

It follows from the seed of the run and the number of the generation alone, so a resumed run, another number
of workers or a replica on a cluster see the same keys.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

BRANCH = 2**32 - 2  # keeps these seeds apart from those of the samples and of restarts


class Key(NamedTuple):
    """Passed to ``fun`` as ``key`` if ``keyed`` is set; the same for all points of a generation."""

    generation: int  # counted from 1
    seed: int  # between 0 and 2³² − 1


def key_of(seed: np.random.SeedSequence, generation: int) -> Key:
    """Return the key of a ``generation`` of the run with that ``seed``."""
    branch = (*seed.spawn_key, BRANCH, generation)
    child = np.random.SeedSequence(seed.entropy, spawn_key=branch, pool_size=seed.pool_size)
    return Key(generation, int(child.generate_state(1)[0]))
