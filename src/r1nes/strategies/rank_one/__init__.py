"""R1-NES: the strategy, and its equations."""

from r1nes.strategies.rank_one.strategy import R1NES

__all__ = ["R1NES"]
