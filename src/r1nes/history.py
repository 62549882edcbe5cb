"""The history of a run: a few numbers per generation."""

from __future__ import annotations

import math
from array import array

import numpy as np
from numpy.typing import NDArray

from r1nes.arrays import host
from r1nes.optimizer import Optimizer
from r1nes.ranking import median


class Recorder:
    """Keeps one number of 8 bytes per column and generation.

    The columns are ``restart`` (0 in the first run), ``nfev``, ``best`` (so far), ``min``, ``median`` and
    ``max`` of the generation's values that are not NaN, ``ties`` (values equal to another one), ``noise``
    (its share in the variance of the values), ``center`` (the length of the mean), ``sigma``, and the scalars
    of the strategy, such as RkNES's ``rate``. For two free variables the distribution is kept, too:
    ``mean1``, ``mean2``, ``var1``, ``cov12`` and ``var2``.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._names: list[str] = []
        self._numbers = array("d")  # row after row

    def record(self, optimizer: Optimizer) -> None:
        """Record the last completed generation of ``optimizer``."""
        row = self._row(optimizer)
        self._names = self._names or list(row)
        if list(row) != self._names:  # those of a file
            row = {name: row.get(name, math.nan) for name in self._names}
        self._numbers.extend(row.values())

    @staticmethod
    def _row(optimizer: Optimizer) -> dict[str, float]:
        counts, strategy, center = optimizer.counts, optimizer.strategy, optimizer.center
        ranked = counts.ranked.tolist()
        n = len(ranked)
        if math.isnan(ranked[-1]):
            n -= int(np.isnan(ranked).sum())
        row = {
            "restart": counts.restart,
            "nfev": counts.nfev,
            "best": counts.best,
            "min": ranked[0],
            "median": median(ranked[:n]) if n else math.nan,
            "max": ranked[n - 1],
            "ties": n - len(set(ranked[:n])),
            "noise": optimizer.noise_share,
            "center": math.sqrt(float(center.dot(center))),
            **strategy.scalars(),
        }
        if optimizer.settings.start.size == optimizer.settings.dim == 2:
            scales = optimizer.settings.scales
            with np.errstate(over="ignore", invalid="ignore"):  # infinite beyond all numbers
                covariance = strategy.cov() * (1 if scales is None else np.outer(scales, scales))
            (var1, cov12), (_, var2) = covariance
            mean1, mean2 = host(center)
            row |= {"mean1": mean1, "mean2": mean2, "var1": var1, "cov12": cov12, "var2": var2}
        return row

    def restore(self, columns: dict[str, NDArray[np.float64]]) -> None:
        """Restore the history that ``columns`` returned."""
        for name, column in columns.items():
            if not (isinstance(column, np.ndarray) and column.dtype == np.float64 and column.ndim == 1):
                raise TypeError(f"the column {name!r} of the history must be a vector of float64")
        self._names = list(columns)
        self._numbers = array("d", np.array(list(columns.values())).T.tobytes())

    def columns(self) -> dict[str, NDArray[np.float64]]:
        """Return everything recorded, an array per column."""
        rows = np.array(self._numbers).reshape(-1, max(1, len(self._names)))
        return {name: rows[:, i].copy() for i, name in enumerate(self._names)}
