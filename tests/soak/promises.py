"""What must hold after a run, disturbed or not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from r1nes.arrays import Array
from soak.configurations import Configuration
from support.runs import same

WORKERS = 2


class BrokenError(Exception):
    """A promise that does not hold."""


def promise(holds: object, text: str) -> None:
    """Raise BrokenError with ``text`` unless it ``holds``."""
    if not holds:
        raise BrokenError(text)


def check_points(setup: Configuration, calls: Array) -> None:
    """Every point that was evaluated is finite and within the bounds."""
    points = calls[:, 1:]
    promise(np.isfinite(points).all(), "a point is not finite")
    if setup.options["bounds"] is None:
        return
    dtype = setup.options["x0"].dtype
    for points_of_one, (low, high) in zip(points.T, setup.options["bounds"], strict=True):
        promise(low is None or (points_of_one >= _rounded(low, dtype)).all(), f"a point is below {low}")
        promise(high is None or (points_of_one <= _rounded(high, dtype)).all(), f"a point is above {high}")


def _rounded(bound: float, dtype: Any) -> float:
    return float(np.asarray(bound, dtype))


def check_whole(setup: Configuration, outcome: Any, calls: Array) -> None:
    """The outcome of an undisturbed run agrees with all of its ``calls``."""
    check_points(setup, calls)
    values = calls[:, 0]
    if isinstance(outcome, Exception):
        promise(isinstance(outcome, FloatingPointError), f"it raised {outcome!r}")
        promise(np.isnan(values[-20:]).all(), "it ended for lack of values, but had some")
        return
    spare = WORKERS - 1 if setup.options["asynchronous"] else 0  # under way when the run ended
    promise(outcome.nfev <= len(calls) <= outcome.nfev + spare, f"{outcome.nfev=}, but {len(calls)} calls")
    promise(outcome.nfev <= setup.options["max_evals"], f"{outcome.nfev=} exceeds max_evals")
    check_best(outcome, calls)
    if not setup.options["asynchronous"]:
        promise(outcome.nan_count == np.isnan(values).sum(), f"{outcome.nan_count=}")
        least, most = _least(values), _least(values[_first_calls(calls)])
        promise(least <= outcome.fun <= most, f"{outcome.fun=}, but the least value is {most}")
        promise(len(outcome.history["nfev"]) == outcome.nit, "the history lacks generations")
    target = setup.options.get("ftarget")
    if target is not None:
        promise(outcome.success == (outcome.fun <= target), f"{outcome.success=} with {outcome.fun=}")
    promise(outcome.stop, "it ended without a reason")


def _least(values: Array) -> float:
    return float(np.nanmin(values)) if not np.isnan(values).all() else np.inf


def _first_calls(calls: Array) -> NDArray[np.intp]:
    """The first call of each point: a point that is evaluated again to measure the noise is no better."""
    return np.unique(calls[:, 1:], axis=0, return_index=True)[1]


def check_best(outcome: Any, calls: Array) -> None:
    """The point x was evaluated, and gave fun."""
    if outcome.nfev > 0 and outcome.fun < np.inf:
        gave = calls[(calls[:, 1:] == np.asarray(outcome.x, np.float64)).all(axis=1), 0]
        promise((gave == outcome.fun).any(), f"x gave {gave}, not {outcome.fun=}")


def check_same(outcome: Any, undisturbed: Any) -> None:
    """A run that was disturbed and resumed equals the undisturbed one, bit for bit."""
    if isinstance(undisturbed, Exception):  # for lack of values; the same call then tries further generations
        if not isinstance(outcome, Exception) and np.isnan(outcome.history["min"][-1]):
            return
        alike = type(outcome) is type(undisturbed) and str(outcome) == str(undisturbed)
        promise(alike, f"it ended as {outcome!r}, undisturbed as {undisturbed!r}")
        return
    if isinstance(outcome, Exception):
        raise BrokenError(f"it raised {outcome!r}") from outcome
    try:
        same(outcome, undisturbed)
    except AssertionError as error:
        raise BrokenError(f"it differs from the undisturbed run in {error or 'x'}") from error
    promise(outcome.mean.tobytes() == undisturbed.mean.tobytes(), "it differs in the mean")
