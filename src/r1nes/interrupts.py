"""Ctrl-C at any moment, without anything left half-done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self


class Interrupts:
    """While entered, Ctrl-C takes effect within ``allowed`` only; elsewhere it waits for that.

    What it does is up to the handler that was there before: Python's own raises KeyboardInterrupt. Threads
    other than the main one get no signals.
    """

    def __init__(self) -> None:
        """Nothing has happened yet."""
        self._allowed = False
        self._waiting: tuple[int, FrameType | None] | None = None
        self._previous: Any = None

    def __enter__(self) -> Self:
        """Take over from the handler that is there."""
        previous = signal.getsignal(signal.SIGINT)
        if callable(previous) and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._handle)
            self._previous = previous
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
            if self._waiting is not None:
                self._deliver(*self._waiting)
            yield
        finally:
            self._allowed = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._allowed:
            self._deliver(number, frame)
        else:
            self._waiting = number, frame

    def _deliver(self, number: int, frame: FrameType | None) -> None:
        self._waiting = None
        try:
            self._previous(number, frame)
        except KeyboardInterrupt:
            self._allowed = False  # a second one must not disturb what the first one has set off
            self._waiting = number, None  # and one that the objective caught for itself is for us too
            raise
