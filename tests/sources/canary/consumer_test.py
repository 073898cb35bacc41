"""Whether the reader of the canary topic knows when it did not look."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import Message

from mirrorwatch.kafka.reader import PartitionEnd, ReadFailure
from mirrorwatch.sources.canary import consumer
from mirrorwatch.sources.canary.consumer import CanaryConsumer, ReadProbe
from tests.support.builders import NOON

Event = Message | PartitionEnd | ReadFailure


class Library:
    """Gives what the test left for each look."""

    def __init__(self, *_: object, **__: object) -> None:
        self.looks: list[list[Event]] = []
        self.rest: list[Event] = []
        self.assigned: list[Mapping[tuple[str, int], int]] = []

    def follow(self, batch: int, _: float) -> Iterator[Event]:
        # The first ends the wait; the rest of a look comes with the second.
        if batch > 1:
            return iter(self.rest)
        return iter(self.looks.pop(0) if self.looks else [])

    def add(self, offsets: Mapping[tuple[str, int], int]) -> None:
        self.assigned.append(offsets)

    def drop(self, _: Any) -> None:
        """Do nothing."""


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    library = Library()
    monkeypatch.setattr(consumer, "OffsetConsumer", lambda *_, **__: library)
    return library


def consumer_at(now: list[datetime]) -> CanaryConsumer:
    """Return one by whose clock it is the time that a list holds."""
    return CanaryConsumer(
        {},
        cluster="ldf",
        topic="canary",
        interval=timedelta(seconds=1),
        clock=lambda: now[0],
    )


def test_records_arrive_together_however_long_the_first_is_worked_on(
    library: Library,
) -> None:
    now = [NOON]
    reader = consumer_at(now)
    records: list[Event] = [
        cast(
            "Message",
            SimpleNamespace(
                partition=partial(int, n), offset=int, value=bytes
            ),
        )
        for n in range(2)
    ]
    library.looks, library.rest = [records[:1]], records[1:]
    arrived = []
    for event in reader.receive(0.25):
        assert isinstance(event, ReadProbe)
        arrived.append((event.partition, event.seen_at))
        now[0] += timedelta(milliseconds=2)
    assert arrived == [(0, NOON), (1, NOON)]


def test_an_end_of_before_a_pause_does_not_show_what_came_meanwhile(
    library: Library,
) -> None:
    now = [NOON]
    reader = consumer_at(now)
    for partition in (0, 1):
        reader.read(partition, 7, NOON)

    def look(*ends: int, after: float) -> frozenset[int]:
        now[0] += timedelta(seconds=after)
        library.looks.append([PartitionEnd("canary", p, 7) for p in ends])
        list(reader.receive(0.25))
        return reader.unread

    assert look(0, 1, after=0.25) == frozenset()
    # The library had this end when the process was paused.
    assert look(0, after=25) == {0, 1}
    library.assigned.clear()
    assert look(1, after=0.25) == {0}
    assert library.assigned == [{("canary", 0): 7}, {("canary", 1): 7}]
    assert look(0, after=0.25) == frozenset()
