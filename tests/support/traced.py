"""A plugin for pytest under coverage: hides numba, and lets workers write their data while they live.

Compiled code is not traced. Coverage writes its data when a process ends, but the worker processes of a run
are killed.
"""

from __future__ import annotations

import os
import sys
import threading
import time

SECONDS = 0.2  # between two writes


def pytest_configure() -> None:
    sys.modules["numba"] = None  # type: ignore[assignment]
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_begin_to_write)


def _begin_to_write() -> None:
    threading.Thread(target=_keep_writing, daemon=True).start()


def _keep_writing() -> None:
    import coverage

    while True:
        time.sleep(SECONDS)
        if (current := coverage.Coverage.current()) is not None:
            current.save()
