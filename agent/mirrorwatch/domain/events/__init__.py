"""Events: one for each thing that happened."""
