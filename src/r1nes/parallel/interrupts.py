"""Handling of Ctrl-C and SIGTERM at any time, without leaving a step half done."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self


class Interrupts:
    """Restricts signals, while entered, to ``allowed`` blocks; elsewhere it defers them to the next block.

    The previous handler decides what a signal does: Python's own raises KeyboardInterrupt on Ctrl-C. By
    default SIGTERM ends the process at once. If the run has something to save, SIGTERM raises
    KeyboardInterrupt as well, and ``finish`` ends the process afterwards. Outside of the main thread, which
    alone receives signals, this has no effect.

    Args:
        has_to_save: Whether SIGTERM must not end the process at once.
    """

    def __init__(self, *, has_to_save: bool = False) -> None:
        """Start with interrupts deferred and none pending."""
        self.allowed = _AllowedBlock(self)  # a context in which a signal takes effect at once, pending or new
        self._allowed = False
        self._pending: tuple[int, FrameType | None] | None = None
        self._previous: dict[int, Any] = {}
        self._has_to_save = has_to_save
        self._owes_sigterm = False
        self._process = os.getpid()

    def __enter__(self) -> Self:
        """Install the handlers."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                previous = signal.getsignal(number)
                is_saved = number == signal.SIGTERM and previous == signal.SIG_DFL and self._has_to_save
                if callable(previous) or is_saved:
                    signal.signal(number, self._handle)
                    self._previous[number] = previous
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Restore the previous handlers."""
        for number, previous in self._previous.items():
            signal.signal(number, previous)

    def finish(self) -> None:
        """Let a SIGTERM that was held back take effect; call this when everything is saved."""
        if self._owes_sigterm:
            signal.raise_signal(signal.SIGTERM)

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
        if number == signal.SIGTERM:
            if os.getpid() != self._process:  # a worker that was forked since has inherited this handler
                signal.signal(number, self._previous[number])
                signal.raise_signal(number)
                return
            self._owes_sigterm = True
        if self._allowed:
            self._deliver(number, frame)
        else:
            self._pending = number, frame

    def _deliver(self, number: int, frame: FrameType | None) -> None:
        self._pending = None
        previous = self._previous[number]
        try:
            if not callable(previous):
                raise KeyboardInterrupt
            self._owes_sigterm &= number != signal.SIGTERM
            previous(number, frame)
        except KeyboardInterrupt:
            self._allowed = False  # a second signal must not disturb the handling of the first
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
