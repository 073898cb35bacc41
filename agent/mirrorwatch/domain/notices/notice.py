"""One notice: what is told of one flow at one time."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from ..verdicts import Health, Verdict

__all__ = ["Change", "Kind", "Notice"]


class Kind(StrEnum):
    """Why something is told."""

    WORSE = "worse"
    """A flow is worse than what was told."""

    UNKNOWN = "unknown"
    """Nobody can tell any more how it is: neither worse nor better."""

    CHANGED = "changed"
    """As bad as it was told, and one more check is bad."""

    BETTER = "better"
    """Better than what was told, and not well."""

    RECOVERED = "recovered"
    """Well again."""

    REMINDER = "reminder"
    """Still critical."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One check in a notice."""

    verdict: Verdict
    """What it says now."""

    before: Health
    """What was last told of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Notice:
    """What is told of one flow at one time."""

    at: datetime
    """When it was decided (UTC)."""

    flow: str
    """Name of the flow."""

    kind: Kind
    """Why it is told."""

    health: Health
    """The flow's health, as far as people are told of it."""

    before: Health
    """What was last told of it."""

    since: datetime
    """When the flow began not to be well (UTC)."""

    lasted: timedelta
    """How long it has not been well, or had not been until it recovered."""

    changes: tuple[Change, ...]
    """Every check that is bad or was told to be, worst first."""

    untold: int = 0
    """Changes of any flow that found no room and went by."""

    is_last: bool = False
    """Whether it took the last room of the hour."""

    @property
    def id(self) -> str:
        """Names the notice, however often it is delivered."""
        return f"{self.flow}@{self.at.isoformat()}"
