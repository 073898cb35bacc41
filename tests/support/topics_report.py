"""Reports with the lag of topics."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from mirrorwatch.domain.lag.model import (
    Headroom,
    LagObservation,
    LagStatus,
    TopicLag,
)
from mirrorwatch.domain.position.model import PositionObservation
from mirrorwatch.domain.skips.model import (
    SkipCounters,
    SkipsObservation,
    SuspectedDrop,
)
from tests.support.builders import FLOW, NOON

__all__ = ["KEPT", "MANY", "a_lag", "a_topic", "many_topics", "some_resets"]
__all__ += ["some_skips", "some_topics"]

KEPT = timedelta(hours=72)
"""What the source keeps."""

MANY = 1172
"""Topics of the first site."""

CLASSES = ("telemetry", "commands", "events")


def a_topic(
    name: str,
    *,
    records: int = 0,
    seconds: float = 0,
    status: LagStatus = LagStatus.EVEN,
    topic_class: str = "telemetry",
    drain: timedelta | None = None,
    kept: timedelta | None = KEPT,
    estimated: bool = False,
) -> TopicLag:
    left = None
    if kept is not None:
        remaining = max(timedelta(), kept - timedelta(seconds=seconds))
        left = Headroom(
            remaining=remaining, share=remaining / kept, estimated=estimated
        )
    waits = records > 0
    return TopicLag(
        topic=name,
        topic_class=topic_class,
        records=records,
        seconds=seconds,
        status=status,
        partition=1 if waits else None,
        position=4711 if waits else None,
        origin="sync" if waits else "",
        stuck=timedelta(seconds=min(seconds, 95.5)) if waits else None,
        drain=drain,
        headroom=left,
    )


def a_lag(
    topics: Sequence[TopicLag], at: datetime = NOON, flow: str = FLOW.name
) -> LagObservation:
    return LagObservation(
        flow=flow, at=at, topics=tuple(topics), configs_known=True
    )


def some_topics() -> list[TopicLag]:
    """Return topics that stand, go on, and are even."""
    return [
        a_topic("lsst.sal.ESS.temperature"),
        a_topic(
            "lsst.sal.MTMount.elevation",
            records=12_345,
            seconds=10_800,
            status=LagStatus.STALLED,
        ),
        a_topic(
            "lsst.sal.MTMount.logevent_summaryState",
            records=7,
            seconds=0.25,
            status=LagStatus.MOVING,
            topic_class="events",
            drain=timedelta(seconds=0.5),
        ),
        a_topic(
            "lsst.sal.MTMount.command_start",
            topic_class="commands",
            kept=timedelta(hours=1),
        ),
        a_topic("lsst.sal.ATDome.history", topic_class="events", kept=None),
    ]


def many_topics(behind: int = 0) -> list[TopicLag]:
    """Return as many topics as the first site has, some of them behind."""
    return [
        a_topic(
            f"lsst.sal.Subsystem{n // 20}.topic_{n:04}",
            records=n + 1 if n < behind else 0,
            seconds=(n + 1) / 10 if n < behind else 0,
            status=LagStatus.MOVING if n < behind else LagStatus.EVEN,
            topic_class=CLASSES[n % 3],
        )
        for n in range(MANY)
    ]


def some_resets() -> PositionObservation:
    return PositionObservation(
        flow=FLOW.name,
        at=NOON,
        source=FLOW.source,
        target=FLOW.target,
        counts={"lsst.sal.MTMount.elevation": 2},
    )


def some_skips(at: datetime = NOON) -> SkipsObservation:
    """Return what was skipped, some of it of a topic that is even."""
    return SkipsObservation(
        flow=FLOW.name,
        at=at,
        partitions=5,
        tallies=(
            (
                "lsst.sal.ESS.temperature",
                SkipCounters(skipped=10, recovered=3, repeated=300),
            ),
            ("lsst.sal.MTMount.elevation", SkipCounters(unverifiable=4)),
        ),
        suspicions=(
            SuspectedDrop(
                topic="lsst.sal.MTMount.elevation",
                partition=1,
                first=4711,
                end=4731,
                count=20,
                since=at,
            ),
        ),
    )
