"""A fetch that hangs is the agent's own stall, which the ends show."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import Message

from mirrorwatch.domain.canary.check import CanaryLimits, judge_canary
from mirrorwatch.domain.report import Health, Verdict
from mirrorwatch.kafka.reader import PartitionEnd
from mirrorwatch.sources.canary import consumer
from mirrorwatch.sources.canary.consumer import ReadProbe
from tests.sources.canary.consumer_test import Event, Library, consumer_at
from tests.sources.canary.worker_test import SECOND, World
from tests.support.builders import FLOW, NOON


def judged(world: World) -> Verdict:
    return judge_canary(FLOW.name, world.tick(), CanaryLimits(), world.now)


def started(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(monkeypatch)
    world.worker.step()
    world.reach_ends()
    world.tick()
    return world


def test_what_is_at_the_target_is_neither_overdue_nor_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = started(monkeypatch)
    world.run(5 * SECOND)
    reader: Any = world.worker._receiver._consumer  # noqa: SLF001
    follow, held, hangs = reader.follow, list[Any](), True

    def look(batch: int, seconds: float) -> Iterator[Any]:
        for record in follow(batch, seconds):
            if hangs and record.partition() == 1:
                held.append(record)
            else:
                yield record
        if not hangs:
            yield from held
            held.clear()

    monkeypatch.setattr(reader, "follow", look)
    verdicts, live = [], []
    for second in range(6, 70):
        if second == 60:
            hangs = False
        if second % 5 == 0:
            world.survey()  # with ends that count what is held
        world.run(second * SECOND)
        seen = world.tick()
        live += [a.sent_at for a in seen.arrivals if a.partition == 1]
        verdicts.append(
            judge_canary(FLOW.name, seen, CanaryLimits(), world.now)
        )
    worst = max(verdicts, key=lambda v: v.health)
    late = [p.counts.late for p in world.tick().partitions]
    assert worst.health is not Health.CRITICAL, worst.reason
    assert late == [0, 0, 0]
    assert world.tick().bad == 0
    # When they arrived is not known.
    assert max(live) <= NOON + 6 * SECOND
    assert world.tick().partitions[1].counts.delivered > 60


def test_a_mirror_that_stopped_on_one_partition_stays_critical(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = started(monkeypatch)
    world.dropped = {(1, sequence) for sequence in range(5, 100)}
    world.run(SECOND)
    for second in range(2, 70):
        if second % 5 == 0:
            world.survey()
        world.run(second * SECOND)
        assert world.tick().unread == frozenset()
        if second > 40:
            assert judged(world).health is Health.CRITICAL
    assert world.tick().bad > 50


def test_a_partition_that_is_read_in_time_gives_live_latencies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = started(monkeypatch)
    assigned = list[Any]()
    reader = world.worker._receiver._consumer  # noqa: SLF001
    monkeypatch.setattr(reader, "add", assigned.append)
    world.run(1.5 * SECOND)
    before = sum(p.counts.delivered for p in world.tick().partitions)
    arrivals = 0
    for step in range(16, 600):
        if step % 50 == 0:
            world.survey()  # just as a probe is under way, at times
        world.run(step * SECOND / 10)
        seen = world.tick()
        arrivals += len(seen.arrivals)
        assert seen.unread == frozenset()
    delivered = sum(p.counts.delivered for p in seen.partitions)
    assert arrivals == delivered - before > 170
    assert assigned == []


class Reader:
    """Reads partition 0, of which all below offset 7 was read at noon."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.library = Library()
        monkeypatch.setattr(
            consumer, "OffsetConsumer", lambda *_, **__: self.library
        )
        self.now = [NOON]
        self.reader = consumer_at(self.now)
        self.reader.read(0, 7, NOON)
        self.look(PartitionEnd("canary", 0, 7))
        self.library.assigned.clear()

    def look(self, *events: Event) -> list[ReadProbe]:
        """Look for a quarter of a second; return the records."""
        self.now[0] += SECOND / 4
        self.library.looks.append([*events])
        found = self.reader.receive(0.25)
        return [event for event in found if isinstance(event, ReadProbe)]

    def wait(self, seconds: int) -> None:
        for _ in range(4 * seconds):
            self.look()

    @property
    def unread(self) -> frozenset[int]:
        return self.reader.unread

    @property
    def assigned(self) -> list[int]:
        return [each["canary", 0] for each in self.library.assigned]


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Reader:
    return Reader(monkeypatch)


