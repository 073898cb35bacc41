"""What keeps the books: what it does about stretches it cannot read."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import cast

import pytest

from mirrorwatch.domain.cluster_view import (
    ClusterView,
    FlowView,
    TopicConfigs,
    TopicPartition,
)
from mirrorwatch.domain.mirror_records import Assignment, Connector
from mirrorwatch.domain.offsets import OffsetRange
from mirrorwatch.domain.report import Health, Verdict
from mirrorwatch.domain.skips.check import SkipsLimits, judge_skips
from mirrorwatch.domain.skips.model import RangeRequest, SkipsObservation
from mirrorwatch.domain.skips.partition import PartitionState
from mirrorwatch.domain.skips.settle import RangeContent
from mirrorwatch.domain.skips.tracker import SkipTracker
from mirrorwatch.domain.topics import Selection
from mirrorwatch.exceptions import SourceUnavailableError
from mirrorwatch.kafka.admin import Cluster
from mirrorwatch.kafka.reader import RangeReader, RecordFingerprint
from mirrorwatch.sources.mirror_state import MirrorState
from mirrorwatch.sources.parity import FlowConfigs
from mirrorwatch.sources.skips import (
    RangeExaminer,
    SkipsWorker,
    SuspectedDrops,
)
from mirrorwatch.state import Database
from mirrorwatch.state.skips import SkipsStore
from mirrorwatch.threads import Latest
from tests.domain.skips.world import START, World
from tests.support.findings import find

TOPIC = "t"


class Answers(RangeExaminer):
    """Reads a world instead of two clusters."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.asked = 0
        self.levels: list[bool | None] = []
        self.is_held = False
        self.is_away = False

    def answer(
        self,
        requests: Sequence[RangeRequest],
        *,
        committed: bool,
        transactional: bool,
    ) -> list[RangeContent | None]:
        del transactional  # this world has no such records
        self.levels.append(committed)
        self.asked += 1
        if self.is_away:
            raise SourceUnavailableError(
                "ldf does not answer", source="kafka", cluster="ldf"
            )
        if self.is_held:
            return [None for _ in requests]
        return [self.world.read(request) for request in requests]


class Log(RangeReader):
    """Reads one side of a world."""

    def __init__(self, offsets: Callable[[], Mapping[int, int]]) -> None:
        self._offsets = offsets

    def read(
        self,
        wanted: Iterable[tuple[TopicPartition, OffsetRange]],
        *,
        committed: bool,
    ) -> dict[TopicPartition, dict[int, RecordFingerprint] | None]:
        del committed
        found: dict[TopicPartition, dict[int, RecordFingerprint] | None] = {}
        for place, span in wanted:
            known = found[place] = found.get(place) or {}
            known |= {
                offset: RecordFingerprint(
                    content=look, timestamp=0, by_broker=False
                )
                for offset, look in self._offsets().items()
                if span.first <= offset < span.end
            }
        return found


