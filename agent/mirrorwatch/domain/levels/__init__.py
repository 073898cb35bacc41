"""Service levels: which share of probes and records was as it should be."""
