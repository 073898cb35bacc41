"""What an alert is: when it is raised, whom it wakes, what it says."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from ..domain.figures.metric import Metric
from ..domain.verdicts import Health

__all__ = ["Above", "Alert", "Condition", "Grows", "Judged", "Old"]
__all__ += ["Severity", "Silent", "Vanished"]


GAP = timedelta(minutes=5)
"""How long data may be missing without a break: a scrape that failed, or an
agent that dies and is started again and again, which is never silent for long
and never without a break. What is silent for longer is told as that."""

RECOVERY = timedelta(minutes=1)
"""How long it must be better before that is told, as notices wait too: what
goes to and fro would wake somebody each time."""


class Severity(StrEnum):
    """Whom an alert wakes; the value is what rules and handlers see."""

    PAGE = "critical"
    """Somebody gets up."""

    TICKET = "warning"
    """Somebody looks at it in working hours."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """The agent judged a check so.

    Notes
    -----
    There are no figures here: the agent has judged by its limits, with
    facts that no rule has, and limits told twice would differ one day.
    """

    check: str
    """Name of the check."""

    health: Health
    """What it was judged to be."""

    or_worse: bool = False
    """Whether worse counts too, and `unknown` between, so that an alert goes
    on where a check goes to and fro between them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Silent:
    """No agent reports."""

    metric: Metric
    """What each report has."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Vanished:
    """A flow that was reported is not any more, whatever else is."""

    metric: Metric
    """What each report has for each flow."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Old:
    """A time in seconds since 1970 is older than it may be."""

    metric: Metric
    age: timedelta


@dataclass(frozen=True, kw_only=True, slots=True)
class Above:
    """A gauge is above (or, with ``below``, under) a bound."""

    metric: Metric
    bound: float
    below: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Grows:
    """A counter grew within some time."""

    metric: Metric
    within: timedelta


Condition = Judged | Silent | Vanished | Old | Above | Grows
"""When an alert is raised."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Alert:
    """One alert, the same in every system that raises it."""

    name: str
    """Name in Prometheus."""

    when: Condition
    """When it is raised."""

    hold: timedelta
    """How long that must be so without a break. Never a single sample."""

    severity: Severity
    """Whom it wakes."""

    summary: str
    """What a person understands at 3 a.m.; the flow's name goes before."""

    section: str
    """Anchor of the section of docs/runbook.md that says what to do."""

    @property
    def gap(self) -> timedelta:
        """How long data may be missing without a break.

        Shorter than `hold`, or the last sample alone would make an alert.
        """
        return min(self.hold / 2, GAP)

    @property
    def recovery(self) -> timedelta:
        """How long it must be better before it ends."""
        return min(self.hold / 2, RECOVERY)

    @property
    def recent(self) -> timedelta:
        """How long bad and `unknown` may take turns to count as bad.

        Shorter than `hold` for the same reason.
        """
        return self.hold / 3
