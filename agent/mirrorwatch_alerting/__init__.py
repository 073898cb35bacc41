"""Alerts: one table, from which rules for every system are made."""

from .alerts import AGENT_ALERTS, Alert, check_alerts

__all__ = ["ALERTS", "Alert"]


ALERTS = (*check_alerts(), *AGENT_ALERTS)
"""Every alert there is."""
