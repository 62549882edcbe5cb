"""The errors of evaluation, which tell failures of the user's function apart from all others."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class ObjectiveError(Exception):
    """The user's function raised ``cause`` or returned something that is not a number.

    It travels within the package only: ``raises_cause`` replaces it by ``cause`` before it reaches users.
    """

    def __init__(self, cause: Exception) -> None:
        """Wrap ``cause``, the exception that users get to see."""
        super().__init__(f"fun failed with {cause!r}")
        self.cause = cause


class EvaluationsLost(RuntimeError):  # noqa: N818 - the name states what happened
    """Evaluations got no value in any of their attempts, because of their workers or the connection."""


def raises_cause(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate ``function`` to raise the user's own exception in place of ``ObjectiveError``.

    ``inspect.unwrap`` returns the function without this, for callers that decide by type.
    """

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except ObjectiveError as error:
            cause = error.cause
        # Raised outside of the except clause, so that its __context__ stays as it is.
        raise cause

    return wrapper
