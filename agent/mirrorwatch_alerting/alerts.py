"""Alerts: conditions that raise them, severities and messages."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from mirrorwatch.domain.cause import may_follow
from mirrorwatch.domain.checks import CHECKS
from mirrorwatch.domain.metrics import Metric
from mirrorwatch.domain.notices.model import GAP, Severity
from mirrorwatch.domain.report import Health
from mirrorwatch.domain.samples import (
    FLOW_CAUSE,
    HEALTH,
    LAST_TICK,
    SINK_LOST,
    SINK_SPOOLED,
    SINK_UP,
    STATE_UP,
)

__all__ = [
    "AGENT_ALERTS",
    "ALERTS",
    "PAGE",
    "SERVICE",
    "SILENCE",
    "STUCK",
    "Above",
    "Alert",
    "AtFault",
    "Condition",
    "Grows",
    "Old",
    "Silent",
    "Vanished",
    "WhenHealth",
    "check_alerts",
    "runbook_of",
    "subject_of",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class WhenHealth:
    """The agent judged a check so.

    Notes
    -----
    There are no metrics here: the agent has judged by its limits, with
    facts that no rule has, and limits written twice would differ one day.
    """

    checks: tuple[str, ...]
    """Checks of which each raises the alert, as its label."""

    health: Health
    or_worse: bool = False
    """Health that is worse counts too, and `unknown` between, so that an alert
    goes on where a check is flapping between them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AtFault:
    """The agent named a part of a flow as the cause."""

    metric: Metric
    health: Health


@dataclass(frozen=True, kw_only=True, slots=True)
class Silent:
    """No agent reports."""

    metric: Metric


@dataclass(frozen=True, kw_only=True, slots=True)
class Vanished:
    """A flow that was reported is not any more, whatever else is."""

    metric: Metric


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


Condition = WhenHealth | AtFault | Silent | Vanished | Old | Above | Grows


@dataclass(frozen=True, kw_only=True, slots=True)
class Alert:
    """Alert definition, the same in every system that raises it."""

    name: str
    when: Condition
    hold: timedelta
    """Time for which `when` must hold without a break. Never one sample, but
    of proved losses."""

    severity: Severity
    summary: str
    """Message that a person understands at 3 a.m.; the flow's name goes
    before. ``{check}`` is the check."""

    section: str
    """Section of the runbook; ``{check}`` is the check."""

    @property
    def is_symptom(self) -> bool:
        """Alert may follow from the cause that another alert names."""
        match self.when:
            case WhenHealth(checks=checks, health=health):
                return all(may_follow(check, health) for check in checks)
            case _:
                return False

    @property
    def gap(self) -> timedelta:
        """Longest gap in the data that does not break `hold`.

        Shorter than `hold`, or the last sample alone would make an alert.
        """
        return min(self.hold / 2, GAP)

    @property
    def recent(self) -> timedelta:
        """Longest flapping between bad and `unknown` that counts as bad.

        Shorter than `hold` for the same reason.
        """
        return self.hold / 3


AGENT_SECTION = "the-agent-itself"

SILENCE = timedelta(minutes=5)
"""A restart on another machine, with its image pulled, is over by then."""

STUCK = timedelta(minutes=3)

