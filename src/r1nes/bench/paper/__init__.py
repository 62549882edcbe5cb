"""Reproduction of the R1-NES paper: its experiments, figures and claims."""
