"""What the records say: statistics, comparisons, targets."""
