"""What waits while its task goes on: dropped, or stuck in the mirror."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from mirrorwatch.domain.cluster_view import TopicPartition
from mirrorwatch.domain.copies.ranges import (
    EndRequest,
    RangeContent,
    RangeRequest,
)
from mirrorwatch.domain.mirror_records import Assignment, Connector
from mirrorwatch.domain.offsets import OffsetRange
from mirrorwatch.domain.skips.model import SkipsObservation
from mirrorwatch.domain.topics import Selection
from mirrorwatch.sources.copies import CopiesWorker, RangeExaminer
from mirrorwatch.sources.mirror_state import MirrorState
from mirrorwatch.state import Database
from mirrorwatch.state.copies import CopiesStore
from tests.domain.position.world import Log, World


class NoAnswers(RangeExaminer):
    """Neither side is read: ends and pairs alone are looked at."""

    def __init__(self) -> None:
        """Hold no connection."""

    def answer(
        self,
        requests: Sequence[RangeRequest],
        *,
        committed: bool | None,
        transactional: bool,
    ) -> list[RangeContent | None]:
        del committed, transactional
        return [None for _ in requests]

    def count(
        self,
        spans: Mapping[TopicPartition, OffsetRange],
        *,
        committed: bool,
    ) -> dict[TopicPartition, int]:
        del committed
        return {place: len(span) for place, span in spans.items()}

    @property
    def bytes_read(self) -> tuple[int, int]:
        return 0, 0

    def find_truncated(
        self, requests: Iterable[EndRequest]
    ) -> list[EndRequest]:
        del requests
        return []


def seen_of(*connectors: Connector) -> SkipsObservation:
    """Let one topic stand for minutes while its task copies another."""
    world, positions = World(), MirrorState()
    positions.keep_every_sync()
    watch = CopiesWorker(
        flow="summit->ldf",
        positions=positions,
        store=CopiesStore(Database(None), "summit->ldf"),
        examiner=NoAnswers(),
        merged=lambda _: False,
        exactly_once=False,
        patience=timedelta(minutes=2),
        memory=timedelta(hours=1),
        read_rate=2**20,
        clock=lambda: world.now,
    )
    places = frozenset({("t", 0), ("u", 0)})
    positions.note(
        Assignment(
            connector="c", task=0, partitions=places, written_at=world.now
        )
    )
    for connector in connectors:
        positions.note(connector)
    world.source["u"] = Log("s2", {0: 100})
    world.target["u"] = Log("t2", {0: 100})
    for topic in ("t", "u"):
        world.sync(99, 99, topic)
        world.commit(100, topic)
    for n in range(60):
        if n == 5:
            world.source["t"].ends[0] = 141
        end = 100 + 10 * n
        world.source["u"].ends[0] = world.target["u"].ends[0] = end
        world.sync(end - 1, end - 1, "u")
        for sync in world.take_unread():
            positions.note(sync)
        world.now += timedelta(seconds=5)
        watch.take(replace(world.view(), new_syncs=positions.take_syncs()))
        watch.step()
    (seen,) = watch.observe(world.now)
    return seen


def connector(*, transforms: bool) -> Connector:
    return Connector(
        name="c",
        selection=Selection(include=(".*",)),
        refresh=timedelta(minutes=10),
        max_in_flight=1,
        transforms=transforms,
    )


@pytest.mark.parametrize("known", [True, False])
def test_what_a_transform_may_have_dropped_is_left_behind(
    known: bool,
) -> None:
    seen = seen_of(*[connector(transforms=True)] * known)
    assert seen.left_behind == {("t", 0)}


def test_without_a_transform_what_waits_is_stuck() -> None:
    assert seen_of(connector(transforms=False)).left_behind == frozenset()
