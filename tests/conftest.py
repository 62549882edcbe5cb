"""Reproducible conditions: Hypothesis draws the same examples in every run and sets no deadlines.

``HYPOTHESIS=thorough`` makes it draw many more, and others in every run.
"""

from __future__ import annotations

import os
import signal

from hypothesis import settings

signal.signal(signal.SIGINT, signal.default_int_handler)  # shells make background jobs ignore Ctrl-C

settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("thorough", deadline=None, max_examples=5000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS", "steady"))
