"""The checkpoint file of a run of ``minimize``: its content, and when it is written."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from r1nes.storage import checkpoint

PARTS = {"fun", "search", "history"}


class RunFile:
    """Keeps the checkpoint of a run up to date, at most ``every`` seconds and one generation old."""

    def __init__(
        self, path: str | os.PathLike[str], every: float, snapshot: Callable[[], dict[str, Any]]
    ) -> None:
        """Write nothing yet; ``snapshot`` returns the run as plain values and arrays."""
        self._path, self._every, self._snapshot = Path(path), every, snapshot
        self._saved = time.monotonic()

    def save_if_due(self) -> None:
        """Write the file if ``every`` seconds have passed; call this after each generation."""
        if time.monotonic() - self._saved >= self._every:
            self.save()
            self._saved = time.monotonic()

    def save(self) -> None:
        """Write the current state to the file."""
        checkpoint.write(self._path, self._snapshot())


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the run stored in a file."""
    tree = checkpoint.read(path)
    if not (isinstance(tree, dict) and tree.keys() == PARTS):
        raise ValueError(f"{os.fspath(path)} holds no run of minimize")
    return tree


def kept_settings(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the settings of the run stored in a file, as plain values."""
    settings: dict[str, Any] = read(path)["search"]["settings"]
    return settings
