"""The worker hands on the pairs that are proved, and forgets those that are
void.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME

from mirrorwatch.domain.cluster_view import TopicPartition
from mirrorwatch.domain.offsets import OffsetRange
from mirrorwatch.domain.record_matching import (
    CopiesRequest,
    FoundCopies,
    MatcherState,
    RecordLook,
    SourceWindow,
    Unproved,
)
from mirrorwatch.sources import record_matching
from mirrorwatch.sources.mirror_state import MirrorState
from mirrorwatch.sources.record_matching import (
    RecordMatchingWorker,
    read_offset,
)
from tests.domain.record_matching_test import World, written
from tests.support.builders import NOON


class WorkerOnLogs(RecordMatchingWorker):
    """Reads the logs of a world in the place of those of two clusters."""

    def __init__(self, world: World, positions: MirrorState) -> None:
        clusters: Any = [SimpleNamespace(alias=name) for name in ("s", "t")]
        store: Any = SimpleNamespace(load=MatcherState, save=lambda _: None)
        super().__init__(
            flow="f",
            source=clusters[0],
            target=clusters[1],
            properties={"s": {}, "t": {}},
            positions=positions,
            store=store,
            clock=lambda: NOON,
        )
        self._world = world

    def _read_copies(
        self, requests: Sequence[CopiesRequest]
    ) -> dict[TopicPartition, FoundCopies]:
        return {
            request.key: sorted(
                (offset, look)
                for offset, look in self._log("target", request).items()
                if request.copies.first <= offset < request.copies.end
            )
            for request in requests
        }

    def _read_windows(
        self,
        requests: Iterable[CopiesRequest],
        copies: Mapping[TopicPartition, FoundCopies],
    ) -> dict[TopicPartition, SourceWindow]:
        return {
            request.key: SourceWindow(
                since=0,
                end=request.log_end,
                log_end=request.log_end,
                records=self._log("source", request),
            )
            for request in requests
        }

    def _read_records(
        self, wanted: Mapping[TopicPartition, OffsetRange]
    ) -> dict[TopicPartition, dict[int, RecordLook]]:
        return {
            key: {
                offset: record
                for offset, record in self._world.source[
                    key[1]
                ].records.items()
                if span.first <= offset < span.end
            }
            for key, span in wanted.items()
        }

    def _is_elsewhere(self, request: CopiesRequest, look: RecordLook) -> bool:
        return any(
            look.content == record.content
            for partition, log in enumerate(self._world.source)
            if partition != request.key[1]
            for record in log.records.values()
        )

    def _log(self, side: str, request: CopiesRequest) -> dict[int, Any]:
        logs = getattr(self._world, side)
        return dict(logs[request.key[1]].records)


def look(worker: WorkerOnLogs, world: World) -> None:
    worker.take(world.view)
    worker.step()


def test_the_first_pair_of_a_recreated_topic_is_kept() -> None:
    world, positions = World(), MirrorState()
    worker = WorkerOnLogs(world, positions)
    written(world, 1, 2, 3)
    world.copy(0, 1, 2)
    look(worker, world)
    assert [s.upstream for s in positions.all_syncs().values()] == [2]
    again = World(source_id="s2", target_id="t2")
    world.source, world.target = again.source, again.target
    world.source_id, world.target_id = "s2", "t2"
    written(world, 7, 8)
    world.copy(0)
    look(worker, world)
    # The old pair is void, and the new one is not taken for it.
    assert [s.upstream for s in positions.all_syncs().values()] == [0]


def test_the_pairs_of_a_topic_that_is_scattered_are_void_at_once() -> None:
    world, positions = World(partitions=2), MirrorState()
    worker = WorkerOnLogs(world, positions)
    written(world, 1, 2, 3)
    world.copy(0, 1)
    look(worker, world)
    assert len(positions.all_syncs()) == 1
    # The next one is copied to the other partition.
    world.target[1].add(world.source[0].records[2])
    look(worker, world)
    assert not positions.all_syncs()
    assert set(positions.unproved().values()) == {Unproved.SCATTERED}


def test_a_step_takes_headers_where_they_are_and_records_where_not() -> None:
    world, positions = World(partitions=3, has_headers=True), MirrorState()
    worker = WorkerOnLogs(world, positions)
    for log in world.source:
        log.add(*(RecordLook(content=1, timestamp=1) for _ in range(3)))
    world.copy(0, 2, partition=0)
    world.has_headers = False
    world.copy(0, 2, partition=1)
    look(worker, world)
    assert {
        s.partition: (s.upstream, s.downstream)
        for s in positions.all_syncs().values()
    } == {0: (2, 1)}
    assert positions.unproved() == {("t", 1): Unproved.NOT_UNIQUE}


def test_records_of_headers_are_not_all_read_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, positions = World(partitions=4, has_headers=True), MirrorState()
    worker = WorkerOnLogs(world, positions)
    for partition, log in enumerate(world.source):
        log.add(*(RecordLook(content=1, timestamp=1) for _ in range(3)))
        world.copy(0, 1, 2, partition=partition)
    monkeypatch.setattr(record_matching, "TOGETHER_AT_SOURCE", 6)
    look(worker, world)
    assert len(positions.all_syncs()) == 2
    # The others are not taken for copies without headers meanwhile.
    assert set(positions.unproved().values()) == {Unproved.UNREAD}
    look(worker, world)
    assert len(positions.all_syncs()) == 4
    assert positions.unproved() == {}


@pytest.mark.parametrize(
    ("headers", "offset"),
    [
        (None, None),
        ([], None),
        ([("o", (7).to_bytes(8, "big"))], 7),
        # The last mirror's is behind those of others.
        ([("o", (7).to_bytes(8, "big")), ("o", (9).to_bytes(8, "big"))], 9),
        ([("x", (7).to_bytes(8, "big"))], None),
        ([("o", b"7")], None),
        ([("o", None)], None),
        ([("o", b"\xff" * 8)], 2**64 - 1),
    ],
)
def test_an_offset_is_read_from_a_header(
    headers: list[tuple[str, bytes | None]] | None, offset: int | None
) -> None:
    message: Any = SimpleNamespace(headers=lambda: headers)
    assert read_offset(message, "o") == offset


def test_the_pair_of_a_recreated_topic_without_copies_is_forgotten() -> None:
    world, positions = World(), MirrorState()
    worker = WorkerOnLogs(world, positions)
    written(world, 1, 2, 3)
    world.copy(0, 1, 2)
    look(worker, world)
    again = World()
    world.source, world.target = again.source, again.target
    world.source_id, world.target_id = "s2", "t2"
    look(worker, world)
    assert not positions.all_syncs()


class LargeRecord:
    """A record of so many bytes, as the library gives it."""

    def __init__(self, place: TopicPartition, offset: int, size: int) -> None:
        self._place, self._offset, self._size = place, offset, size

    def __len__(self) -> int:
        return self._size

    def topic(self) -> str:
        return self._place[0]

    def partition(self) -> int:
        return self._place[1]

    def offset(self) -> int:
        return self._offset

    def key(self) -> None:
        return None

    def value(self) -> bytes:
        return b"%d" % self._offset

    def headers(self) -> None:
        return None

    def timestamp(self) -> tuple[int, int]:
        return TIMESTAMP_CREATE_TIME, self._offset


class SlowReader:
    """Reads a record of each partition in turn, as fetches do."""

    def __init__(self, size: int) -> None:
        self._size = size

    def read(
        self,
        wanted: Mapping[TopicPartition, OffsetRange],
        _: float,
        *,
        most_bytes: int,
    ) -> tuple[list[LargeRecord], dict[TopicPartition, None]]:
        left, found, taken = dict.fromkeys(wanted), list[LargeRecord](), 0
        for turn in count() if wanted else ():
            for place, span in wanted.items():
                if taken >= most_bytes or not left:
                    return found, left
                offset = span.first + turn
                if offset < span.end:
                    found.append(LargeRecord(place, offset, self._size))
                    taken += self._size
                if offset + 1 >= span.end:
                    left.pop(place, None)
        return found, left


@pytest.mark.parametrize(
    ("partitions", "size", "waiting", "known"),
    [
        # Of so many none was ever read to its end.
        (70, 2**16, 0, 70),
        # Nor was one.
        (1, 2**23, 0, 1),
        # The copy may be of any record that waits, and that is said.
        (1, 2**20, 3000, 0),
    ],
)
def test_large_records_are_read_with_fewer_others(
    monkeypatch: pytest.MonkeyPatch,
    partitions: int,
    size: int,
    waiting: int,
    known: int,
) -> None:
    world, positions = World(partitions=partitions), MirrorState()
    for log in world.source:
        log.end = 300 + waiting
    for log in world.target:
        log.end = 300
    worker = RecordMatchingWorker(
        flow="f",
        source=cast("Any", SimpleNamespace(alias="s")),
        target=cast("Any", SimpleNamespace(alias="t")),
        properties={"s": {}, "t": {}},
        positions=positions,
        store=cast(
            "Any", SimpleNamespace(load=MatcherState, save=lambda _: None)
        ),
        clock=lambda: world.now,
    )
    reader = SlowReader(size)
    monkeypatch.setattr(worker, "_here", reader)
    monkeypatch.setattr(worker, "_there", reader)

    def first_since(
        _: object, wanted: Mapping[TopicPartition, datetime]
    ) -> dict[TopicPartition, int]:
        return {
            key: round(time.timestamp() * 1000) for key, time in wanted.items()
        }

    monkeypatch.setattr(record_matching, "find_first_since", first_since)
    for _ in range(60):
        worker.take(world.view)
        worker.step()
        world.now += timedelta(seconds=5)
    assert len(positions.all_syncs()) == known
    said = set(positions.unproved().values())
    assert said == (set() if known else {Unproved.TOO_MANY})


def test_copies_that_came_too_late_once_leave_the_position_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, positions = World(), MirrorState()
    worker = WorkerOnLogs(world, positions)
    written(world, 1, 2, 3)
    world.copy(0, 1)
    look(worker, world)
    world.copy(2)
    silent = SimpleNamespace(read=_read_nothing)
    monkeypatch.setattr(worker, "_here", silent)
    read = partial(RecordMatchingWorker._read_copies, worker)  # noqa: SLF001
    with monkeypatch.context() as patched:
        patched.setattr(worker, "_read_copies", read)
        look(worker, world)
    assert positions.unproved() == {}
    world.now += timedelta(minutes=3)
    look(worker, world)
    assert [s.upstream for s in positions.all_syncs().values()] == [2]


def _read_nothing(
    wanted: Mapping[TopicPartition, OffsetRange], *_: object, **__: object
) -> tuple[list[LargeRecord], dict[TopicPartition, None]]:
    return [], dict.fromkeys(wanted)
