"""Readings with their age: fresh, old, failed, hanging."""

import json
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from mirrorwatch.domain.bottleneck.check import (
    BottleneckLimits,
    judge_bottleneck,
)
from mirrorwatch.domain.bottleneck.model import (
    ErrorCounters,
    FetchProgress,
    MBean,
    MBeanQuery,
    MirrorMetrics,
    MirrorObservation,
    TaskErrors,
)
from mirrorwatch.domain.report import Health
from mirrorwatch.exceptions import ConfigError, SourceUnavailableError
from mirrorwatch.sources.jmx.readers import (
    JmxAddress,
    JmxReader,
    JolokiaReader,
    PrometheusReader,
    parse,
)
from mirrorwatch.sources.jmx.source import JmxReading, JmxSource, JmxWorker
from mirrorwatch.state import Database
from mirrorwatch.state.documents import DocumentStore
from mirrorwatch.threads import Latest
from tests.support.findings import find
from tests.support.http import Answer, answering

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
        self.clock = Clock()
        self.readings = {A: Latest(JmxReading()), B: Latest(JmxReading())}
        self.reader = FakeReader(self.clock)
        self.worker = JmxWorker(
            url=A,
            reader=self.reader,
            wanted=(),
            reading=self.readings[A],
            interval=timedelta(seconds=5),
            timeout=timedelta(seconds=4),
            clock=self.clock,
            busy=lambda: self.reader.busy_seconds,
        )
        self.source = JmxSource(
            flow="f",
            readings=self.readings,
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
    assert unread.reason == f"{B}: no response yet"
    assert not world.source.up
    assert seen.counted.record_failures == 1


def test_answered_fetches_are_followed_from_reading_to_reading() -> None:
    world, fetches = World(), 7.0
    source = JmxSource(
        flow="f",
        readings={A: world.readings[A]},
        interpret=lambda read: MirrorMetrics(
            fetches={A: fetches} if read else {}
        ),
        store=DocumentStore(
            Database(None), "f", "mirror_errors", ErrorCounters
        ),
    )
    later = timedelta(seconds=5)
    for fetches in (7.0, 9.0):  # noqa: B007 - interpret reads it
        world.worker.step()
        (seen,) = source.observe(world.clock.now)
        world.clock.now += later
    assert seen.progress == FetchProgress(
        fetches={A: 9},
        read_at=NOON + later,
        still_since=NOON + later,
        answered_after=NOON,
    )
    (seen,) = source.observe(NOON + timedelta(minutes=1))
    assert seen.progress is None


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
        f"{A}: no response since 12:00:00 UTC. Check whether the process hangs"
    )


