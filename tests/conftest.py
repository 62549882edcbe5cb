"""The same examples in every run, however slow the machine: what fails today failed yesterday."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")
