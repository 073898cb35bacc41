"""The worker of the copies: ranges that it cannot read, and how it reads."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import cast

import pytest

from mirrorwatch.domain.cluster_view import (
    TopicConfigs,
    TopicPartition,
)
from mirrorwatch.domain.copies.coverage import OffsetPair
from mirrorwatch.domain.copies.ranges import (
    EndRequest,
    RangeContent,
    RangeRequest,
)
from mirrorwatch.domain.mirror_records import Connector
from mirrorwatch.domain.offsets import OffsetRange
from mirrorwatch.domain.report import Health, Verdict
from mirrorwatch.domain.skips.check import SkipsLimits, judge_skips
from mirrorwatch.domain.skips.model import SkipsObservation
from mirrorwatch.domain.topics import Selection
from mirrorwatch.exceptions import SourceUnavailableError, StateError
from mirrorwatch.kafka.admin import Cluster
from mirrorwatch.kafka.reader import RangeReader, RecordFingerprint
from mirrorwatch.sources.copies import CopiesWorker, RangeExaminer, RangeQueue
from mirrorwatch.sources.mirror_state import MirrorState
from mirrorwatch.sources.parity import FlowConfigs
from mirrorwatch.state import Database
from mirrorwatch.state.copies import CopiesStore
from mirrorwatch.threads import Latest
from tests.domain.copies.world import START, World
from tests.support.findings import find

TOPIC = "t"


class Answers(RangeExaminer):
    """Reads a world instead of two clusters."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.asked = 0
        self.levels: list[bool] = []
        self.is_held = False
        self.is_away = False
        self.knows_configs = True
        self.read_at_each = 0
        """Bytes that an answer takes of each side."""

    @property
    def has_configs(self) -> bool:
        return self.knows_configs

    @property
    def bytes_read(self) -> tuple[int, int]:
        return (self.asked * self.read_at_each,) * 2

    def find_truncated(
        self, requests: Iterable[EndRequest]
    ) -> list[EndRequest]:
        ends = {True: self.world.target, False: self.world.source}
        return [r for r in requests if len(ends[r.at_target]) < r.offset]

    def answer(
        self,
        requests: Sequence[RangeRequest],
        *,
        committed: bool,
        transactional: bool,
    ) -> list[RangeContent | None]:
        del transactional  # this world has no such records
        self.levels.append(committed)
        self.asked += bool(requests)
        if self.is_away:
            raise SourceUnavailableError(
                "ldf does not answer", source="kafka", cluster="ldf"
            )
        if self.is_held:
            return [None for _ in requests]
        return [self.world.read(request) for request in requests]


