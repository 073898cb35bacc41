"""How often the canary writes down what it knows, and how soon it says it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from mirrorwatch.domain.canary.model import (
    CanaryObservation,
    CanarySurvey,
    MirrorPosition,
    ProbeMessage,
    TopicState,
)
from mirrorwatch.sources.canary import consumer, worker
from mirrorwatch.sources.canary.encoding import Json
from mirrorwatch.sources.canary.producer import SendResult
from mirrorwatch.sources.canary.settings import CanarySettings
from mirrorwatch.sources.canary.worker import (
    CanarySource,
    CanaryState,
    CanaryWorker,
)
from mirrorwatch.state import Database
from mirrorwatch.state.canary import CanaryStore
from tests.support.builders import FLOW, NOON

SECOND = timedelta(seconds=1)
MILLISECOND = timedelta(milliseconds=1)
PARTITIONS = 3

SETTINGS = CanarySettings(
    flow=FLOW,
    topic="c",
    remote_topic="c",
    interval=SECOND,
    deadline=30 * SECOND,
    warmup=SECOND,
    create=False,
)


@dataclass(frozen=True, kw_only=True)
class Record:
    """A probe that will be at the target, as the library gives it."""

    at: datetime
    place: tuple[int, int]
    message: ProbeMessage

    def error(self) -> None:
        return None

    def partition(self) -> int:
        return self.place[0]

    def offset(self) -> int:
        return self.place[1]

    def value(self) -> bytes:
        return Json().encode(self.message, 200)


class World:
    """A worker whose mirror copies a probe in 15 ms, and 5 ms more for each
    partition; whoever waits for records lets the time pass.
    """

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, *, tick: timedelta = 5 * SECOND
    ) -> None:
        self.now = NOON
        self.saved: list[datetime] = []
        self.copying: list[Record] = []
        self.dropped: set[tuple[int, int]] = set()
        self.took: list[timedelta] = []
        self.offsets = [0] * PARTITIONS
        monkeypatch.setattr(
            consumer, "OffsetConsumer", lambda *_, **__: self.reader()
        )
        monkeypatch.setattr(worker, "CanaryProducer", self.producer)
        self.state = CanaryState()
        store = CanaryStore(Database(None), FLOW.name)
        self.worker = CanaryWorker(
            settings=SETTINGS,
            source={},
            target={},
            store=store,
            state=self.state,
            tick=tick,
            clock=lambda: self.now,
        )
        self.source = CanarySource(
            settings=SETTINGS,
            state=self.state,
            losses=[],
            lost_window=3600 * SECOND,
        )
        save = store.save

        def note(*written: Any) -> None:
            self.saved.append(self.now)
            save(*written)

        monkeypatch.setattr(store, "save", note)
        self.survey()

    def survey(self, **facts: Any) -> None:
        topic = TopicState(id="t", partitions=frozenset(range(PARTITIONS)))
        found = CanarySurvey(
            at=self.now,
            target=topic,
            ends=dict(enumerate(self.offsets)),
            source=topic,
            source_cluster="s",
            target_cluster="t",
            **facts,
        )
        self.state.surveys.put(found)
        self.state.survey.set(found)

    def run(self, until: timedelta) -> None:
        while self.now < NOON + until:
            self.worker.step()

    def tick(self) -> CanaryObservation:
        (seen,) = self.source.observe(self.now)
        return seen

    def producer(
        self,
        _properties: Mapping[str, str],
        _settings: CanarySettings,
        on_outcome: Callable[[SendResult], None],
    ) -> Any:
        sent: list[tuple[datetime, timedelta, ProbeMessage]] = []

        def send(message: ProbeMessage, _size: int, age: timedelta) -> None:
            sent.append((self.now, age, message))
            partition = message.partition
            if (partition, message.sequence) in self.dropped:
                return
            wait = (15 + 5 * partition) * MILLISECOND
            place = partition, self.offsets[partition]
            self.offsets[partition] += 1
            self.copying.append(
                Record(at=self.now + wait, place=place, message=message)
            )

        def poll() -> None:
            for at, age, message in sent:
                self.took.append(age + self.now - at)
                offset = message.sequence - 1
                on_outcome(
                    SendResult(
                        message=message,
                        source_offset=offset,
                        took=self.took[-1],
                    )
                )
            sent.clear()

        return SimpleNamespace(
            send=send, poll=poll, learn_partitions=lambda: None
        )

    def reader(self) -> Any:
        def follow(batch: int, seconds: float) -> Iterator[Record]:
            self.copying.sort(key=lambda record: record.at)
            end = self.now + timedelta(seconds=seconds)
            comes = self.copying[0].at if self.copying else end
            self.now = max(self.now, min(end, comes))
            there = [r for r in self.copying if r.at <= self.now][:batch]
            self.copying = self.copying[len(there) :]
            return iter(there)

        return SimpleNamespace(
            follow=follow, add=lambda _: None, drop=lambda _: None
        )

    def reach_ends(self) -> None:
        """Let the library have reported the end of each partition."""
        self.worker._receiver._absent_until.clear()  # noqa: SLF001


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(monkeypatch)
    world.worker.step()
    world.reach_ends()
    return world


def test_arrivals_are_written_down_with_the_next_probes(world: World) -> None:
    world.run(2.5 * SECOND)
    world.tick()
    begun = len(world.saved)
    world.run(6.5 * SECOND)
    # Neither between two arrivals, nor after them.
    sent = [NOON + n * SECOND for n in (3, 4, 5, 6)]
    assert [at for at in world.saved[begun:] if at.microsecond < 3000] == [
        *world.saved[begun:]
    ]
    assert len(world.saved) == begun + len(sent)


def test_a_tick_sees_what_arrived_a_quarter_of_a_second_before(
    world: World,
) -> None:
    world.run(2.5 * SECOND)
    world.tick()
    world.run(7.5 * SECOND)
    delivered = [p.counts.delivered for p in world.tick().partitions]
    # Of the probes of this second, too.
    assert delivered == [8] * PARTITIONS


def test_arrivals_are_written_down_soon_where_ticks_are_close(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(monkeypatch, tick=SECOND / 4)
    world.worker.step()
    world.reach_ends()
    world.tick()
    world.run(0.4 * SECOND)
    assert [p.outstanding for p in world.tick().partitions] == [0] * 3


def test_looks_are_short_while_a_probe_is_under_way(world: World) -> None:
    world.tick()
    world.dropped = {(1, 3)}
    world.run(2 * SECOND + 22 * MILLISECOND)
    steps = []
    while world.now < NOON + 2.9 * SECOND:
        begin = world.now
        world.worker.step()
        steps.append(world.now - begin)
    assert max(steps) <= SECOND / 4


def test_a_loss_does_not_wait_for_the_next_probes(world: World) -> None:
    world.tick()
    world.dropped = {(1, 3)}
    world.run(2 * SECOND + 22 * MILLISECOND)
    position = MirrorPosition(
        origin="committed",
        position=3,
        seen_at=world.now + 10 * SECOND,
        counts_at=world.now,
    )
    world.survey(positions={1: (position,)})
    world.worker._settle_at = world.now  # noqa: SLF001
    # With it, nothing is under way any more.
    world.run(2.25 * SECOND)
    assert world.now < NOON + 2.9 * SECOND
    (loss,) = world.state.losses.take_all()
    assert (loss.partition, loss.sequence) == (1, 3)


def test_a_survey_ends_a_long_look(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.tick()
    # Nothing is under way then, so that it looks until the next probes.
    world.run(SECOND + 22 * MILLISECOND)
    consumer = world.worker._receiver._consumer  # noqa: SLF001
    follow, looks = consumer.follow, list[datetime]()

    def look(batch: int, seconds: float) -> Any:
        found = follow(batch, seconds)
        looks.append(world.now)
        if len(looks) == 2:
            world.survey()
        return found

    monkeypatch.setattr(consumer, "follow", look)
    world.worker.step()
    assert len(looks) == 2
    world.worker.step()
    assert len(looks) > 3
    assert world.now < NOON + 2.1 * SECOND


def test_the_write_before_a_send_is_no_time_that_is_left_out(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.tick()
    world.run(1.5 * SECOND)
    world.took.clear()
    keep = world.worker._write  # noqa: SLF001

    def write(now: datetime) -> None:
        keep(now)
        world.now += 7 * MILLISECOND

    monkeypatch.setattr(world.worker, "_write", write)
    world.run(2.5 * SECOND)
    assert world.took == [7 * MILLISECOND] * PARTITIONS
