"""Ctrl-C at any moment, without anything left half-done."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self


class Interrupts:
    """While entered, Ctrl-C takes effect within ``allowed`` only; elsewhere it waits for that.

    What it does is up to the handler that was there before: Python's own raises KeyboardInterrupt. Threads
    other than the main one get no signals.
    """

    def __init__(self) -> None:
        """Nothing has happened yet."""
        self._here = _Allowed(self)
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

    def allowed(self) -> _Allowed:
        """A context in which an interrupt may come, or one that waited."""
        return self._here

    def allow(self) -> None:
        """From now on; one that waited comes at once."""
        self._allowed = True
        if self._waiting is not None:
            try:
                self._deliver(*self._waiting)
            except BaseException:
                self._allowed = False
                raise

    def forbid(self) -> None:
        """From now on it waits."""
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


class _Allowed:
    """Allows interrupts while entered; no generator, since to enter one takes four times as long."""

    def __init__(self, interrupts: Interrupts) -> None:
        self._interrupts = interrupts

    def __enter__(self) -> None:
        self._interrupts.allow()

    def __exit__(self, *_: object) -> None:
        self._interrupts.forbid()
