"""Replication lag in records and seconds, and the time until loss."""
