"""A warning for saturated runs: the values no longer differ, but the mean moves ever further away.

Large weights saturate the units of a network, and larger ones then change nothing. A search that is led there
stays there, and looks as if it had converged.
"""

from __future__ import annotations

import math
import warnings

import numpy as np

from r1nes.optimizer import Optimizer

COLLAPSED = 1e-2  # spread of a generation's values that counts as collapsed, relative to the largest one
WIDE = 0.5  # σ that has not shrunk, relative to the largest one
FAR = 10.0  # length of the mean, in units of |x0| + σ₀√d
PATIENCE = 20  # generations in a row
GROWN = 1.05  # factor by which the mean becomes longer within these


class Saturation:
    """Watches a run, and warns at most once."""

    def __init__(self) -> None:
        """Begin without any generation."""
        self._spread = self._sigma = 0.0  # the largest so far
        self._generations = 0  # in a row that were collapsed but wide
        self._length = 0.0  # of the mean in the first of them
        self._warned = False

    def observe(self, optimizer: Optimizer) -> None:
        """Look at the last completed generation."""
        ranked, sigma = optimizer.ranked, optimizer.strategy.sigma
        spread = float(ranked[-1]) - float(ranked[0])  # NumPy's numbers would warn of infinities
        if not math.isfinite(spread):
            return
        self._spread, self._sigma = max(self._spread, spread), max(self._sigma, sigma)
        collapsed = spread <= COLLAPSED * self._spread and sigma >= WIDE * self._sigma
        self._generations = self._generations + 1 if collapsed else 0
        if self._warned or self._generations % PATIENCE != 1:
            return
        settings, center, before = optimizer.settings, optimizer.center, self._length
        self._length = length = math.sqrt(float(center.dot(center)))
        first = float(np.linalg.norm(settings.start)) + settings.sigma * math.sqrt(settings.dim)
        if self._generations > 1 and length > max(FAR * first, GROWN * before):
            self._warned = True
            warnings.warn(
                f"the values of a generation hardly differ any more, but the mean has moved to a length of "
                f"{length:.3g}, from {first:.3g}: large variables seem to saturate the objective. Set bounds "
                "or weight_decay, or use a smaller sigma0",
                RuntimeWarning,
                stacklevel=2,
            )
