"""The R1-NES paper: its experiments, figures and claims."""
