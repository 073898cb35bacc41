"""Alerts: one table, from which rules for every system are made."""
