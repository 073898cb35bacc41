"""What a failed task is stuck at, by the records that wait for it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest

from mirrorwatch.domain.cluster_view import TopicPartition
from mirrorwatch.domain.mirror_records import (
    Assignment,
    Connector,
    TaskCount,
    TaskState,
)
from mirrorwatch.domain.tasks.model import Stopped
from mirrorwatch.domain.topics import IdentityNaming, Selection
from mirrorwatch.kafka.admin import Cluster
from mirrorwatch.kafka.reader import PartitionEnd
from mirrorwatch.sources import failed_tasks
from mirrorwatch.sources.failed_tasks import FailedTaskWorker
from mirrorwatch.sources.mirror_state import MirrorState
from mirrorwatch.sources.tasks import TaskFacts, TasksState

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@dataclass
class Record:
    """What the library gives of a record."""

    size: int
    at: int

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self.at

    def key(self) -> None:
        return None

    def value(self) -> bytes:
        return b"x" * self.size

    def headers(self) -> None:
        return None


class Consumer:
    """Gives two records, the second of which is larger than one takes."""

    def __init__(self, *_: object, **__: object) -> None:
        self.events: list[Record | PartitionEnd] = [
            Record(500, 7),
            Record(5000, 8),
            PartitionEnd("t", 0, 9),
        ]

    def assign(self, offsets: Mapping[TopicPartition, int]) -> None:
        assert offsets == {("t", 0): 7}

    def drop(self, partitions: Iterable[TopicPartition]) -> None:
        """Do nothing."""

    def consume(self, *_: float) -> Iterator[Record | PartitionEnd]:
        events, self.events = self.events, []
        yield from events

    def close(self) -> None:
        """Do nothing."""


class Site:
    """A cluster that takes records of so many bytes."""

    alias = "ldf"

    def max_message_bytes(self, _: str) -> int:
        return 1000


def inspect(monkeypatch: pytest.MonkeyPatch, **settings: object) -> Stopped:
    """Let one task fail at a record that is too large."""
    monkeypatch.setattr(failed_tasks, "OffsetConsumer", Consumer)
    for name, offset in (("read_ends", 9), ("read_starts", 7)):
        monkeypatch.setattr(
            failed_tasks, name, lambda *_, at=offset: {("t", 0): at}
        )
    positions, state = MirrorState(), TasksState()
    connector = Connector(
        name="c",
        selection=Selection(),
        refresh=timedelta(minutes=10),
        max_in_flight=1,
        **settings,  # type: ignore[arg-type]
    )
    failure = TaskState(
        connector="c",
        task=0,
        state="FAILED",
        worker="w",
        trace="org.apache.kafka.common.errors.RecordTooLargeException: no",
        generation=1,
        written_at=NOON,
    )
    given = Assignment(
        connector="c",
        task=0,
        partitions=frozenset({("t", 0)}),
        written_at=NOON,
    )
    for fact in (connector, TaskCount(connector="c", tasks=1), given, failure):
        positions.note(fact)
    positions.optional.catch_up("status", 0)
    site = cast("Cluster", Site())
    worker = FailedTaskWorker(
        flow="f",
        source=site,
        target=site,
        properties={},
        naming=IdentityNaming(alias="summit"),
        positions=positions,
        facts=TaskFacts(
            positions=positions,
            state=state,
            status="status",
            cluster="ldf",
            has_rest=False,
        ),
        state=state,
        clock=lambda: NOON,
    )
    for _ in range(3):
        worker.step()
    return state.stopped.get()["c", 0]


def test_the_record_that_is_too_large_for_the_target_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (stuck,) = inspect(monkeypatch).stuck
    assert (stuck.offset, stuck.limit_bytes) == (8, 1000)


def test_no_record_is_accused_that_may_be_compressed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = inspect(monkeypatch, compresses=True)
    assert found.stuck == ()
    assert "producer compresses" in found.note
    # What the producer refuses, it refuses before it compresses.
    found = inspect(monkeypatch, compresses=True, max_request_bytes=2000)
    assert [each.offset for each in found.stuck] == [8]
