"""One notice: what is told of one flow at one time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from ..report import Health, Verdict

__all__ = [
    "CheckChange",
    "LastNotified",
    "Line",
    "Notice",
    "NoticeKind",
    "NoticeMessage",
    "NotificationState",
]


class NoticeKind(StrEnum):
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
class CheckChange:
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

    kind: NoticeKind
    """Why it is told."""

    health: Health
    """The flow's health, as far as people are told of it."""

    before: Health
    """What was last told of it."""

    since: datetime
    """When the flow began not to be well (UTC)."""

    lasted: timedelta
    """How long it has not been well, or had not been until it recovered."""

    changes: tuple[CheckChange, ...]
    """Every check that is bad or was told to be, worst first."""

    untold: int = 0
    """Changes of any flow that found no room and went by."""

    is_last: bool = False
    """Whether it took the last room of the hour."""

    @property
    def id(self) -> str:
        """Names the notice, however often it is delivered."""
        return f"{self.flow}@{self.at.isoformat()}"


@dataclass(frozen=True, kw_only=True, slots=True)
class LastNotified:
    """What people believe of one flow."""

    health: Health = Health.OK
    """As last told. Of a flow nobody was told of, people think well."""

    at: datetime | None = None
    """When it was last told, `None` for never."""

    bad_since: datetime | None = None
    """When it began not to be well, `None` if it is told to be."""

    checks: Mapping[str, Health] = field(default_factory=dict)
    """Checks that were told to be bad."""

    withheld: Health | None = None
    """What is due and found no room."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NotificationState:
    """What people believe, and how often they were told."""

    flows: Mapping[str, LastNotified] = field(default_factory=dict)
    """By name of the flow."""

    times: tuple[datetime, ...] = ()
    """When the notices of the last hour were made."""

    untold: int = 0
    """Changes that found no room and went by, since the last notice."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A line of text that may lead somewhere."""

    text: str
    """Plain text, without a line break."""

    link: str | None = None
    """Where it leads."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NoticeMessage:
    """What is sent to people, ready to be put into any receiver's form."""

    id: str
    """The same however often it is delivered."""

    at: datetime
    """When it was made (UTC)."""

    title: str
    """What it is about, understood without the rest."""

    lines: tuple[Line, ...]
    """What more there is to know."""

    document: Mapping[str, Any] = field(default_factory=dict)
    """The same for programs: JSON."""

    @property
    def text(self) -> str:
        """All of it as plain text."""
        return "\n".join([self.title, *(line.text for line in self.lines)])
