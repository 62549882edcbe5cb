"""The same conditions in every run, however slow the machine: what fails today failed yesterday."""

from __future__ import annotations

import signal

from hypothesis import settings

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has its background jobs ignore Ctrl-C

settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")
