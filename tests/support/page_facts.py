"""What is seen of a large site, piece by piece."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from mirrorwatch.domain.audit.flow_result import (
    Attempt,
    AuditObservation,
    FlowResult,
    TopicTally,
)
from mirrorwatch.domain.observations import CanaryCounts, Observation
from mirrorwatch.domain.parity.topics import TopicsObservation
from mirrorwatch.domain.position.model import PositionObservation
from mirrorwatch.domain.tasks.model import MirrorTask, Role, TasksObservation

from .builders import FLOW, a_canary, a_partition, an_arrival
from .topics_report import MANY, many_topics

__all__ = ["a_clean_night", "all_topics", "positions", "tasks_in"]
__all__ += ["the_canary"]

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
        target_alias=FLOW.target,
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