def record(offset: int) -> Message:
    found = SimpleNamespace(
        partition=int, offset=partial(int, offset), value=bytes
    )
    return cast("Message", found)


def absent_until(found: list[ReadProbe]) -> list[datetime]:
    return [each.absent_until for each in found]


def test_nobody_looked_since_the_last_survey_that_was_read(
    reader: Reader,
) -> None:
    reader.wait(5)
    read_at = reader.now[0]
    reader.reader.note_ends({0: 7}, read_at)
    reader.wait(5)
    reader.reader.note_ends({0: 9}, reader.now[0])
    reader.wait(2)
    assert (reader.unread, reader.assigned) == (frozenset(), [])
    assert reader.reader.behind == {0}
    reader.wait(60)
    assert (reader.unread, reader.assigned) == (frozenset({0}), [7])
    # Newer ends say no more, and no end was read since.
    reader.reader.note_ends({0: 60}, reader.now[0])
    assert absent_until(reader.look(record(7))) == [read_at]
    assert absent_until(reader.look(record(59))) == [read_at]
    assert reader.unread == {0}
    reader.look(PartitionEnd("canary", 0, 60))
    assert reader.unread == frozenset()
    assert absent_until(reader.look(record(60))) == [reader.now[0]]


def test_what_came_after_two_seconds_is_no_live_arrival(
    reader: Reader,
) -> None:
    reader.reader.note_ends({0: 9}, reader.now[0])
    reader.wait(3)
    assert reader.unread == frozenset()
    assert absent_until(reader.look(record(7), record(8))) == [NOON, NOON]
    # What else there is may have waited as long.
    assert reader.unread == {0}
    assert absent_until(reader.look(record(9))) == [NOON]
    reader.look(PartitionEnd("canary", 0, 10))
    assert reader.unread == frozenset()


def test_an_end_that_cannot_be_read_yet_blinds_nobody(
    reader: Reader,
) -> None:
    """Of a transaction that is open for long, or of a log cut since."""
    for _ in range(5):
        reader.library.assigned.clear()
        reader.reader.note_ends({0: 9}, reader.now[0])
        reader.wait(3)
        assert reader.assigned == [7]
        # Once it is assigned, the library gives the end that it can read to.
        reader.look(PartitionEnd("canary", 0, 7))
        assert reader.reader.behind == frozenset()
        known = reader.now[0]
        reader.wait(2)
        assert reader.unread == frozenset()
    reader.reader.note_ends({0: 9}, reader.now[0])
    reader.wait(3)
    (absent,) = absent_until(reader.look(record(7)))
    assert known - 2 * SECOND < absent <= known


def test_markers_are_read_with_the_end(reader: Reader) -> None:
    assert absent_until(reader.look(record(7))) == [reader.now[0]]
    reader.reader.note_ends({0: 9}, reader.now[0])  # a marker is at 8
    reader.look()
    reader.look(PartitionEnd("canary", 0, 9))
    assert reader.reader.behind == frozenset()
    reader.wait(30)
    assert (reader.unread, reader.assigned) == (frozenset(), [])


def test_a_pause_of_the_process_does_not_hide_that_nobody_looked(
    reader: Reader,
) -> None:
    reader.wait(5)
    reader.reader.note_ends({0: 9}, reader.now[0])
    reader.wait(1)
    reader.now[0] += timedelta(minutes=1)
    assert absent_until(reader.look(record(7))) == [NOON]
    assert reader.unread == {0}
