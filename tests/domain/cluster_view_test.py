"""One view of each partition, and syncs that wait for a later survey."""

from collections import defaultdict
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.domain.cluster_view import (
    ClusterView,
    FlowView,
    Position,
    PositionSource,
    SyncBuffer,
    TopicFacts,
)
from mirrorwatch.domain.mirror_records import Committed, Sync
from tests.support.builders import NOON

KEY = ("t", 0)
COPY = ("s.t", 0)


def a_cluster(
    topics: dict[str, int], ends: dict[tuple[str, int], int]
) -> ClusterView:
    return ClusterView(
        alias="a",
        id="a",
        at=NOON,
        topics={
            name: TopicFacts(
                id=f"id of {name}", partitions=count, replication_factor=1
            )
            for name, count in topics.items()
        },
        ends=ends,
        starts={KEY: 3},
    )


def a_sync(upstream: int, downstream: int, partition: int = 0) -> Sync:
    return Sync(
        topic="t",
        partition=partition,
        upstream=upstream,
        downstream=downstream,
        written_at=NOON,
    )


def a_view(
    source: ClusterView | None,
    target: ClusterView | None,
    *,
    committed: int | None = None,
    sync: Sync | None = None,
) -> FlowView:
    fact = Committed(
        topic="t", partition=0, position=committed, written_at=NOON
    )
    return FlowView(
        flow="f",
        at=NOON + timedelta(seconds=1),
        committed={KEY: fact},
        syncs={} if sync is None else {KEY: sync},
        caught_up=True,
        target=target,
        source=source,
        names={} if source is None else {"t": "s.t"},
    )


SOURCE = a_cluster({"t": 1}, {KEY: 500})
TARGET = a_cluster({"s.t": 1}, {COPY: 300})


def test_a_partition_is_seen_with_both_ends_and_both_ids() -> None:
    seen = a_view(SOURCE, TARGET, sync=a_sync(199, 149)).partitions[KEY]
    assert seen is not None
    assert (seen.source_id, seen.source_start) == ("id of t", 3)
    assert (seen.target_id, seen.target_end) == ("id of s.t", 300)
    assert (seen.source_end, seen.uncopied) == (500, False)
    assert seen.proved == Position(200, PositionSource.SYNC)
    assert seen.estimate == 350


def test_the_higher_of_committed_offset_and_sync_is_proved() -> None:
    for committed, sync, expected in (
        (None, None, None),
        (7, None, Position(7, PositionSource.COMMITTED)),
        (None, 7, Position(8, PositionSource.SYNC)),
        (8, 7, Position(8, PositionSource.COMMITTED)),
        (8, 8, Position(9, PositionSource.SYNC)),
        (9, 7, Position(9, PositionSource.COMMITTED)),
    ):
        pair = None if sync is None else a_sync(sync, sync)
        view = a_view(SOURCE, TARGET, committed=committed, sync=pair)
        seen = view.partitions[KEY]
        assert seen is not None
        assert seen.proved == expected


def test_an_estimate_never_lies_beyond_the_end() -> None:
    seen = a_view(SOURCE, TARGET, sync=a_sync(450, 100)).partitions[KEY]
    assert seen is not None
    assert seen.estimate == 500


def test_what_the_target_does_not_say_is_not_known() -> None:
    sync = a_sync(9, 9)
    for target, uncopied in (
        (None, False),
        (a_cluster({}, {}), True),
        (a_cluster({"s.t": 0}, {}), True),
        (a_cluster({"s.t": 1}, {}), False),
    ):
        seen = a_view(SOURCE, target, sync=sync).partitions[KEY]
        assert seen is not None
        assert (seen.target_end, seen.estimate) == (None, None)
        assert seen.uncopied is uncopied


def test_there_is_no_view_of_a_partition_without_a_leader() -> None:
    view = a_view(a_cluster({"t": 2}, {KEY: 5}), TARGET)
    assert view.partitions["t", 1] is None
    assert view.partitions[KEY] is not None
    assert a_view(None, TARGET).partitions == {}


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 9))))
def test_a_buffer_gives_every_sync_once_in_its_order(
    moves: list[tuple[int, int]],
) -> None:
    buffer, expected = SyncBuffer(), defaultdict[int, list[Sync]](list)
    for number, (partition, what) in enumerate(moves):
        if what < 0:
            buffer.drop(("t", partition))
            expected[partition].clear()
        elif what == 0:
            found = {key[1]: s for key, s in buffer.release().items() if s}
            assert found == {p: s for p, s in expected.items() if s}
            expected.clear()
        else:
            sync = a_sync(number, number, partition)
            buffer.hold(sync)
            expected[partition].append(sync)
            assert ("t", partition) in buffer.partitions
    found = {key[1]: syncs for key, syncs in buffer.release().items() if syncs}
    assert found == {p: syncs for p, syncs in expected.items() if syncs}
    assert buffer.release() == {}


def test_a_buffer_that_is_trimmed_holds_the_newest() -> None:
    buffer = SyncBuffer()
    for number in range(10):
        buffer.hold(a_sync(number, number, number % 2))
    buffer.trim(3)
    held = [s.upstream for syncs in buffer.release().values() for s in syncs]
    assert sorted(held) == [7, 8, 9]
