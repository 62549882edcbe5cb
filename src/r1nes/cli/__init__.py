"""The command line: ``r1nes run``, ``resume``, ``report``, ``paper``, ``bench`` and ``coco``."""

from r1nes.cli.main import main

__all__ = ["main"]
