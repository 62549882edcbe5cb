"""Benchmarks: test problems, comparisons with other packages, COCO, and the R1-NES paper's experiments."""

from r1nes.bench.functions.problems import problem

__all__ = ["problem"]
