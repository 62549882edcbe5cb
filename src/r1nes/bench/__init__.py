"""The paper's experiments: problems, runs, figures, verdicts, and other packages side by side."""

from r1nes.bench.functions.problems import problem

__all__ = ["problem"]
