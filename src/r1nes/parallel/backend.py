"""The interface of a parallel backend, and the policy for lost evaluations.

A backend takes points by ``submit`` and returns their outcomes by ``collect``: the values, or ``Lost`` if the
worker crashed, exceeded its timeout or was disconnected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from r1nes.arrays import Array
from r1nes.parallel.errors import EvaluationsLost
from r1nes.sampling.keys import Key

PAUSE = 0.1  # seconds before the second attempt, twice as long before the third, and so on
START = 600.0  # seconds that a process may take to start, before its first evaluation has a timeout
LONGEST_WAIT = 1e6  # seconds: operating systems refuse to wait for much longer
SILENCE = 5.0  # seconds without a value before a Dask scheduler is asked whether it has our tasks
RECONNECTION = 10.0  # seconds to wait for a Dask client that is reconnecting, before each attempt
REFRESH = 5.0  # seconds between two searches for new workers, with replicas
SNAPSHOT_EVERY = 100  # generations: the longest log that a new replica has to replay
KEPT_REPLICAS = 4  # per worker: replicas of older runs are dropped
UNKNOWN = 2**31  # the number of workers of an Executor that does not report it


@dataclass(frozen=True, slots=True)
class Lost:
    """The outcome of an evaluation that got no value although the objective did not fail."""

    reason: str


class Batch(NamedTuple):
    """Points to evaluate, and the key of their generation if ``fun`` takes it."""

    points: Array
    key: Key | None = None


Outcome = list[float] | Lost
Ticket = int
Work = TypeVar("Work", contravariant=True)  # a Batch, or for replicas row numbers


class Backend(Protocol[Work]):
    """Evaluates points in parallel."""

    @property
    def workers(self) -> int:
        """The number of tasks that it runs at a time, which may change."""
        ...

    def submit(self, work: Work) -> Ticket:
        """Start the evaluation of ``work`` in the background."""
        ...

    def collect(self) -> list[tuple[Ticket, Outcome]]:
        """Wait for tasks to end and return their outcomes; raise ObjectiveError if the objective failed."""
        ...

    def recover(self, losses: int) -> None:
        """Wait until work that was lost ``losses`` times can be submitted again."""
        ...

    def end(self) -> None:
        """Abandon all tasks."""
        ...


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Decides how often a lost evaluation is repeated, and what happens when every attempt was lost.

    A value depends on its point alone, so a lost evaluation can simply be repeated, up to ``retries`` times.
    In the first attempt, several points may share a task; from the second on, each point is a task of its
    own. ``Backend.recover`` pauses before each repetition. In a synchronous run the last attempt runs while
    nothing else does, so that only an evaluation that itself causes the loss can exhaust its attempts; an
    asynchronous run keeps its workers busy and isolates nothing. An evaluation without attempts left is
    scored as NaN with ``nan_on_failure``, else it ends the run with ``EvaluationsLost``.
    """

    nan_on_failure: bool
    retries: int

    def allows_attempt(self, losses: int) -> bool:
        """Return whether an evaluation that was lost ``losses`` times is tried again."""
        return losses <= self.retries

    def isolates_attempt(self, losses: int) -> bool:
        """Return whether the next attempt of an evaluation lost ``losses`` times has to run alone."""
        return 0 < losses == self.retries

    def final_values(self, lost: int, n: int, reason: str) -> Array:
        """Return NaN for ``lost`` out of ``n`` evaluations that have no attempts left, or raise."""
        if not self.nan_on_failure:
            often = f"{self.retries + 1} times in a row, most recently" if self.retries else "(retries=0)"
            raise EvaluationsLost(
                f"{lost} of {n} evaluations were lost {often} because {reason}; "
                "on_failure='worst' would rank them last instead"
            )
        return np.full(lost, np.nan)
