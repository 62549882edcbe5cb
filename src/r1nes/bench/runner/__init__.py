"""Runs of methods on functions: the grid, its records, and methods of other packages."""
