"""Checkpoints: the file format, and saving and resuming runs."""
