"""Handling of Ctrl-C at any time, without leaving a step half done."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self


class Interrupts:
    """Restricts Ctrl-C, while entered, to ``allowed`` blocks; elsewhere it is deferred to the next of them.

    The previous handler decides what Ctrl-C does: Python's own raises KeyboardInterrupt. Outside of the main
    thread, which alone receives signals, this has no effect.
    """

    def __init__(self) -> None:
        """Start with interrupts deferred and none pending."""
        self.allowed = _AllowedBlock(
            self
        )  # a context in which Ctrl-C takes effect at once, also a pending one
        self._allowed = False
        self._pending: tuple[int, FrameType | None] | None = None
        self._previous: Any = None

    def __enter__(self) -> Self:
        """Install the handler."""
        previous = signal.getsignal(signal.SIGINT)
        if callable(previous) and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._handle)
            self._previous = previous
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Restore the previous handler."""
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    def allow(self) -> None:
        """Let interrupts take effect from now on, a pending one at once."""
        self._allowed = True
        if self._pending is not None:
            try:
                self._deliver(*self._pending)
            except BaseException:
                self._allowed = False
                raise

    def forbid(self) -> None:
        """Defer interrupts from now on."""
        self._allowed = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._allowed:
            self._deliver(number, frame)
        else:
            self._pending = number, frame

    def _deliver(self, number: int, frame: FrameType | None) -> None:
        self._pending = None
        try:
            self._previous(number, frame)
        except KeyboardInterrupt:
            self._allowed = False  # a second Ctrl-C must not disturb the handling of the first
            self._pending = number, None  # in case the objective catches this one
            raise


class _AllowedBlock:
    """Allows interrupts while entered; a class, because entering a generator takes four times as long."""

    def __init__(self, interrupts: Interrupts) -> None:
        self._interrupts = interrupts

    def __enter__(self) -> None:
        self._interrupts.allow()

    def __exit__(self, *_: object) -> None:
        self._interrupts.forbid()
