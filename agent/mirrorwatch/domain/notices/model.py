"""Notices, and the alarms of every output with their holds.

Outputs are notices, Prometheus and Kapacitor.

`mirrorwatch.domain.checks.CHECKS` has the alarms of each check.

Notes
-----
Two kinds of output see the same verdicts differently, so that a hold has two
columns. Notices see every tick and group all checks of a flow into one
message: they may be quick. Rules see samples that may be a minute apart, and
raise an alert for each check: they wait longer, or one sample would wake
somebody.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Literal

from ..report import Cause, Health, Verdict

__all__ = [
    "FLAPPING",
    "GAP",
    "RECOVERY",
    "REGROUP",
    "UNKNOWN_NOTICE_HOLD",
    "CheckAlarms",
    "CheckChange",
    "LastNotified",
    "Line",
    "Notice",
    "NoticeKind",
    "NoticeMessage",
    "NotificationPolicy",
    "NotificationState",
    "Severity",
]


class NoticeKind(StrEnum):
    """Reason for a notice."""

    WORSE = "worse"
    """A flow is worse than last notified."""

    UNKNOWN = "unknown"

    CHANGED = "changed"
    """As bad as last notified, and one more check is bad."""

    CAUSE = "cause"
    """As bad as last notified, and a new cause has begun."""

    BETTER = "better"
    """Better than last notified, and not ok."""

    RECOVERED = "recovered"

    REMINDER = "reminder"
    """Still critical; or still bad, where a receiver does not know of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckChange:
    """Change of one check in a notice."""

    verdict: Verdict
    before: Health
    """Health of the check as last notified."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Notice:
    """Notice of one flow at one time."""

    at: datetime
    flow: str
    kind: NoticeKind
    health: Health
    actual: Health | None = None
    """Its health with what is too mild to be notified; `None` if that is the
    same."""

    before: Health
    """Health of the flow as last notified."""

    since: datetime
    """Since when the flow has not been ok (UTC)."""

    lasted: timedelta
    """Time for which the flow has not been ok, or had not been until it
    recovered."""

    changes: tuple[CheckChange, ...]
    """Every check that is bad or was notified to be, worst first."""

    cause: Cause | None = None
    """Which part is at fault, if one stands out."""

    untold: int = 0
    """Changes of any flow that were withheld, and over before a notice."""

    is_last: bool = False
    """Last notice that the hourly limit allows."""

    @property
    def id(self) -> str:
        """Names the notice, however often it is delivered."""
        return f"{self.flow}@{self.at.isoformat()}"


@dataclass(frozen=True, kw_only=True, slots=True)
class LastNotified:
    """State of one flow as last notified."""

    health: Health = Health.OK
    """As last notified. A flow without any notice is taken to be ok."""

    at: datetime | None = None
    """Time of the last notice, `None` for never, or where not all who are
    notified now were notified then."""

    bad_since: datetime | None = None
    """Since when it has not been ok, `None` if it is notified to be."""

    checks: Mapping[str, Health] = field(default_factory=dict)
    cause: str | None = None
    stopped: bool | None = None
    """Replication was stopped by the part at fault, as was notified; `None`
    without a part."""

    withheld: Health | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class NotificationState:
    """State of all flows as last notified, and the times of recent notices."""

    flows: Mapping[str, LastNotified] = field(default_factory=dict)
    times: tuple[datetime, ...] = ()
    """Times of the notices of the last hour."""

    untold: int = 0
    """Changes that were withheld and are over, since the last notice."""

    receivers: tuple[str, ...] | None = None
    """Receivers that were notified, by the names of the configuration; `None`
    for nobody yet."""

    def as_known_to(self, receivers: Iterable[str]) -> "NotificationState":
        """Return the state with others who are notified from now on: what is
        bad is due again where one of them is new.
        """
        names, flows = tuple(receivers), self.flows
        if self.receivers is not None and set(names) - set(self.receivers):
            flows = {
                name: last
                if last.health is Health.OK
                else replace(last, at=None)
                for name, last in flows.items()
            }
        return replace(self, flows=flows, receivers=names)


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A line of text that may lead somewhere."""

    text: str
    link: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class NoticeMessage:
    """Message of a notice, ready to be put into any receiver's form."""

    id: str
    at: datetime
    title: str
    lines: tuple[Line, ...]
    document: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """All of it as plain text."""
        return "\n".join([self.title, *(line.text for line in self.lines)])


class Severity(StrEnum):
    """Severity of an alert; the value is what rules and handlers see."""

    PAGE = "critical"

    TICKET = "warning"


RECOVERY = timedelta(minutes=1)
"""Hold for which a flow or check must be better before it is reported as
recovered, in every output: a flapping check would wake somebody each time."""

GAP = timedelta(minutes=5)
"""Rules: how long samples may be missing without ending an alert: a failed
scrape, or an agent that crashes again and again. A longer silence has an alert
of its own."""

NOTICE_HOLD = timedelta(seconds=30)
"""Notices: how long a flow must be worse than last notified."""

UNKNOWN_NOTICE_HOLD = timedelta(minutes=2)
"""Notices: how long a flow must be `unknown`. A restart of the agent or of a
process of the mirror takes less, and nothing can be done about it sooner."""

FLAPPING = timedelta(minutes=5)
"""Notices: a flow that flaps, never ok for `RECOVERY` and never bad for the
hold, is notified after so long."""

REGROUP = timedelta(minutes=15)
"""Notices: least time between two messages on one flow when the second one is
lesser news: one more check is bad, or the flow is better but not ok. What
belongs to one fault comes within minutes of its first sign."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckAlarms:
    """The alerts that rules raise on one check: what they say, and how long
    the check must be in a state before.
    """

    symptom: str | None = None
    """Name of the alert on `Health.CRITICAL`, after "Mirrorwatch"; `None` if
    the check never is."""

    critical: str = ""
    """Summary of that alert."""

    warning: str

    critical_hold: timedelta = timedelta(minutes=2)
    """Eight scrapes of 15 s, two of a minute: the agent has waited for its
    own deadlines before it says critical. 0 for proved losses, which are not
    measured."""

    warning_hold: timedelta = timedelta(minutes=15)
    """Longer than the agent remembers one late or duplicated probe (10
    minutes): only what goes on, or comes again, makes a ticket."""

    unknown_hold: timedelta = timedelta(minutes=10)
    """A restart of the agent, of a broker or of the mirror is over by then."""

    unknown_severity: Severity = Severity.TICKET


@dataclass(frozen=True, kw_only=True, slots=True)
class NotificationPolicy:
    """Policy for notifying people of a flow."""

    minimum: Literal["warning", "critical"] = "warning"
    """Least severity that is notified. `unknown` always is, because anything
    may be behind it."""

    hold: timedelta = NOTICE_HOLD
    """Hold for which a flow must be worse than last notified."""

    recovery: timedelta = RECOVERY
    remind: timedelta = timedelta(hours=4)
    """Interval of reminders for a flow that stays critical; zero for never."""

    most_per_hour: int = 20

    def weigh(self, health: Health) -> Health:
        """Return a check's health as far as it is notified."""
        if health is Health.WARNING and self.minimum == "critical":
            return Health.OK
        return max(health, Health.OK)

    def weigh_flow(self, verdicts: Iterable[Verdict]) -> Health:
        """Return a flow's health as far as it is notified.

        A flow without a single judged check is unknown, never ok.
        """
        judged = [v.health for v in verdicts if v.health is not Health.OFF]
        return max(map(self.weigh, judged), default=Health.UNKNOWN)
