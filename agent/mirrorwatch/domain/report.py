"""Report of one tick: observations, and a verdict for each check and flow."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol

from .events.model import Event
from .finding import Finding, Health, Numbers, Subject, duration
from .losses.model import LossesObservation

__all__ = [
    "AgentState",
    "Cause",
    "Evidence",
    "Finding",
    "Flow",
    "Health",
    "MaintenanceWindow",
    "Numbers",
    "Observation",
    "Report",
    "Subject",
    "Verdict",
    "conclude",
    "counted",
    "keep_since",
    "seconds",
    "topic_subject",
    "worst",
]


Evidence = Mapping[str, str | int | float | bool | None]
"""Facts behind a verdict, by name; JSON scalars with units in the names."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Flow:
    """Flow: one-way replication of a set of topics by one mirror."""

    name: str
    source: str
    target: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """Judgement of one check on one flow."""

    flow: str
    check: str
    health: Health
    reason: str
    since: datetime
    """Start of this health of the check, without a break (UTC)."""

    evidence: Evidence = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    """Everything that was found, worst first."""

    @property
    def code(self) -> str | None:
        """Code of the worst finding; `None` without findings."""
        return self.findings[0].code if self.findings else None

    @property
    def is_past(self) -> bool:
        """Worst finding of something that is over, such as a loss."""
        return bool(self.findings) and self.findings[0].past

    @property
    def others(self) -> int:
        """Number of findings beside the worst that are not ok."""
        return sum(f.health > Health.OK for f in self.findings[1:])

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes of all findings, worst first."""
        return tuple(finding.code for finding in self.findings)


def worst(verdicts: Iterable[Verdict]) -> Health:
    """Return the health of the worst verdict, `Health.OFF` if none is on."""
    return max((v.health for v in verdicts), default=Health.OFF)


def keep_since(
    judged: Iterable[Verdict], before: Iterable[Verdict]
) -> tuple[Verdict, ...]:
    """Carry on the start of every verdict whose health did not change.

    Parameters
    ----------
    judged
        Fresh verdicts, each ``since`` the tick that made it.
    before
        Verdicts of the tick before.
    """
    known = {(v.flow, v.check): v for v in before}
    kept = []
    for verdict in judged:
        old = known.get((verdict.flow, verdict.check))
        unchanged = old is not None and old.health is verdict.health
        kept.append(
            replace(verdict, since=old.since)
            if old is not None and unchanged
            else verdict
        )
    return tuple(kept)


@dataclass(frozen=True, kw_only=True, slots=True)
class Cause:
    """Which part is at fault where checks of one flow are bad."""

    flow: str
    code: str
    part: str
    """``source``, ``link``, ``mirror``, ``target``, ``monitor``, or two of
    them where the agent cannot tell which."""

    reason: str
    headline: str
    """The reason, and how long it has been so."""

    since: datetime
    """Time of the first sign of it (UTC)."""

    evidence: tuple[str, ...]
    symptoms: tuple[str, ...]
    """Checks that are bad because of it, in the order of the checks."""

    stops: bool
    """Cause stops all replication of the flow."""

    subject: Subject = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class MaintenanceWindow:
    """A stretch of time in which nobody is to be notified of a flow."""

    flow: str
    since: datetime
    until: datetime
    reason: str

    def holds(self, at: datetime) -> bool:
        """Return whether notices are held at a time."""
        return self.since <= at < self.until


class Observation(Protocol):
    """Any fact that a source can report: frozen, of one flow."""

    @property
    def flow(self) -> str:
        """Name of the flow."""
        ...

    @property
    def at(self) -> datetime:
        """Time of the observation (UTC)."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentState:
    """State of the agent itself."""

    sources_up: Mapping[str, bool] = field(default_factory=dict)
    """By name: whether the source's last fact is fresh."""

    sinks_up: Mapping[str, bool] = field(default_factory=dict)
    """By name: whether the sink took the report before this one; of one that
    queues reports, whether the last attempt to send succeeded."""

    spooled_points: Mapping[str, int] = field(default_factory=dict)
    lost_points: Mapping[str, int] = field(default_factory=dict)
    last_tick: timedelta | None = None
    """Duration of the tick before this one; `None` on the first."""

    tick_late: timedelta = timedelta()
    """Delay with which a tick began, the largest of the last three."""

    clock_offset: timedelta = timedelta()
    """Offset of the wall clock, which labels the report, from the agent's own
    time, positive if ahead: zero unless it was stepped."""

    clock_steps: int = 0
    internal_errors: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    """Problems of the state file: what the agent knows may not outlast it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """Everything learned in one tick. The only thing sinks ever see."""

    at: datetime
    flows: tuple[Flow, ...]
    observations: tuple[Observation, ...]
    verdicts: tuple[Verdict, ...]
    agent: AgentState = field(default_factory=AgentState)
    causes: tuple[Cause, ...] = ()
    """Which part is at fault: of each flow at most one."""

    maintenance: tuple[MaintenanceWindow, ...] = ()
    losses: tuple[LossesObservation, ...] = ()
    events: tuple[Event, ...] = ()
    """Events that began, ended or grew in this tick."""

    event_counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Number of events since the installation, by flow and code."""

    unacknowledged: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Losses that make a flow critical, by the numbers of their events."""

    @property
    def own_at(self) -> datetime:
        """Start of the tick by the agent's own time, which never jumps."""
        return self.at - self.agent.clock_offset

    def cause_of(self, flow: str) -> Cause | None:
        """Return which part of a flow is at fault, if one stands out."""
        return next((c for c in self.causes if c.flow == flow), None)

    def losses_of(self, flow: str) -> LossesObservation | None:
        """Return what a flow lost for good; `None` if it is not known."""
        return next((seen for seen in self.losses if seen.flow == flow), None)

    def lead_of(self, flow: str) -> Verdict | None:
        """Return the verdict that leads a flow's page: the newest of the
        worst, one of now before one of what is over; that of the canary if
        all are ok.
        """
        judged = [
            v
            for v in self.verdicts
            if v.flow == flow and v.health is not Health.OFF
        ]
        health = worst(judged)
        if health is Health.OK:
            return next((v for v in judged if v.check == "canary"), judged[0])
        return max(
            (v for v in judged if v.health is health),
            key=lambda v: (not v.is_past, v.since),
            default=None,
        )

    def headline_of(self, flow: str) -> str | None:
        """Return the cause if one is known, else the leading finding."""
        cause, lead = self.cause_of(flow), self.lead_of(flow)
        if cause is not None:
            return cause.headline
        return None if lead is None else lead.reason

    def health_of(self, flow: str) -> Health:
        """Return a flow's health: its worst check, unknown if it has none."""
        judged = [v for v in self.verdicts if v.flow == flow]
        return worst(judged) if judged else Health.UNKNOWN


def topic_subject(topic: str, partitions: Iterable[int | None]) -> Subject:
    """Return a topic, with the partition where only one is concerned."""
    concerned = {p for p in partitions if p is not None}
    if len(concerned) != 1:
        return {"topic": topic}
    return {"topic": topic, "partition": concerned.pop()}


def conclude(
    findings: Iterable[Finding],
    *,
    flow: str,
    check: str,
    now: datetime,
    evidence: Evidence,
) -> Verdict:
    """Make a verdict of the worst finding; the first of equals that is not
    over gives the reason.
    """
    found = sorted(findings, key=lambda f: (-f.health, f.past))
    worst = found[0]
    return Verdict(
        flow=flow,
        check=check,
        health=worst.health,
        reason=worst.title,
        since=now,
        evidence=evidence,
        findings=tuple(found),
    )


def seconds(lasted: timedelta) -> str:
    """Render a duration for a person, for example ``42 s``."""
    return duration(lasted.total_seconds())


def counted(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
