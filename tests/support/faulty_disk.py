"""A layer between the storage room and the operating system that fails at its n-th call."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from r1nes.storage import files

CALLS = ("open", "fchmod", "write", "fsync", "close", "replace", "unlink")


class PowerCut(BaseException):
    """The end of the process: from here on no call reaches the disk, those that tidy up included."""


class FaultyDisk:
    """Stands in for ``os`` in ``storage.files``; writes in pieces of a third of the content.

    Args:
        fails_at: The number of the call that fails, from 1; 0 for none.
        code: The error number of the failure, or None for a power cut.
    """

    def __init__(self, fails_at: int = 0, code: int | None = errno.ENOSPC) -> None:
        self.calls: list[str] = []
        self._fails_at, self._code = fails_at, code
        self._open: set[int] = set()  # descriptors of drafts and locks

    def __getattr__(self, name: str) -> Any:
        if name not in CALLS:
            return getattr(os, name)

        def call(*args: Any, **keywords: Any) -> Any:
            self.calls.append(name)
            number = len(self.calls)
            if self._code is None and 0 < self._fails_at <= number:
                while self._open:
                    os.close(self._open.pop())  # which unlocks them
                raise PowerCut
            if number == self._fails_at:
                if name == "close":
                    os.close(*args)  # the descriptor is gone all the same
                    self._open.discard(args[0])
                raise OSError(self._code, os.strerror(self._code or 0))
            if name == "write":
                descriptor, content = args
                return os.write(descriptor, content[: 1 + len(content) // 3])
            value = getattr(os, name)(*args, **keywords)
            if name == "open" and args[1] & os.O_CREAT:
                self._open.add(value)
            elif name == "close":
                self._open.discard(args[0])
            return value

        return call

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Have the storage room use this disk."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(files, "os", self)
            yield
