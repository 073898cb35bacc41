"""The audit's Spark job: counts, checksums and what they do not explain."""
