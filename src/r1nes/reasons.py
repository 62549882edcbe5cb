"""The reasons to stop: their names, what they mean, and what to do next."""

from __future__ import annotations

import math

MESSAGES = {
    "ftarget": "The target value was reached",
    "xtol": "The largest standard deviation is below xtol",
    "ftol": "The best values of recent generations differ by at most ftol times the range of values seen",
    "flat": "Every point of many generations had the same value, although the search was widened",
    "max_evals": "Another generation would exceed max_evals",
    "max_seconds": "The time limit was reached",
    "stagnation": "The best values have hardly improved over many generations",
    "condition": "The covariance matrix is too ill-conditioned to continue",
    "sigma_overflow": "The step size grew without bound: the objective seems to have no minimum",
    "minus_inf": "The objective returned -inf, which no other point can beat",
    "callback": "callback raised StopIteration",
    "interrupt": "Ctrl-C or SIGTERM interrupted the run",
    "collapsed": "The steps shrank to nothing where the values were still changing: a sharp ridge, or noise",
    "noise": "The differences between values are mostly noise",
    "overflow": "The next step is too large to be computed",
}
ADVICE = {
    "ftarget": "",
    "xtol": "To guard against local minima, use restarts.",
    "ftol": "To guard against local minima, use restarts.",
    "flat": "Use a larger sigma0, or return values that tell points apart.",
    "max_evals": "Allow more evaluations; with a checkpoint, the same call continues the run.",
    "max_seconds": "Allow more time; with a checkpoint, the same call continues the run.",
    "stagnation": "Use restarts, a larger popsize or another x0.",
    "condition": "Rescale the variables to similar ranges, or use restarts.",
    "sigma_overflow": "Set bounds, or check the sign of the objective.",
    "minus_inf": "Return a finite number, or NaN where there is none.",
    "callback": "",
    "interrupt": "With a checkpoint, the same call continues the run.",
    "collapsed": "Use restarts or a larger popsize, or start again from x with a larger sigma0.",
    "noise": "Use mean, not x; set max_evals to continue, with rates that fall further.",
    "overflow": "Use smaller learning rates or utilities, or bring x0 and sigma0 nearer to 1.",
}
STATUS = {reason: code for code, reason in enumerate(MESSAGES)}
RUNNING = -1
CONVERGED = {"xtol", "ftol"}


def describe(stop: dict[str, float]) -> str:
    """Return the reasons in words, each with a piece of advice."""
    if not stop:
        return "The run has not ended."
    return " ".join(
        f"{MESSAGES[reason]} ({reason} = {value:.6g}). {ADVICE[reason]}".rstrip()
        for reason, value in stop.items()
    )


def succeeded(stop: dict[str, float], ftarget: float | None, best: float) -> bool:
    """Return whether the run reached its target or, without one, converged to a finite value."""
    if ftarget is not None:
        return "ftarget" in stop
    return best < math.inf and not CONVERGED.isdisjoint(stop)