class Logs(Answers):
    """Lets the examiner itself read both sides of a world."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.expired = self.expired_here = 0
        self.is_led = self.is_led_here = True
        self._source = cast(
            "Cluster",
            SimpleNamespace(
                offsets=lambda places: dict.fromkeys(
                    places if self.is_led else (), self.expired
                )
            ),
        )
        self._target = cast(
            "Cluster",
            SimpleNamespace(
                offsets=lambda places: dict.fromkeys(
                    places if self.is_led_here else (), self.expired_here
                )
            ),
        )
        self._ends = lambda places: dict.fromkeys(places, len(world.target))
        plain = TopicConfigs(cleanup_policy=frozenset({"delete"}))
        self._configs = Latest(
            FlowConfigs(source={TOPIC: plain}, target={TOPIC: plain})
        )
        self._there = Log(
            lambda: {
                offset: look
                for offset, look in enumerate(world.source)
                if look is not None and offset >= self.expired
            }
        )
        self._here = Log(
            lambda: {
                down: up + 1000
                for down, up in enumerate(world.target)
                if up is not None and down >= self.expired_here
            }
        )

    answer = RangeExaminer.answer


class Watched:
    """A mirror, and what keeps its books."""

    def __init__(self, answers: type[Answers] = Answers) -> None:
        self.world = World()
        self.answers = answers(self.world)
        self.positions = MirrorState()
        self.positions.keep_every_sync()
        self.now = START
        self.told = 0
        self.watch = SkipsWorker(
            flow="f",
            positions=self.positions,
            store=SkipsStore(Database(None), "f"),
            examiner=self.answers,
            merged=lambda _: False,
            exactly_once=False,
            patience=timedelta(minutes=2),
            memory=timedelta(hours=1),
            clock=self.clock,
        )
        self.do("write 20", "copy 20", "flush")
        self.do("write 20", "copy 5", "drop 10", "copy 5", "flush")

    def clock(self) -> datetime:
        return self.now

    def do(self, *actions: str) -> None:
        """Let something happen, and look three times."""
        self.world.do(*actions)
        for sync in self.world.told[self.told :]:
            self.positions.note(sync)
        self.told = len(self.world.told)
        self.look()

    def look(self) -> None:
        for _ in range(3):
            self.now += timedelta(seconds=5)
            self.world.now = self.now
            new_syncs = self.positions.take_syncs()
            self.watch.take(replace(self.world.view(), new_syncs=new_syncs))
            self.watch.step()

    def wait(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)
        self.look()

    @property
    def seen(self) -> SkipsObservation:
        (seen,) = self.watch.observe(self.now)
        return seen

    @property
    def skipped(self) -> int:
        return sum(tally.skipped for _, tally in self.seen.tallies)

    @property
    def verdict(self) -> Verdict:
        return judge_skips("f", self.seen, SkipsLimits(), self.now)


def test_dropped_records_are_in_the_books() -> None:
    watched = Watched()
    assert watched.skipped == 10
    assert watched.verdict.health is Health.CRITICAL


@pytest.mark.parametrize("why", ["is_held", "is_away"])
def test_nothing_is_booked_of_what_cannot_be_read(why: str) -> None:
    watched = Watched()
    setattr(watched.answers, why, True)
    asked = watched.answers.asked
    watched.do("write 9", "copy 3", "drop 3", "copy 3", "flush")
    assert watched.skipped == 10
    # It is left alone for a while, not asked for at every step.
    assert watched.answers.asked == asked + 1
    assert watched.seen.unread is not None
    assert watched.seen.unread.problem
    watched.wait(130)
    watched.watch.step()
    assert watched.skipped == 10
    find(watched.verdict, "skips.pending", partitions=1)
    setattr(watched.answers, why, False)
    watched.wait(20)
    assert watched.skipped == 13
    assert watched.seen.unread is None


@pytest.mark.parametrize("side", ["is_led", "is_led_here"])
def test_nothing_is_booked_while_a_partition_has_no_start(
    side: str,
) -> None:
    """What expired would be taken for records that were never there."""
    watched = Watched(Logs)
    logs = watched.answers
    assert isinstance(logs, Logs)
    assert watched.skipped == 10
    setattr(logs, side, False)
    watched.world.do("write 9", "copy 3", "drop 3", "copy 3", "flush")
    if side == "is_led":
        logs.expired = len(watched.world.source) - 1
    else:
        logs.expired_here = len(watched.world.target) - 1
    watched.do()
    assert watched.skipped == 10
    assert watched.seen.foreign == ()
    watched.wait(130)
    unread = watched.seen.unread
    assert unread is not None
    assert "it has no leader" in str(unread.problem)
    setattr(logs, side, True)
    watched.wait(20)
    # Three had no room among the copies that expired.
    assert watched.skipped == (10 if side == "is_led" else 13)
    assert watched.seen.unread is None
    (tally,) = [tally for _, tally in watched.seen.tallies]
    assert tally.unverifiable


def test_what_a_mirror_left_out_before_it_was_told_not_to_is_no_loss() -> None:
    watched = Watched()
    assert set(watched.answers.levels[-1:]) == {False}
    connector = Connector(
        name="c",
        selection=Selection(include=(".*",)),
        refresh=timedelta(minutes=10),
        max_in_flight=1,
        read_committed=True,
    )
    watched.positions.note(connector)
    watched.look()
    watched.positions.note(replace(connector, read_committed=False))
    watched.wait(200)
    watched.do("write 9", "copy 3", "drop 3", "copy 3", "flush")
    assert set(watched.answers.levels[-1:]) == {True}
    watched.wait(100)
    watched.do("write 9", "copy 3", "drop 3", "copy 3", "flush")
    assert set(watched.answers.levels[-1:]) == {False}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mirrorwatch.sources.skips._LARGEST", 100)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("ends", ["copy", "flush"])
def test_of_very_many_records_some_prove_a_loss(ends: str) -> None:
    watched = Watched()
    watched.do("write 300", "fail 280", "flush", ends, "flush")
    watched.wait(30)
    (tally,) = [tally for _, tally in watched.seen.tallies]
    lost = tally.skipped - 10
    assert 0 < lost <= 280 <= lost + tally.unverifiable
    assert watched.verdict.health is Health.CRITICAL
    find(watched.verdict, "skips.dropped", topic="t", sampled=lost)
    watched.wait(900)
    assert watched.verdict.health is Health.CRITICAL


@pytest.mark.usefixtures("small")
def test_marks_in_a_range_too_long_to_read_are_no_loss() -> None:
    watched = Watched()
    watched.do("copy 10", "mark 280", "write 9", "copy 9", "flush")
    assert watched.skipped == 10
    (tally,) = [tally for _, tally in watched.seen.tallies]
    assert 0 < tally.unverifiable <= 280


@pytest.mark.usefixtures("small")
def test_what_a_sample_cannot_prove_is_unverifiable() -> None:
    watched = Watched()
    watched.answers.world.told.clear()
    watched.world.do("write 300", "copy 100", "drop 90", "copy 110")
    watched.world.told = watched.world.told[-1:]
    watched.told = 0
    watched.do("flush")
    assert watched.skipped == 10
    (tally,) = [tally for _, tally in watched.seen.tallies]
    assert tally.unverifiable == 90


class Drops:
    """Two partitions of one task. It left records of one behind, more than
    are counted by reading, and copies the other.
    """

    LEFT, BUSY = (TOPIC, 0), (TOPIC, 1)
    END = 100_000

    def __init__(self) -> None:
        self.at = START
        self.ends = {self.LEFT: self.END, self.BUSY: 1}
        self.tracker = Positions({self.LEFT: 20, self.BUSY: 1})
        self.drops = SuspectedDrops(timedelta(minutes=2))
        self.pass_time(150)

    def pass_time(self, seconds: int) -> None:
        """Look each second, while the other partition is copied."""
        for _ in range(seconds):
            self.at += timedelta(seconds=1)
            self.ends[self.BUSY] += 1
            self.tracker.at[self.BUSY] = self.ends[self.BUSY]
            self.drops.look(
                flow_view(self.at, self.ends),
                self.tracker,
                [
                    Assignment(
                        connector="c",
                        task=0,
                        partitions=frozenset(self.ends),
                        written_at=START,
                    )
                ],
            )

    def move(self, to: int = END + 1) -> None:
        """The mirror copies what comes after the records it left."""
        self.ends[self.LEFT] = self.END + 1
        self.tracker.at[self.LEFT] = to

    @property
    def count(self) -> int:
        return sum(found.count for found in self.drops.found())


class Positions(SkipTracker):
    """A tracker with given positions, and one sync of each partition."""

    def __init__(self, at: dict[tuple[str, int], int]) -> None:
        super().__init__()
        self.at = at
        for (topic, partition), offset in at.items():
            self.states[topic, partition] = PartitionState(
                topic=topic,
                partition=partition,
                source_id="id",
                upstream=offset,
            )

    def positions(
        self, places: Iterable[tuple[str, int]]
    ) -> dict[tuple[str, int], int]:
        return {place: self.at[place] for place in places if place in self.at}


def flow_view(at: datetime, ends: dict[tuple[str, int], int]) -> FlowView:
    source, target = (
        ClusterView(alias=a, id=a, at=at, topics={}, ends=dict(ends))
        for a in ("a", "b")
    )
    return FlowView(
        flow="f",
        at=at,
        committed={},
        syncs={},
        caught_up=True,
        target=target,
        source=source,
        names={TOPIC: TOPIC},
    )


@pytest.mark.parametrize("position", [21, Drops.END + 1])
def test_a_suspicion_stays_until_the_sync_that_proves_it_is_read(
    position: int,
) -> None:
    drops = Drops()
    assert drops.count == drops.END - 20
    # The end of the target shows one more record, or the commit shows all,
    # before the sync is read.
    drops.move(position)
    drops.pass_time(3)
    assert drops.count == drops.END - 20
    drops.tracker.states[drops.LEFT].upstream = drops.END
    drops.pass_time(1)
    assert drops.count == 0


def test_a_suspicion_does_not_wait_for_ever_for_a_sync() -> None:
    # MirrorMaker writes one of a hundred records: there may be none.
    drops = Drops()
    drops.move()
    drops.pass_time(15)
    assert drops.count == 0
