"""Evaluation of the points of a run: in this process, in other processes, or on a cluster."""
