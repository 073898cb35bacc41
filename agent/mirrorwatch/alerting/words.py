"""What every system tells alike: addresses, and what an alert is about."""

from .alert import Above, Alert, Grows, Judged, Old, Silent, Vanished

__all__ = ["PAGE", "SERVICE", "page_of", "runbook_of", "subject_of"]

PAGE = "http://mirrorwatch:8080"
"""Address of the agent's page in what is shipped; each site has its own."""

SERVICE = "mirrorwatch"
"""Tells its alerts from those of others."""


def page_of(page: str) -> str:
    """Return the address of the page that says why and since when."""
    return f"{page}/"


def runbook_of(alert: Alert, page: str) -> str:
    """Return the address of what to do about an alert."""
    return f"{page}/runbook#{alert.section}"


def subject_of(alert: Alert) -> str | None:
    """Return the label that says what an alert is about, if one does."""
    match alert.when:
        case Judged() | Vanished():
            return "flow"
        case Above(metric=metric) | Grows(metric=metric):
            (label,) = metric.labels
            return label
        case Silent() | Old():
            return None
