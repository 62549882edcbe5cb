"""Analysis of recorded runs: statistics, comparisons, targets."""
