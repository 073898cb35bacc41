"""One notice: what is notified of one flow at one time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from ..report import Cause, Health, Verdict

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
    """Why a notice is sent."""

    WORSE = "worse"
    """A flow is worse than last notified."""

    UNKNOWN = "unknown"
    """It can no longer be verified: neither worse nor better."""

    CHANGED = "changed"
    """As bad as last notified, and one more check is bad."""

    BETTER = "better"
    """Better than last notified, and not ok."""

    RECOVERED = "recovered"
    """Ok again."""

    REMINDER = "reminder"
    """Still critical."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckChange:
    """One check in a notice."""

    verdict: Verdict
    """Its verdict now."""

    before: Health
    """What was last notified of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Notice:
    """What is notified of one flow at one time."""

    at: datetime
    """When it was decided (UTC)."""

    flow: str
    """Name of the flow."""

    kind: NoticeKind
    """Why it is sent."""

    health: Health
    """The flow's health, as far as it is notified."""

    before: Health
    """What was last notified of it."""

    since: datetime
    """Since when the flow has not been ok (UTC)."""

    lasted: timedelta
    """How long it has not been ok, or had not been until it recovered."""

    changes: tuple[CheckChange, ...]
    """Every check that is bad or was notified to be, worst first."""

    cause: Cause | None = None
    """Which part is at fault, if one stands out."""

    untold: int = 0
    """Changes of any flow that were withheld, and over before a notice."""

    is_last: bool = False
    """Whether it is the last one that this hour allows."""

    @property
    def id(self) -> str:
        """Names the notice, however often it is delivered."""
        return f"{self.flow}@{self.at.isoformat()}"


@dataclass(frozen=True, kw_only=True, slots=True)
class LastNotified:
    """What people believe of one flow."""

    health: Health = Health.OK
    """As last notified. A flow without any notice is taken to be ok."""

    at: datetime | None = None
    """When it was last notified, `None` for never."""

    bad_since: datetime | None = None
    """Since when it has not been ok, `None` if it is notified to be."""

    checks: Mapping[str, Health] = field(default_factory=dict)
    """Checks that were notified to be bad."""

    cause: str | None = None
    """Part that was notified to be at fault."""

    withheld: Health | None = None
    """What is due and was withheld."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NotificationState:
    """What people believe, and how often they were notified."""

    flows: Mapping[str, LastNotified] = field(default_factory=dict)
    """By name of the flow."""

    times: tuple[datetime, ...] = ()
    """When the notices of the last hour were made."""

    untold: int = 0
    """Changes that were withheld and are over, since the last notice."""


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
