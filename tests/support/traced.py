"""A plugin for pytest under coverage: hides numba, and lets workers write their data while they live.

Compiled code is not traced. Coverage writes its data when a process ends, but the worker processes of a run
are killed.
"""

from __future__ import annotations

import os
import sys
import threading
import time

import coverage

sys.modules["numba"] = None  # type: ignore[assignment]
SECONDS = 0.2  # between two writes


def _keep_writing() -> None:
    while True:
        time.sleep(SECONDS)
        if (current := coverage.Coverage.current()) is not None:
            current.save()


def _in_child() -> None:
    threading.Thread(target=_keep_writing, daemon=True).start()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
