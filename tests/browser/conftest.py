"""Without Playwright there is nothing to collect here; ``make test-browser`` installs it."""

from __future__ import annotations

import importlib.util

collect_ignore = [] if importlib.util.find_spec("playwright") else ["test_pages.py"]
