"""Checkpoints: the file format, and the file of a run."""
