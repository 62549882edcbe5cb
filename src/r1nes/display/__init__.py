"""Progress, plots and the HTML report of a run."""
