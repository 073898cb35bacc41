"""A healthy and a broken flow of a large site, judged by the real checks."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from mirrorwatch.domain.audit.flow_result import (
    Attempt,
    AuditObservation,
    FlowResult,
    TopicTally,
)
from mirrorwatch.domain.bottleneck.check import BottleneckLimits
from mirrorwatch.domain.canary.model import CanaryCounts, Loss
from mirrorwatch.domain.checkpoints import CheckpointsObservation
from mirrorwatch.domain.checks import judge
from mirrorwatch.domain.heartbeats import HeartbeatsObservation
from mirrorwatch.domain.lag.model import LagStatus, StalledPartition
from mirrorwatch.domain.latency import LatencyObservation
from mirrorwatch.domain.losses.model import LossesObservation
from mirrorwatch.domain.parity.configs import ConfigsObservation
from mirrorwatch.domain.parity.topics import TopicsObservation
from mirrorwatch.domain.position.model import PositionObservation
from mirrorwatch.domain.readers.check import ReadersLimits
from mirrorwatch.domain.report import Flow, Health, Observation
from mirrorwatch.domain.schemas.check import SchemasLimits
from mirrorwatch.domain.skips.model import SkipsObservation
from mirrorwatch.domain.tasks.model import (
    MirrorTask,
    Role,
    Stopped,
    Stuck,
    TasksObservation,
)
from mirrorwatch.ports import AgentState, Report

from .audit import an_audit
from .builders import (
    FLOW,
    NOON,
    a_canary,
    a_cause,
    a_partition,
    a_report,
    a_verdict,
    a_window,
    an_arrival,
    some_losses,
)
from .reports import (
    MANY,
    a_lag,
    a_topic,
    many_topics,
    some_compared_topics,
    some_configs,
    some_schemas,
    some_starts,
    some_topic_skips,
)

__all__ = [
    "AGENT",
    "STOOD",
    "a_clean_night",
    "a_full_report",
    "all_topics",
    "broken",
    "healthy",
    "tasks_in",
]


SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)

NEIGHBOURS: tuple[tuple[str, Role], ...] = (
    ("MirrorSourceConnector", "source"),
    ("MirrorCheckpointConnector", "checkpoints"),
    ("InfluxSink", "neighbour"),
)


def the_canary(at: datetime, lost: int = 0, waiting: int = 0) -> Observation:
    last = at - 95 * SECOND if waiting else at - 0.2 * SECOND
    return a_canary(
        at,
        partitions=[
            a_partition(
                n,
                counts=CanaryCounts(
                    sent=9_000, acked=9_000, delivered=8_960, lost=lost
                ),
                outstanding=waiting,
                oldest_outstanding=last if waiting else None,
                last_arrival=last,
            )
            for n in range(3)
        ],
        arrivals=[]
        if waiting
        else [an_arrival(at, timedelta(milliseconds=52))],
    )


def positions(at: datetime) -> PositionObservation:
    return PositionObservation(
        flow=FLOW.name,
        at=at,
        source=FLOW.source,
        target=FLOW.target,
        partitions=4_688,
        counts={},
    )


def all_topics(at: datetime) -> TopicsObservation:
    return TopicsObservation(
        flow=FLOW.name,
        at=at,
        source_alias=FLOW.source,
        refresh=timedelta(minutes=10),
        patience=timedelta(minutes=20),
        carried=MANY,
    )


def tasks_in(at: datetime, states: Sequence[str]) -> TasksObservation:
    workers = ("10.1.2.3:8083", "10.1.2.4:8083")
    copying = [
        MirrorTask(
            connector="MirrorSourceConnector",
            role="source",
            number=number,
            state=state,
            since=at - (number + 2) * HOUR,
            worker=workers[number % 2],
            cause="org.apache.kafka.common.errors.RecordTooLargeException: "
            "The request included a message larger than the max message "
            "size the server will accept"
            if state == "FAILED"
            else "",
            starts=number,
            failures=2 if state == "FAILED" else 0,
        )
        for number, state in enumerate(states)
    ]
    others = [
        MirrorTask(
            connector=name,
            role=role,
            number=number,
            state="RUNNING",
            since=at - 9 * HOUR,
            worker=workers[0],
        )
        for name, role in NEIGHBOURS
        for number in ((None,) if role == "source" else (None, 0))
    ]
    return TasksObservation(
        flow=FLOW.name,
        at=at,
        origin="the mirror's status topic",
        tasks=(*others, *copying),
        rebalances=1,
    )


def a_clean_night(at: datetime) -> AuditObservation:
    return AuditObservation(
        flow=FLOW.name,
        at=at,
        since=at - 400 * HOUR,
        night=FlowResult(
            runs=("nightly-2026-01-02",),
            start=at - 34 * HOUR,
            end=at - 10 * HOUR,
            began_at=at - 10 * HOUR,
            ended_at=at - 9.5 * HOUR,
            topics=tuple(
                TopicTally(
                    topic=topic.topic,
                    source_records=8_640,
                    target_records=8_640,
                )
                for topic in many_topics()
            ),
            stated={"in_flight": 12},
            shown="nightly-2026-01-02",
        ),
        attempt=Attempt(
            due=at - 10 * HOUR,
            began_at=at - 10 * HOUR,
            outcome="finished",
            ended_at=at - 9.5 * HOUR,
        ),
        next_due=at + 14 * HOUR,
        report="nightly-2026-01-02",
    )


STOOD = "lsst.sal.MTMount.logevent_largeFileObjectAvailable"
AGENT = AgentState(
    sources_up={"cluster": True, "lag": True, "tasks": True},
    sinks_up={"influxdb": True, "prometheus": True},
    spooled_points={"influxdb": 0},
    lost_points={"influxdb": 0},
    last_tick=timedelta(milliseconds=38),
)


def healthy(at: datetime) -> Report:
    """Return a tick on which everything that is watched is well."""
    return _tick(
        at,
        [
            the_canary(at),
            LatencyObservation(
                flow=FLOW.name,
                at=at,
                p99=timedelta(milliseconds=64),
                usual=timedelta(milliseconds=60),
                measured=600,
            ),
            a_lag(many_topics(behind=12), at),
            SkipsObservation(flow=FLOW.name, at=at, partitions=4_688),
            positions(at),
            all_topics(at),
            ConfigsObservation(
                flow=FLOW.name,
                at=at,
                compared=MANY,
                sync=timedelta(minutes=10),
            ),
            tasks_in(at, ["RUNNING", "RUNNING", "RUNNING"]),
            replace(some_starts(at), missing=(), starts=(), starts_total=0),
            a_clean_night(at),
        ],
        AGENT,
    )


def broken(at: datetime) -> Report:
    """Return a tick on which most of it is not."""
    stood = replace(
        a_topic(
            STOOD,
            records=12_345,
            seconds=10_800,
            status=LagStatus.STALLED,
            topic_class="events",
            kept=timedelta(hours=4),
        ),
        standing=(
            StalledPartition(
                partition=1,
                position=4711,
                origin="sync",
                status=LagStatus.STALLED,
                stuck=3 * HOUR,
            ),
        ),
    )
    copying = tasks_in(at, ["RUNNING", "FAILED", "UNASSIGNED"])
    return _tick(
        at,
        [
            the_canary(at, lost=3, waiting=40),
            LatencyObservation(
                flow=FLOW.name, at=at, p99=None, usual=None, measured=0
            ),
            a_lag([*many_topics(behind=80), stood], at),
            some_topic_skips(at),
            positions(at),
            some_compared_topics(at),
            replace(some_configs(at), problems=()),
            some_schemas(at),
            some_starts(at),
            replace(
                copying,
                stopped=(
                    Stopped(
                        connector="MirrorSourceConnector",
                        task=1,
                        partitions=frozenset((STOOD, n) for n in range(4)),
                        stuck=(
                            Stuck(
                                topic=STOOD,
                                partition=1,
                                offset=4711,
                                size_bytes=2_000_123,
                                limit_bytes=1_048_588,
                                limit=f"the max.message.bytes of {STOOD} at "
                                "ldf,",
                            ),
                        ),
                    ),
                ),
            ),
            an_audit(at),
        ],
        replace(
            AGENT,
            sources_up={**AGENT.sources_up, "jmx": False},
            sinks_up={**AGENT.sinks_up, "influxdb": False},
            spooled_points={"influxdb": 84_211},
            lost_points={"influxdb": 3},
        ),
        [some_losses(at)],
    )


def _tick(
    at: datetime,
    seen: Sequence[Observation],
    agent: AgentState,
    losses: Sequence[LossesObservation] = (),
) -> Report:
    quiet: list[Observation] = [
        CheckpointsObservation(flow=FLOW.name, at=at, groups=4),
        HeartbeatsObservation(flow=FLOW.name, at=at),
    ]
    limits = {
        "bottleneck": BottleneckLimits(enabled=False),
        "readers": ReadersLimits(enabled=False),
        "schemas": SchemasLimits(enabled=False),
    }
    verdicts = judge({FLOW.name: limits}, [*quiet, *seen], at)
    return a_report(
        at,
        flows=[FLOW],
        observations=seen,
        verdicts=[
            replace(v, since=at - (7 * n + 3) * 60 * SECOND)
            for n, v in enumerate(verdicts)
        ],
        agent=agent,
        losses=losses,
    )


def a_full_report() -> Report:
    other = Flow(name="commands", source="summit", target="ldf")
    loss = Loss(
        flow=FLOW.name,
        partition=1,
        sequence=77,
        source_offset=412,
        sent_at=NOON - 90 * SECOND,
        proved_at=NOON - 60 * SECOND,
        proof="position 420 has passed 412, target read to its end 407",
    )
    canary = a_canary(
        NOON,
        partitions=[
            a_partition(
                counts=CanaryCounts(
                    sent=10, acked=10, delivered=8, late=1, lost=1
                ),
                last_arrival=NOON - SECOND,
            ),
            a_partition(
                1,
                counts=CanaryCounts(sent=1, indeterminate=1),
                outstanding=1,
                oldest_outstanding=NOON - 40 * SECOND,
                warming=True,
            ),
        ],
        arrivals=[
            an_arrival(NOON - SECOND, timedelta(milliseconds=250)),
            an_arrival(NOON - SECOND, 31 * SECOND, late=True),
        ],
    )
    return a_report(
        flows=[FLOW, other],
        observations=[
            type(canary)(
                flow=canary.flow,
                at=canary.at,
                topic=canary.topic,
                remote_topic="summit.mirrorwatch.canary",
                partitions=canary.partitions,
                arrivals=canary.arrivals,
                losses=(loss,),
            )
        ],
        verdicts=[
            a_verdict(
                Health.CRITICAL,
                reason="1 probe was lost in the last hour",
                since=NOON - 60 * SECOND,
                evidence={
                    "lost_last_hour": 1,
                    "time_to_loss_seconds": float("inf"),
                    "is_proved": True,
                    "leader": None,
                    "<b>": "<script>alert(1)</script>",
                },
            ),
            a_verdict(Health.OFF, check="audit", reason="Not scheduled"),
            a_verdict(flow="commands"),
        ],
        causes=[a_cause()],
        agent=AgentState(
            sources_up={"canary": True},
            sinks_up={"influxdb": False},
            last_tick=timedelta(milliseconds=12),
        ),
        maintenance=[a_window(NOON - 60 * SECOND, flow="commands")],
        losses=[some_losses(NOON)],
    )
