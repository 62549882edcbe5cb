"""The errors of evaluation, which separate failures of the user's function from all others."""

from __future__ import annotations


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
