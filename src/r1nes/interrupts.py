"""Ctrl-C at any moment, without anything left half-done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self


class Interrupts:
    """While entered, KeyboardInterrupt is raised within ``allowed`` only; elsewhere it waits for that.

    A handler of the user's own for Ctrl-C is left alone, and other threads than the main one get none.
    """

    def __init__(self) -> None:
        """Nothing has happened yet."""
        self._waiting = False
        self._allowed = False
        self._previous: Any = None

    def __enter__(self) -> Self:
        """Take over from Python's own handler."""
        in_main_thread = threading.current_thread() is threading.main_thread()
        if in_main_thread and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._previous = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Hand back to it."""
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Where an interrupt may come, or one that waited."""
        self._allowed = True
        try:
            if self._waiting:
                raise KeyboardInterrupt
            yield
        finally:
            self._allowed = False

    def _handle(self, _signal: int, _frame: FrameType | None) -> None:
        self._waiting = True
        if self._allowed:
            self._allowed = False  # a second one must not disturb what the first one has set off
            raise KeyboardInterrupt
