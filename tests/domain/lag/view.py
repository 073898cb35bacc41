"""Surveys of one topic, and what a tracker makes of them."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from mirrorwatch.domain.cluster_view import (
    ClusterView,
    FlowView,
    TopicConfigs,
    TopicFacts,
)
from mirrorwatch.domain.lag.model import LagObservation, TopicLag
from mirrorwatch.domain.lag.tracker import LagTracker
from mirrorwatch.domain.mirror_records import Committed, Sync

__all__ = ["HOUR_MS", "NOON", "a_tracker", "a_view", "only"]

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR_MS = 3_600_000


def a_view(
    seconds: float,
    *,
    end: int,
    copied: int | None = None,
    committed: int | None = None,
    sync: tuple[int, int] | None = None,
    start: int = 0,
    id_: str = "source id",
    target: bool = True,
    caught_up: bool = True,
    exactly_once: bool = False,
    written: float = 0,
) -> FlowView:
    at = NOON + timedelta(seconds=seconds)
    place = ("t", 0)
    positions: Mapping[tuple[str, int], Committed] = {}
    if committed is not None:
        positions = {
            place: Committed(
                topic="t",
                partition=0,
                position=committed,
                written_at=NOON + timedelta(seconds=written),
            )
        }
    syncs: Mapping[tuple[str, int], Sync] = {}
    if sync is not None:
        syncs = {
            place: Sync(
                topic="t",
                partition=0,
                upstream=sync[0],
                downstream=sync[1],
                written_at=NOON,
            )
        }
    facts = TopicFacts(id=id_, partitions=1, replication_factor=1)
    return FlowView(
        flow="f",
        at=at,
        committed=positions,
        syncs=syncs,
        caught_up=caught_up,
        exactly_once=exactly_once,
        target=ClusterView(
            alias="ldf",
            id="b",
            at=at,
            topics={} if copied is None else {"s.t": facts},
            ends={} if copied is None else {("s.t", 0): copied},
        )
        if target
        else None,
        source=ClusterView(
            alias="summit",
            id="a",
            at=at,
            topics={"t": facts},
            ends={place: end},
            starts={place: start},
        ),
        names={"t": "s.t"},
    )


def a_tracker(configs: TopicConfigs | None = None) -> LagTracker:
    return LagTracker(
        flow="f",
        class_of=lambda _: "telemetry",
        configs=lambda: {} if configs is None else {"t": configs},
    )


def only(seen: LagObservation) -> TopicLag:
    (topic,) = seen.topics
    return topic