AGENT_ALERTS = (
    Alert(
        name="MirrorwatchAgentSilent",
        when=Silent(metric=LAST_TICK),
        hold=SILENCE,
        severity=Severity.PAGE,
        summary="mirrorwatch reports nothing: replication is not monitored, "
        "and earlier states may be outdated",
        section=AGENT_SECTION,
    ),
    Alert(
        name="MirrorwatchAgentStuck",
        when=Old(metric=LAST_TICK, age=STUCK),
        hold=timedelta(minutes=2),
        severity=Severity.PAGE,
        summary="mirrorwatch is up but its checks do not run: what it shows "
        "is outdated",
        section=AGENT_SECTION,
    ),
    Alert(
        name="MirrorwatchFlowUnwatched",
        when=Vanished(metric=HEALTH),
        hold=SILENCE,
        severity=Severity.PAGE,
        summary="no mirrorwatch monitors this flow any more",
        section=AGENT_SECTION,
    ),
    Alert(
        name="MirrorwatchSinkDown",
        when=Above(metric=SINK_UP, bound=1, below=True),
        hold=timedelta(minutes=15),
        severity=Severity.TICKET,
        summary="mirrorwatch cannot write metrics or notifications to a "
        "sink: they are queued",
        section=AGENT_SECTION,
    ),
    Alert(
        name="MirrorwatchSinkBehind",
        when=Above(metric=SINK_SPOOLED, bound=0),
        # An outage of half a day drains within minutes.
        hold=timedelta(minutes=30),
        severity=Severity.TICKET,
        summary="metrics or notifications of mirrorwatch have been queued "
        "for long; when the queue is full, the oldest are lost",
        section=AGENT_SECTION,
    ),
    Alert(
        name="MirrorwatchSinkLosesPoints",
        # Metrics that are lost are no measurement that may err: a minute is
        # for what is evaluated only now and then.
        when=Grows(metric=SINK_LOST, within=timedelta(minutes=15)),
        hold=timedelta(minutes=1),
        severity=Severity.TICKET,
        summary="metrics or notifications of mirrorwatch are lost: "
        "rejected, or the queue is full",
        section=AGENT_SECTION,
    ),
    Alert(
        name="MirrorwatchStateDown",
        when=Above(metric=STATE_UP, bound=1, below=True),
        # It goes on watching: as long as for a sink.
        hold=timedelta(minutes=15),
        severity=Severity.TICKET,
        summary="the state file of mirrorwatch was set aside, deleted or "
        "cannot be written: counters and outstanding probes are lost, or "
        "will be at its next restart",
        section=AGENT_SECTION,
    ),
)
"""The dead-man alerts, then those of what it writes."""


CAUSE_ALERTS = (
    Alert(
        name="MirrorwatchReplicationStopped",
        when=AtFault(metric=FLOW_CAUSE, health=Health.CRITICAL),
        # No longer than its symptoms.
        hold=timedelta(minutes=2),
        severity=Severity.PAGE,
        summary="nothing is replicated because of it",
        section="cause",
    ),
    Alert(
        name="MirrorwatchReplicationImpaired",
        when=AtFault(metric=FLOW_CAUSE, health=Health.WARNING),
        hold=timedelta(minutes=15),
        severity=Severity.TICKET,
        summary="checks of the flow are not ok because of it",
        section="cause",
    ),
)
"""The alerts on the part at fault, whose symptoms need no alert of theirs."""


def check_alerts() -> Iterator[Alert]:
    """Yield the alerts of every check, the most severe first, then those on
    checks that are unknown.
    """
    blind: dict[tuple[Severity, timedelta], list[str]] = {}
    for name, check in CHECKS.items():
        alarms = check.alarms
        if alarms.symptom is not None:
            yield Alert(
                name=f"Mirrorwatch{alarms.symptom}",
                when=WhenHealth(checks=(name,), health=Health.CRITICAL),
                hold=alarms.critical_hold,
                severity=Severity.PAGE,
                summary=alarms.critical,
                section=name,
            )
        yield Alert(
            name=f"Mirrorwatch{name.capitalize()}Warning",
            when=WhenHealth(
                checks=(name,), health=Health.WARNING, or_worse=True
            ),
            hold=alarms.warning_hold,
            severity=Severity.TICKET,
            summary=alarms.warning,
            section=name,
        )
        kind = (alarms.unknown_severity, alarms.unknown_hold)
        blind.setdefault(kind, []).append(name)
    for (severity, hold), names in blind.items():
        yield Alert(
            name="MirrorwatchBlind",
            when=WhenHealth(checks=tuple(names), health=Health.UNKNOWN),
            hold=hold,
            severity=severity,
            summary="mirrorwatch cannot judge the check {check}",
            section="{check}",
        )


ALERTS = (*CAUSE_ALERTS, *check_alerts(), *AGENT_ALERTS)

PAGE = "http://mirrorwatch:8080"
"""Address of the agent's page in what is shipped; each site has its own."""

SERVICE = "mirrorwatch"


def runbook_of(alert: Alert, page: str) -> str:
    """Return the address of what to do about an alert."""
    return f"{page}/runbook#{alert.section}"


def subject_of(alert: Alert) -> str | None:
    """Return the label that says what an alert is about, if one does."""
    match alert.when:
        case WhenHealth() | AtFault() | Vanished():
            return "flow"
        case Above(metric=metric) | Grows(metric=metric):
            return next(iter(metric.labels), None)
        case Silent() | Old():
            return None
