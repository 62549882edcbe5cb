"""The errors of evaluation, which separate failures of the user's function from all others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from r1nes.arrays import Array


class ObjectiveError(Exception):
    """The user's function raised ``cause`` or returned something that is not a number.

    It is internal: ``minimize`` raises ``cause`` in its place.
    """

    def __init__(self, cause: Exception) -> None:
        """Wrap ``cause``, the exception that users see."""
        super().__init__(f"fun failed with {cause!r}")
        self.cause = cause


class EvaluationsLost(RuntimeError):  # noqa: N818 - the name states what happened
    """Evaluations got no value in any of their attempts, because of their workers or the connection."""


class TimeIsUp(Exception):  # noqa: N818 - the name states what happened
    """The time ended within a generation, of which some ``rows`` have ``values``. It is internal."""

    def __init__(self, rows: NDArray[np.intp], values: Array) -> None:
        """Keep what was evaluated in time."""
        super().__init__(f"{len(rows)} points were evaluated in time")
        self.rows, self.values = rows, values
