"""Reproducible conditions: Hypothesis draws the same examples in every run and sets no deadlines."""

from __future__ import annotations

import signal

from hypothesis import settings

signal.signal(signal.SIGINT, signal.default_int_handler)  # shells make background jobs ignore Ctrl-C

settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")
