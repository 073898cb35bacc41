"""Alerts: one table, from which rules for every system are made."""

from .agent import AGENT_ALERTS
from .alert import Alert, Severity
from .checks import check_alerts

__all__ = ["ALERTS", "Alert", "Severity"]

ALERTS = (*check_alerts(), *AGENT_ALERTS)
"""Every alert there is."""
