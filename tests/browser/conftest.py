"""Ignore the browser tests where Playwright is missing; ``make test-browser`` installs it."""

from __future__ import annotations

import importlib.util

collect_ignore = [] if importlib.util.find_spec("playwright") else ["test_pages.py"]
