"""Announced work on a flow: verdicts go on, notices are held."""

from dataclasses import dataclass
from datetime import datetime

__all__ = ["Window"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """A stretch of time in which nobody is to be told of a flow."""

    flow: str
    """Name of the flow."""

    since: datetime
    """When it began (UTC)."""

    until: datetime
    """When notices are sent again (UTC)."""

    reason: str
    """What is done, in the words of who announced it."""

    def holds(self, at: datetime) -> bool:
        """Return whether notices are held at a time."""
        return self.since <= at < self.until