def test_it_is_up_while_all_processes_answer() -> None:
    world = World()
    source = JmxSource(
        flow="f",
        readings={A: world.readings[A]},
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
    assert world.readings[A].get().at == NOON
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


class Failing:
    """A process with one task that gives up records."""

    def __init__(self) -> None:
        self.world = World()
        self.failures = 0
        self.at: datetime | None = None
        self.source = JmxSource(
            flow="f",
            readings={A: self.world.readings[A]},
            interpret=self.interpret,
            store=DocumentStore(
                Database(None), "f", "mirror_errors", ErrorCounters
            ),
        )

    def interpret(self, _: Mapping[str, Sequence[MBean]]) -> MirrorMetrics:
        place = (A, "c", 0)
        return MirrorMetrics(
            errors={place: TaskErrors(record_failures=self.failures)},
            last_errors={} if self.at is None else {place: self.at},
        )

    def read(self) -> MirrorObservation:
        """Read once, and observe in each second until the next reading."""
        self.world.worker.step()
        for _ in range(5):
            (seen,) = self.source.observe(self.world.clock.now)
            self.world.clock.now += timedelta(seconds=1)
        return seen


def test_a_worker_whose_clock_is_behind_hides_no_loss() -> None:
    process = Failing()
    process.read()
    process.failures, process.at = 1, NOON - timedelta(hours=2)
    seen = process.read()
    assert seen.last_lost == NOON
    verdict = judge_bottleneck(
        "f", seen, BottleneckLimits(), process.world.clock.now
    )
    assert verdict.health is Health.CRITICAL
    find(
        verdict,
        "bottleneck.dropped",
        records=1,
        not_produced_records=1,
        skipped_records=0,
    )


def test_a_task_that_fails_as_often_after_a_restart_is_counted_again() -> None:
    process = Failing()
    process.failures, process.at = 3, NOON
    process.read()
    assert process.read().counted.record_failures == 3
    process.at += timedelta(seconds=8)
    # However often that one is looked at, it was read once.
    assert process.read().counted.record_failures == 3
    assert process.read().counted.record_failures == 6
    assert process.read().counted.record_failures == 6


MANY = MBeanQuery(
    domain="d", type="t", keys={"topic": "*"}, numbers=("rate", "x-total")
)
ONE = MBeanQuery(domain="d", type="one", numbers=("rate",))
SECRET = "open-sesame"  # noqa: S105


def address(url: str, *, seconds: float = 60, **more: str) -> JmxAddress:
    return JmxAddress(
        url=url,
        cluster="ldf",
        timeout=timedelta(seconds=seconds),
        user=more.get("user"),
        password=more.get("password"),
    )


@contextmanager
def reading(
    kind: Callable[[JmxAddress], JmxReader],
    url: str,
    *,
    seconds: float = 60,
    **more: str,
) -> Iterator[JmxReader]:
    reader = kind(address(url, seconds=seconds, **more))
    yield reader
    reader.close()


def test_jolokia_is_asked_once_for_everything() -> None:
    body = json.dumps(
        [
            {
                "status": 200,
                "value": {
                    "d:topic=a.b,type=t": {"rate": 1.5, "x-total": None},
                    'd:type=t,topic="a|b"': {"rate": "ERROR: gone"},
                },
            },
            {"status": 200, "value": {"rate": 2}},
            {"status": 404, "error": "No MBean"},
        ]
    )
    with (
        answering(Answer(200, body.encode())) as server,
        reading(
            JolokiaReader, server.url, user="me", password=SECRET
        ) as reader,
    ):
        found = reader.read([MANY, ONE, MANY])
    assert server.logins == ["Basic bWU6b3Blbi1zZXNhbWU="]
    assert [(m.properties.get("topic"), m.attributes) for m in found] == [
        ("a.b", {"rate": 1.5}),
        ("a|b", {}),
        (None, {"rate": 2.0}),
    ]


def test_names_of_the_exporter_and_of_rules_are_turned_back() -> None:
    text = """# TYPE d_t_rate untyped
d_t_rate{topic="a.b"} 1.5
d_t_x{topic="a.b",instance="added"} 7
d_t_rate{topic="\\"a|b\\""} NaN
d_t_rate 99
d_t_rate{topic="a",partition="1"} 98
d_one_rate 2
unrelated_rate{topic="a.b"} 3
kafka_connect_connector_status{connector="c",task="0",status="failed"} 1
"""
    partitions = MBeanQuery(
        domain="d", type="u", keys={"topic": "*", "partition": "*"}
    )
    states = MBeanQuery(
        domain="kafka.connect",
        type="connector-task-metrics",
        keys={"connector": "*", "task": "*"},
        texts=("status",),
    )
    found = parse(text, [MANY, ONE, partitions, states])
    assert [(m.properties, m.attributes) for m in found] == [
        ({"type": "t", "topic": "a.b"}, {"rate": 1.5, "x-total": 7.0}),
        ({"type": "t", "topic": "a|b"}, {}),
        ({"type": "one"}, {"rate": 2.0}),
        (
            {"type": "connector-task-metrics", "connector": "c", "task": "0"},
            {"status": "failed"},
        ),
    ]


@pytest.mark.parametrize("kind", [JolokiaReader, PrometheusReader])
@pytest.mark.parametrize(
    ("status", "body", "saying"),
    [
        (401, "", "Set mirror.jmx.user and mirror.jmx.password"),
        (403, "", "login rejected"),
        (404, "", "Check the path in mirror.jmx.urls"),
        (500, "", "status 500"),
        (200, "<html>Hello</html>", "Set mirror.jmx.urls to"),
        (200, "{}", "Set mirror.jmx.urls to"),
        (200, "[1, 2]", "Set mirror.jmx.urls to"),
    ],
)
def test_a_bad_answer_names_the_address_and_the_remedy(
    kind: Callable[[JmxAddress], JmxReader],
    status: int,
    body: str,
    saying: str,
) -> None:
    with (
        answering(Answer(status, body.encode())) as server,
        reading(kind, server.url, user="me", password=SECRET) as reader,
        pytest.raises(SourceUnavailableError) as error,
    ):
        reader.read([MANY, ONE])
    assert str(error.value).startswith(f"{server.url}: ")
    assert saying in str(error.value)
    told = json.dumps(error.value.to_logging_context()) + repr(
        address(server.url, user="me", password=SECRET)
    )
    assert SECRET not in told


@pytest.mark.parametrize("kind", [JolokiaReader, PrometheusReader])
def test_a_process_that_hangs_is_given_up_in_time(
    kind: Callable[[JmxAddress], JmxReader],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"http://127.0.0.1:{mute.getsockname()[1]}/x"
        begin = time.monotonic()
        with (
            reading(kind, url, seconds=0.5) as reader,
            pytest.raises(SourceUnavailableError, match=r"within 0\.5 s"),
        ):
            reader.read([MANY])
        assert time.monotonic() - begin < 60


@pytest.mark.parametrize("kind", [JolokiaReader, PrometheusReader])
def test_a_process_that_is_gone_is_said_to_be(
    kind: Callable[[JmxAddress], JmxReader],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}/x"
    with (
        reading(kind, url) as reader,
        pytest.raises(
            SourceUnavailableError, match="Check that the process runs"
        ),
    ):
        reader.read([MANY])


def test_an_authority_that_cannot_be_read_is_a_matter_of_configuration(
    tmp_path: object,
) -> None:
    missing = JmxAddress(
        url="https://x",
        cluster="ldf",
        timeout=timedelta(seconds=1),
        ca=tmp_path / "no.pem",  # type: ignore[operator]
    )
    with pytest.raises(ConfigError, match=r"mirror\.jmx\.ca"):
        JolokiaReader(missing)
