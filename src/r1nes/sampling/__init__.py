"""Reproducible noise, keyed by seed, generation and sample."""