class Unconfigured(Answers):
    """Knows no configurations."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.knows_configs = False


class Log(RangeReader):
    """Reads one side of a world."""

    def __init__(self, offsets: Callable[[], Mapping[int, int]]) -> None:
        self._offsets = offsets
        self.bytes_read = 0

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
    find_truncated = RangeExaminer.find_truncated
    bytes_read = RangeExaminer.bytes_read


class Watched:
    """A mirror, and what keeps its books."""

    def __init__(self, answers: type[Answers] = Answers) -> None:
        self.world = World()
        self.store = CopiesStore(Database(None), "f")
        self.answers = answers(self.world)
        self.positions = MirrorState()
        self.positions.keep_every_sync()
        self.now = START
        self.told = 0
        self.watch = CopiesWorker(
            flow="f",
            positions=self.positions,
            store=self.store,
            examiner=self.answers,
            merged=lambda _: False,
            exactly_once=False,
            memory=timedelta(hours=1),
            read_rate=1000,
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
        return sum(each.skipped for _, each in self.seen.counters)

    @property
    def expired(self) -> int:
        return sum(each.expired for _, each in self.seen.counters)

    @property
    def unverifiable(self) -> int:
        return sum(each.unverifiable for _, each in self.seen.counters)

    @property
    def verdict(self) -> Verdict:
        return judge_skips("f", self.seen, SkipsLimits(), self.now)


def test_dropped_records_are_counted() -> None:
    watched = Watched()
    assert watched.skipped == 10
    assert watched.verdict.health is Health.CRITICAL


@pytest.mark.parametrize("why", ["is_held", "is_away"])
def test_no_loss_is_told_of_a_range_that_cannot_be_read_now(why: str) -> None:
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
def test_no_loss_is_told_while_a_partition_has_no_log_start(
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
    assert bool(watched.expired) is (side == "is_led")
    assert bool(watched.unverifiable) is (side != "is_led")


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


def test_a_range_that_is_too_large_is_unverifiable_by_its_net(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mirrorwatch.sources.copies._LARGEST", 100)
    watched = Watched()
    asked = watched.answers.asked
    watched.do("copy 10", "write 300", "drop 280", "copy 20", "flush")
    assert watched.answers.asked == asked
    assert (watched.skipped, watched.unverifiable) == (10, 280)
    find(watched.verdict, "skips.unverifiable", topic="t", records=280)
    assert watched.seen.unread is None


def test_ranges_beyond_the_read_rate_wait_a_minute_then_are_unverifiable() -> (
    None
):
    watched = Watched()
    watched.answers.read_at_each = 100_000  # a hundred seconds' worth
    for _ in range(2):
        watched.do("write 9", "copy 3", "drop 3", "copy 3", "flush")
    # The second one waits for its turn.
    assert (watched.skipped, watched.unverifiable) == (13, 0)
    assert watched.seen.unread is not None
    watched.wait(50)
    assert (watched.skipped, watched.unverifiable) == (13, 3)
    watched.wait(100)
    watched.do("write 9", "copy 3", "drop 3", "copy 3", "flush")
    assert (watched.skipped, watched.unverifiable) == (16, 3)


def test_ranges_wait_for_configurations_after_the_start() -> None:
    # Without them nobody knows what may be compacted.
    watched = Watched(Unconfigured)
    assert watched.now - START == timedelta(seconds=30)
    assert watched.skipped == 0
    watched.wait(1)
    assert watched.skipped == 10


def test_the_range_that_has_waited_longest_is_read_first() -> None:
    # A busy partition has another range to be read at every call.
    queue = RangeQueue()
    busy, quiet = (
        RangeRequest(
            place=(TOPIC, partition),
            remote=TOPIC,
            target_id="t1",
            start=OffsetPair(0, 0),
            pairs=(),
            source=(range(9),),
            target=range(9),
            passed=9,
        )
        for partition in (0, 1)
    )
    error = SourceUnavailableError("away", source="kafka", cluster="ldf")
    queue.fail(queue.next([busy, quiet], [], START), error, START)
    read = []
    for second in range(3):
        now = START + timedelta(seconds=second)
        for request in queue.next([busy, quiet], [], now):
            queue.succeed(request.place)
            read.append(request)
    assert quiet in read


@pytest.mark.parametrize("lost", [0, 5])
def test_an_end_that_fell_is_believed_once_brokers_confirm_it(
    lost: int,
) -> None:
    watched = Watched()
    watched.do("write 10", "copy 20", "flush")
    world, end = watched.world, len(watched.world.target)
    kept, world.target = world.target, world.target[: end - 5]
    if not lost:
        # The log is longer than a stale leader says.
        watched.answers.world = replace(world, target=kept)
    watched.look()
    assert watched.skipped == 10
    watched.wait(40)
    assert watched.skipped == 10 + lost


def test_what_could_not_be_saved_is_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watched = Watched()

    def refuse(*_: object) -> None:
        raise StateError("The disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(watched.store, "save", refuse)
        with pytest.raises(StateError):
            watched.do("write 9", "copy 3", "drop 3", "copy 3", "flush")
    assert watched.skipped == 10
    watched.watch.step()
    watched.told = 0  # the syncs topic is read again
    watched.do("flush")
    assert watched.skipped == 13
