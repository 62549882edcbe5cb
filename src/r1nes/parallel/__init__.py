"""Evaluation of a generation, in this process or in many others."""
