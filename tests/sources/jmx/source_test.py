"""Readings with their age: fresh, old, failed, hanging."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from mirrorwatch.domain.bottleneck.model import (
    ErrorCounters,
    MBean,
    MBeanQuery,
    MirrorMetrics,
    TaskErrors,
)
from mirrorwatch.exceptions import SourceUnavailableError
from mirrorwatch.sources.jmx.source import JmxSource, JmxState, JmxWorker
from mirrorwatch.state import Database
from mirrorwatch.state.documents import DocumentStore

NOON = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)
A, B = "http://a/jolokia", "http://b/jolokia"
MBEAN = MBean(domain="d", properties={}, attributes={})


class FakeReader:
    def __init__(self, clock: "Clock") -> None:
        self.takes = timedelta()
        self.costs_seconds = self.busy_seconds = 0.0
        self.trouble = ""
        self.closed = False
        self._clock = clock

    def read(self, wanted: Sequence[MBeanQuery]) -> Sequence[MBean]:
        self._clock.now += self.takes
        self.busy_seconds += self.costs_seconds
        if self.trouble:
            raise SourceUnavailableError(
                self.trouble, source="jmx", cluster="ldf"
            )
        return [MBEAN]

    def close(self) -> None:
        self.closed = True


class Clock:
    now = NOON

    def __call__(self) -> datetime:
        return self.now


def interpret(read: Mapping[str, Sequence[MBean]]) -> MirrorMetrics:
    return MirrorMetrics(
        errors={
            (url, "c", 0): TaskErrors(record_failures=len(mbeans))
            for url, mbeans in read.items()
        }
    )


class World:
    def __init__(self, database: Database | None = None) -> None:
        self.clock, self.board = Clock(), JmxState()
        self.reader = FakeReader(self.clock)
        self.worker = JmxWorker(
            url=A,
            reader=self.reader,
            wanted=(),
            board=self.board,
            interval=timedelta(seconds=5),
            timeout=timedelta(seconds=4),
            clock=self.clock,
            busy=lambda: self.reader.busy_seconds,
        )
        self.source = JmxSource(
            flow="f",
            urls=[A, B],
            board=self.board,
            interpret=interpret,
            store=DocumentStore(
                database or Database(None), "f", "mirror_errors", ErrorCounters
            ),
        )


def test_what_is_fresh_counts_and_who_is_silent_is_named() -> None:
    world = World()
    world.worker.step()
    (seen,) = world.source.observe(NOON)
    assert seen.answering == (A,)
    (unread,) = seen.unread
    assert (unread.url, unread.since) == (B, None)
    assert unread.reason == f"{B}: no answer yet"
    assert not world.source.up
    assert seen.counted.record_failures == 1


def test_a_process_that_hangs_goes_stale() -> None:
    world = World()
    world.worker.step()
    (seen,) = world.source.observe(NOON + timedelta(seconds=19))
    assert seen.answering == (A,)
    (seen,) = world.source.observe(NOON + timedelta(seconds=20))
    assert seen.answering == ()
    assert seen.unread[0].since == NOON
    assert seen.metrics == MirrorMetrics()
    assert seen.unread[0].reason == (
        f"{A}: no answer since 12:00:00 UTC: is that process frozen?"
    )


def test_it_is_up_while_all_processes_answer() -> None:
    world = World()
    source = JmxSource(
        flow="f",
        urls=[A],
        board=world.board,
        interpret=interpret,
        store=DocumentStore(
            Database(None), "f", "mirror_errors", ErrorCounters
        ),
    )
    world.worker.step()
    source.observe(NOON + timedelta(seconds=19))
    assert source.up
    source.observe(NOON + timedelta(seconds=20))
    assert not source.up


def fail(world: World, times: int = 1) -> None:
    world.reader.trouble = f"{A}: it hangs"
    for _ in range(times):
        with pytest.raises(SourceUnavailableError):
            world.worker.step()


def test_one_failure_is_none_and_a_second_in_a_row_is_told() -> None:
    world = World()
    world.worker.step()
    fail(world)
    (seen,) = world.source.observe(NOON)
    assert seen.answering == (A,)
    fail(world)
    (seen,) = world.source.observe(NOON)
    assert seen.answering == ()
    assert seen.unread[0].reason == f"{A}: it hangs"
    world.reader.trouble = ""
    world.worker.step()
    fail(world)
    (seen,) = world.source.observe(NOON)
    assert seen.answering == (A,)


def test_a_failure_is_told_once_what_was_said_is_old() -> None:
    world = World()
    world.worker.step()
    fail(world)
    (seen,) = world.source.observe(NOON + timedelta(seconds=30))
    assert seen.unread[0].reason == f"{A}: it hangs"


def test_what_fails_after_a_slow_reading_is_asked_again_soon() -> None:
    world = World()
    world.reader.takes = timedelta(seconds=3)
    world.worker.step()
    assert world.worker.interval == timedelta(seconds=27)
    fail(world)
    assert world.worker.interval == timedelta(seconds=5)


def test_a_slow_reading_is_repeated_less_often() -> None:
    world = World()
    world.reader.takes = timedelta(seconds=2)
    world.worker.step()
    assert world.worker.interval == timedelta(seconds=18)
    # As old as its beginning, and fresh for longer.
    assert world.board.get(A).at == NOON
    (seen,) = world.source.observe(NOON + timedelta(seconds=60))
    assert seen.answering == (A,)
    world.reader.takes = timedelta()
    world.worker.step()
    assert world.worker.interval == timedelta(seconds=5)


def test_a_costly_reading_takes_two_hundredths_of_a_core() -> None:
    world = World()
    world.reader.costs_seconds = 1.25
    world.worker.step()
    assert world.worker.interval == timedelta(seconds=5), "it warms up"
    world.worker.step()
    assert world.worker.interval == timedelta(seconds=1.25 * 49)
    (seen,) = world.source.observe(NOON + timedelta(seconds=180))
    assert seen.answering == (A,)


def test_errors_are_counted_once_over_a_restart_of_the_agent() -> None:
    database = Database(None)
    for _ in range(2):
        world = World(database)
        world.worker.step()
        (seen,) = world.source.observe(NOON)
        assert seen.counted.record_failures == 1
        assert seen.last_lost == NOON
        world.worker.close()
        assert world.reader.closed
