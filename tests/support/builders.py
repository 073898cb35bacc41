"""Reports as a tick would make them, with as little said as possible."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from mirrorwatch.domain.canary.model import (
    CanaryCounts,
    CanaryObservation,
    CanaryPartition,
    ProbeArrival,
)
from mirrorwatch.domain.losses.model import (
    LossesObservation,
    LostRecords,
    TopicLosses,
)
from mirrorwatch.domain.metrics import Histogram
from mirrorwatch.domain.report import (
    Cause,
    Evidence,
    Finding,
    Flow,
    Health,
    MaintenanceWindow,
    Observation,
    Verdict,
)
from mirrorwatch.domain.tasks.model import MirrorTask, TasksObservation
from mirrorwatch.ports import AgentState, Report

__all__ = [
    "FLOW",
    "NOON",
    "a_canary",
    "a_cause",
    "a_partition",
    "a_report",
    "a_verdict",
    "a_window",
    "an_arrival",
    "some_losses",
    "some_tasks",
]


NOON = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)
FLOW = Flow(name="summit->ldf", source="summit", target="ldf")


def a_verdict(
    health: Health = Health.OK,
    *,
    flow: str = FLOW.name,
    check: str = "canary",
    reason: str = "Every probe arrives",
    since: datetime = NOON,
    evidence: Evidence | None = None,
) -> Verdict:
    return Verdict(
        flow=flow,
        check=check,
        health=health,
        reason=reason,
        since=since,
        evidence=evidence or {},
    )


def an_arrival(
    at: datetime,
    latency: timedelta,
    *,
    flow: str = FLOW.name,
    partition: int = 0,
    sequence: int = 0,
    produce: timedelta = timedelta(milliseconds=2),
    late: bool = False,
) -> ProbeArrival:
    return ProbeArrival(
        flow=flow,
        partition=partition,
        sequence=sequence,
        sent_at=at - latency,
        acked_at=at - latency + produce,
        arrived_at=at,
        late=late,
    )


def a_partition(
    partition: int = 0,
    *,
    counts: CanaryCounts | None = None,
    outstanding: int = 0,
    oldest_outstanding: datetime | None = None,
    last_arrival: datetime | None = None,
    latency: Histogram | None = None,
    warming: bool = False,
) -> CanaryPartition:
    return CanaryPartition(
        partition=partition,
        counts=counts or CanaryCounts(),
        latency=latency or Histogram(),
        replication=Histogram(),
        produce=Histogram(),
        outstanding=outstanding,
        oldest_outstanding=oldest_outstanding,
        oldest_unacked=None,
        last_arrival=last_arrival,
        warming=warming,
    )


def a_canary(
    at: datetime = NOON,
    *,
    flow: str = FLOW.name,
    partitions: Sequence[CanaryPartition] = (),
    arrivals: Sequence[ProbeArrival] = (),
    problems: Sequence[Finding] = (),
    good: int = 0,
    bad: int = 0,
) -> CanaryObservation:
    return CanaryObservation(
        flow=flow,
        at=at,
        topic="mirrorwatch.canary",
        remote_topic="mirrorwatch.canary",
        partitions=tuple(partitions),
        good=good,
        bad=bad,
        arrivals=tuple(arrivals),
        problems=tuple(problems),
    )


def a_window(
    since: datetime = NOON,
    lasts: timedelta = timedelta(hours=2),
    *,
    flow: str = FLOW.name,
    reason: str = "MirrorMaker 3.9 to 4.3",
) -> MaintenanceWindow:
    return MaintenanceWindow(
        flow=flow, since=since, until=since + lasts, reason=reason
    )


def a_report(
    at: datetime = NOON,
    *,
    flows: Sequence[Flow] = (FLOW,),
    observations: Sequence[Observation] = (),
    verdicts: Sequence[Verdict] | None = None,
    agent: AgentState | None = None,
    maintenance: Sequence[MaintenanceWindow] = (),
    causes: Sequence[Cause] = (),
    losses: Sequence[LossesObservation] = (),
    unacknowledged: Mapping[str, Sequence[int]] | None = None,
) -> Report:
    if verdicts is None:
        verdicts = [a_verdict(flow=flow.name, since=at) for flow in flows]
    return Report(
        at=at,
        flows=tuple(flows),
        observations=tuple(observations),
        verdicts=tuple(verdicts),
        agent=agent or AgentState(),
        maintenance=tuple(maintenance),
        causes=tuple(causes),
        losses=tuple(losses),
        unacknowledged=unacknowledged or {},
    )


def some_losses(at: datetime, **more: Any) -> LossesObservation:
    """Return 605 records that expired, and 7 that were dropped before."""
    expired, dropped = LostRecords(expired=605), LostRecords(dropped=7)
    given: dict[str, Any] = {
        "since": at - timedelta(days=30),
        "hour": expired,
        "day": expired + dropped,
        "total": expired + dropped + dropped,
        "topics": (
            TopicLosses(
                topic="lsst.sal.MTMount.elevation",
                at=at - timedelta(minutes=2),
                lost=expired,
            ),
            TopicLosses(
                topic="lsst.sal.ATDome.position",
                at=at - timedelta(hours=3),
                lost=dropped,
            ),
        ),
        "counters": {
            "telemetry": expired,
            "events": dropped + dropped,
            "commands": LostRecords(),
        },
    } | more
    return LossesObservation(flow=FLOW.name, at=at, **given)


def a_cause(
    part: str = "link", reason: str = "MirrorMaker does not reach summit"
) -> Cause:
    return Cause(
        flow=FLOW.name,
        code="link.broken",
        part=part,
        reason=reason,
        headline=f"{reason} for 2 min",
        since=NOON - timedelta(minutes=2),
        evidence=(
            "12 records wait at summit",
            "no consumer of MirrorMaker is connected to summit",
        ),
        symptoms=("canary", "lag"),
        stops=True,
    )


def some_tasks(
    at: datetime,
    states: Sequence[str] = ("RUNNING", "FAILED"),
    *,
    since: datetime | None = None,
) -> TasksObservation:
    """Return a connector that runs, and its tasks, one of each state."""
    return TasksObservation(
        flow=FLOW.name,
        at=at,
        tasks=tuple(
            MirrorTask(
                connector="MirrorSourceConnector",
                role="source",
                number=number,
                state=state,
                since=since or at,
            )
            for number, state in ((None, "RUNNING"), *enumerate(states))
        ),
    )
