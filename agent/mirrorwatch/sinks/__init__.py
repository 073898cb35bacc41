"""One file for each destination of reports."""
