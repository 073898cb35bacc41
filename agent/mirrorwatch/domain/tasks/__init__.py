"""Connectors and tasks of the mirror."""
