"""The checkpoint file of a run of ``minimize``: its content, and when it is written."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from r1nes.storage import checkpoint

PARTS = {"fun", "search", "history"}


class RunFile:
    """Keeps the checkpoint of a run up to date, at most ``every`` seconds and one generation old.

    A checkpoint that cannot be written, because the disk is full or has vanished, costs a warning and not the
    run: the file keeps its old content, and the next save tries again.
    """

    def __init__(
        self, path: str | os.PathLike[str], every: float, snapshot: Callable[[], dict[str, Any]]
    ) -> None:
        """Write nothing yet; ``snapshot`` returns the run as plain values and arrays."""
        self._path, self._every, self._snapshot = Path(path), every, snapshot
        self._saved = time.monotonic()

    def save(self) -> None:
        """Write the current state to the file, or raise OSError."""
        checkpoint.write(self._path, self._snapshot())

    def save_if_due(self) -> None:
        """Write the file if ``every`` seconds have passed; call this after each generation."""
        if time.monotonic() - self._saved >= self._every:
            self._save_or_warn()
            self._saved = time.monotonic()

    def save_at_end(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Write the file when the run has ended or failed with ``error``, which no other error may hide."""
        try:
            self._save_or_warn()
        except RuntimeWarning:  # raised where warnings are errors
            if error is None:
                raise

    def _save_or_warn(self) -> None:
        try:
            self.save()
        except (OSError, MemoryError) as error:
            warnings.warn(
                f"the checkpoint {self._path} could not be written ({error or 'no memory'}); the file, if "
                "there is one, holds the run up to an earlier generation",
                RuntimeWarning,
                stacklevel=2,
            )


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the run stored in a file."""
    tree = checkpoint.read(path)
    if not (isinstance(tree, dict) and tree.keys() == PARTS):
        raise ValueError(f"{os.fspath(path)} holds no run of minimize")
    return tree


@contextmanager
def restoring(path: str | os.PathLike[str]) -> Iterator[None]:
    """Report content that no run has written as a ValueError that names the file ``path``."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ArithmeticError, ValueError) as error:
        name = os.fspath(path)
        if isinstance(error, ValueError) and name in str(error):
            raise
        raise ValueError(f"{name} holds no run of minimize that can be continued: {error!r}") from None
