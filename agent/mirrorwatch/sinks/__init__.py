"""One file for each place that reports go to."""
