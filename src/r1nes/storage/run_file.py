"""The checkpoint of a search: when to write it, and what the same call makes of it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from r1nes.arguments import at_least_zero
from r1nes.history import Recorder
from r1nes.restarts import Search
from r1nes.settings import to_plain
from r1nes.storage import checkpoint

LIMITS = ("max_evals", "max_seconds")  # may change: they say how far to go, not which way


class Saver:
    """Keeps the checkpoint of one search at ``path``, at most ``every`` seconds old, generations aside."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        every: float,
        search: Search,
        recorder: Recorder,
        fun: dict[str, Any],
    ) -> None:
        """Goes on from the file if there is one, and otherwise writes the first."""
        self._path, self._every = Path(path), at_least_zero("checkpoint_every", every)
        self._search, self._recorder, self._fun = search, recorder, fun
        if self._path.exists():
            self._resume()
        else:
            self.save()
        self._saved = time.monotonic()

    def save_if_due(self) -> None:
        """To be called after each generation."""
        if time.monotonic() - self._saved >= self._every:
            self.save()
            self._saved = time.monotonic()

    def save(self) -> None:
        """Replace the file by one of the present state."""
        tree = {"fun": self._fun, "search": self._search.state(), "history": self._recorder.columns()}
        checkpoint.write(self._path, tree)

    def _resume(self) -> None:
        stored = read(self._path)
        search = self._search
        given = {**to_plain(search.settings), "restarts": f"{search.kind}:{search.doublings}"}
        kept = {**stored["search"]["settings"], "restarts": stored["search"]["restarts"]}
        for name in {**kept, **given}:
            if name not in LIMITS and not _same(given.get(name), kept.get(name)):
                raise ValueError(
                    f"{name} must be as in the checkpoint {self._path}, {_brief(kept.get(name))}, "
                    f"got {_brief(given.get(name))}; another file, or none, starts another run"
                )
        search.restore(stored["search"])
        self._recorder.restore(stored["history"])


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The checkpoint of a search."""
    tree = checkpoint.read(path)
    if not (isinstance(tree, dict) and tree.keys() == {"fun", "search", "history"}):
        raise ValueError(f"{os.fspath(path)} holds no run of minimize")
    return tree


def seed_in(path: str | os.PathLike[str]) -> np.random.SeedSequence:
    """The seed of the search whose checkpoint this is."""
    return np.random.SeedSequence(**read(path)["search"]["settings"]["rng"])


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.asarray(one).dtype == np.asarray(other).dtype and np.array_equal(one, other)
    return bool(one == other)


def _brief(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.size} numbers ({np.array2string(value, threshold=6, edgeitems=2)})"
    return repr(value)
