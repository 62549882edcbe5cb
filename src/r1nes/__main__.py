"""``python -m r1nes``: the command line."""

from __future__ import annotations

import sys

from r1nes.cli import main

if __name__ == "__main__":
    sys.exit(main())
