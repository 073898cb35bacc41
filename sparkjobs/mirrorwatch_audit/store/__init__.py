"""Store of runs: their plans, digests and carries."""
