"""End-to-end latency of the canary."""
