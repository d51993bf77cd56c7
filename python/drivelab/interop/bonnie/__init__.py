"""bonnie++: its results, a line of comma-separated values for each run."""
