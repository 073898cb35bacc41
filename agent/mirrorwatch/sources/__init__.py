"""Sources of observations: one file for each kind of fact."""
