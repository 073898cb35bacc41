"""Event: a finding or cause that began or ended, or a loss."""

from dataclasses import dataclass, field
from datetime import datetime

from ..finding import Health, Numbers, Subject

__all__ = ["Event"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """Event in the history of one flow."""

    id: int
    """Number, in the order in which events were noticed."""

    flow: str
    code: str
    health: Health
    """Worst health of the finding, or severity of the cause."""

    at: datetime
    until: datetime | None = None
    """End (UTC); `None` while the finding is open. Of a loss the time at which
    it last grew."""

    subject: Subject = field(default_factory=dict)
    numbers: Numbers = field(default_factory=dict)
    title: str = ""
    """Sentence of the catalogue; empty in the state file."""

    times: int = 1
    """Number of times that it began: more than once if it was flapping."""
