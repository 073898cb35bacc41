"""Monitoring and canary agent for Kafka replication between two sites."""

__all__ = ["__version__"]

__version__ = "0.1.0"
