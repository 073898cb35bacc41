"""Alerts: one table, from which rules for every system are made."""

from .alerts import AGENT_ALERTS, Alert, Severity, check_alerts

__all__ = ["ALERTS", "Alert", "Severity"]


ALERTS = (*check_alerts(), *AGENT_ALERTS)
"""Every alert there is."""
