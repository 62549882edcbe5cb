"""Run methods on functions: the grid, its records, and the methods of other packages."""
