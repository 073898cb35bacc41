"""What is known of the nightly audits of a flow."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from .night import Night

__all__ = ["Attempt", "AuditObservation", "Outcome"]

Outcome = Literal[
    "running", "finished", "failed", "timeout", "stopped", "abandoned"
]
"""How an attempt went. It is stopped in good order with the agent, and
abandoned when the agent was killed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """An audit that this agent started."""

    due: datetime
    """When it was due."""

    began_at: datetime
    """When it was started."""

    outcome: Outcome = "running"
    """How it went."""

    ended_at: datetime | None = None
    """When it was over, or was found to be; `None` while it runs."""

    error: str = ""
    """Why it failed, in one line of its own."""

    output: tuple[str, ...] = ()
    """The last lines that it logged."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditObservation:
    """The last audit of one flow, and what became of the next ones."""

    flow: str
    """Name of the flow."""

    at: datetime
    """When the folder of the results was last looked into."""

    since: datetime
    """When the agent was first asked to watch the audits of the flow."""

    night: Night | None = None
    """The last audit that came to its end, whoever started it."""

    attempt: Attempt | None = None
    """The last one that this agent started."""

    overdue: datetime | None = None
    """When the newest audit was due that should be over by now, with the
    grace that it has; `None` if the agent did not watch then."""

    next_due: datetime | None = None
    """When the next one is due."""

    report: str | None = None
    """The run whose report the agent can show."""

    problems: tuple[str, ...] = ()
    """What keeps it from starting audits, or from reading their results."""
