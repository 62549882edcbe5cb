"""RkNES: the strategy, its step, and the kernels of its compiled form."""

from r1nes.strategies.rank_k.strategy import RkNES

__all__ = ["RkNES"]
