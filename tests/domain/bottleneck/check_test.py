from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.domain.bottleneck.check import (
    BottleneckLimits,
    judge_bottleneck,
)
from mirrorwatch.domain.bottleneck.model import (
    ClassMetrics,
    ConsumerMetrics,
    ErrorCounters,
    MBeanQuery,
    MirrorMetrics,
    MirrorObservation,
    ProducerMetrics,
    TaskErrors,
    TaskMetrics,
    UnreachableProcess,
    parse_name,
)
from mirrorwatch.domain.report import Health, Numbers, Subject, Verdict
from mirrorwatch.state import Database
from mirrorwatch.state.documents import DocumentStore

NOON = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)
URL = "http://mm2:8778/jolokia"

CALM = MirrorMetrics(
    consumer=ConsumerMetrics(
        fetch_latency_average_seconds=0.5,
        fetch_throttle_max_seconds=0.0,
        consumer_lag_max_records=0.0,
    ),
    producer=ProducerMetrics(
        retries_per_second=0.0, record_queue_average_seconds=0.01
    ),
    tasks=TaskMetrics(
        offset_commit_success_ratio=1.0, offset_commit_failure_ratio=0.0
    ),
    classes={
        "a": ClassMetrics(records_per_second=10.25),
        "b": ClassMetrics(records_per_second=2.0),
    },
)


def judged(
    metrics: MirrorMetrics = CALM, *, enabled: bool = True, **more: Any
) -> Verdict:
    seen = MirrorObservation(
        flow="f",
        at=NOON,
        metrics=metrics,
        **({"answering": (URL,)} | more),
    )
    return judge_bottleneck("f", seen, BottleneckLimits(enabled=enabled), NOON)


def consumer(**figures: float) -> MirrorMetrics:
    return replace(CALM, consumer=replace(CALM.consumer, **figures))


def producer(**figures: float) -> MirrorMetrics:
    return replace(CALM, producer=replace(CALM.producer, **figures))


def tasks(**figures: float) -> MirrorMetrics:
    return replace(CALM, tasks=replace(CALM.tasks, **figures))


LOST: dict[str, Any] = {
    # Others were long ago.
    "counted": TaskErrors(record_failures=1000),
    # Of twelve failed attempts one was retried, and four transforms failed
    # for good, two of them in tasks that failed then.
    "lately": TaskErrors(
        record_failures=12, records_skipped=2, record_errors=4, retries=1
    ),
    "last_lost": NOON - timedelta(minutes=5),
}
DROPPED = {
    "records": 9,
    "not_produced_records": 7,
    "skipped_records": 2,
    "seconds": 300,
}
UNREAD = {
    "unread": (
        UnreachableProcess(url=URL, reason=f"{URL}: no answer", since=None),
    )
}
SILENT: dict[str, Any] = {"answering": ()}


@pytest.mark.parametrize(
    ("more", "codes"),
    [
        ({"enabled": False}, ["bottleneck.off"]),
        ({"metrics": MirrorMetrics()}, ["bottleneck.blank"]),
        (
            {
                "metrics": MirrorMetrics(
                    consumer=ConsumerMetrics(fetch_throttle_max_seconds=0.0),
                    classes={"other": ClassMetrics(records_per_second=0.0)},
                )
            },
            ["bottleneck.ok"],
        ),
        ({**SILENT, **UNREAD}, ["bottleneck.unreadable"]),
        # What the others say counts all the same.
        (
            {"metrics": consumer(fetch_throttle_max_seconds=2.0), **UNREAD},
            ["bottleneck.throttled", "bottleneck.unreadable", "bottleneck.ok"],
        ),
        (LOST, ["bottleneck.dropped", "bottleneck.ok"]),
        # Even while nobody answers.
        ({**LOST, **SILENT}, ["bottleneck.dropped"]),
        (
            LOST | {"last_lost": NOON - timedelta(minutes=61)},
            ["bottleneck.ok"],
        ),
        # Retries that lost nothing.
        (
            {"counted": TaskErrors(record_errors=4, retries=9)},
            ["bottleneck.ok"],
        ),
    ],
)
def test_what_is_found(more: dict[str, Any], codes: list[str]) -> None:
    assert list(judged(**more).codes) == codes


def test_nothing_seen_is_unknown() -> None:
    verdict = judge_bottleneck("f", None, BottleneckLimits(), NOON)
    assert (verdict.health, verdict.codes) == (
        Health.UNKNOWN,
        ("bottleneck.no-data",),
    )


@pytest.mark.parametrize(
    ("more", "health", "subject", "numbers"),
    [
        ({}, Health.OK, {}, {"records_per_second": 12.25}),
        (LOST, Health.CRITICAL, {}, DROPPED),
        (
            {**SILENT, **UNREAD},
            Health.UNKNOWN,
            {"connection": URL},
            {"problem": f"{URL}: no answer"},
        ),
        ({"metrics": MirrorMetrics()}, Health.UNKNOWN, {}, {}),
        ({"enabled": False}, Health.OFF, {}, {}),
    ],
)
def test_findings_have_subject_and_numbers(
    more: dict[str, Any], health: Health, subject: Subject, numbers: Numbers
) -> None:
    found = judged(**more).findings[0]
    assert (found.health, found.subject) == (health, subject)
    assert {name: found.numbers[name] for name in numbers} == numbers


@pytest.mark.parametrize(
    ("metrics", "code", "numbers"),
    [
        (
            consumer(fetch_throttle_max_seconds=1.25),
            "throttled",
            {"fetch_throttle_seconds": 1.25},
        ),
        (
            producer(produce_throttle_max_seconds=0.2),
            "throttled",
            {"produce_throttle_seconds": 0.2},
        ),
        (
            producer(retries_per_second=0.5),
            "refused",
            {"retried_records_per_second": 0.5},
        ),
        (
            producer(errors_per_second=0.02),
            "refused",
            {"failed_records_per_second": 0.02},
        ),
        (
            producer(batch_splits_per_second=3.0),
            "too-large",
            {"split_batches_per_second": 3},
        ),
        (
            tasks(offset_commit_failure_ratio=0.5),
            "commits",
            {"failed_ratio": 0.5},
        ),
        (
            tasks(offset_commit_max_seconds=4.5),
            "commits",
            {"commit_seconds": 4.5},
        ),
        (
            producer(
                record_queue_average_seconds=3.0,
                batch_size_average_bytes=16_000.0,
            ),
            "producer",
            {
                "queue_seconds": 3,
                "batch_bytes": 16_000,
                "request_seconds": None,
            },
        ),
        (
            producer(
                record_queue_average_seconds=3.0,
                batch_size_average_bytes=900.0,
                request_latency_average_seconds=1.5,
            ),
            "producer",
            {"queue_seconds": 3, "batch_bytes": 900, "request_seconds": 1.5},
        ),
        (
            consumer(
                consumer_lag_max_records=20_000.0,
                fetch_latency_average_seconds=8.0,
                fetch_size_average_bytes=1_000_000.0,
            ),
            "link",
            {
                "fetch_seconds": 8,
                "fetch_bytes": 1_000_000,
                "lag_records": 20_000,
            },
        ),
        (
            consumer(consumer_lag_max_records=20_000.0),
            "consumer",
            {"lag_records": 20_000},
        ),
        (
            replace(CALM, silent=("a", "b")),
            "silent",
            {"clients": 2, "in_flight_records": 0},
        ),
        (
            replace(
                CALM, silent=("a",), tasks=TaskMetrics(active_records=40.0)
            ),
            "silent",
            {"clients": 1, "in_flight_records": 40},
        ),
    ],
)
def test_what_limits_a_mirror_is_a_warning_with_numbers(
    metrics: MirrorMetrics, code: str, numbers: Numbers
) -> None:
    verdict = judged(metrics)
    assert verdict.health is Health.WARNING
    assert verdict.codes == (f"bottleneck.{code}", "bottleneck.ok")
    found = verdict.findings[0].numbers
    assert {name: found[name] for name in numbers} == numbers


@pytest.mark.parametrize(
    "metrics",
    [
        consumer(fetch_throttle_max_seconds=0.1),
        producer(retries_per_second=0.1),
        tasks(offset_commit_failure_ratio=0.1),
        tasks(offset_commit_max_seconds=4.0),
        producer(record_queue_average_seconds=1.0),
        producer(batch_size_average_bytes=16_384.0),
        # Slow, but nobody waits; behind, but by little.
        consumer(fetch_latency_average_seconds=30.0),
        consumer(consumer_lag_max_records=10_000.0),
    ],
)
def test_at_its_limits_a_mirror_is_ok(metrics: MirrorMetrics) -> None:
    assert judged(metrics).codes == ("bottleneck.ok",)


def test_the_evidence_names_the_partition_that_is_most_behind() -> None:
    lags = {("a", 0): 3.0, ("b", 1): 7.0, ("c", 2): 0.0}
    evidence = judged(replace(CALM, lags=lags)).evidence
    assert evidence["most_behind"] == "b[1]"
    assert evidence["answering"] == URL
    assert "fetch_size_average_bytes" not in evidence


WANTED = MBeanQuery(
    domain="kafka.consumer",
    type="fetches",
    keys={"client-id": '"*|replication-consumer"', "topic": "*"},
    numbers=("rate", "age"),
    texts=("status",),
)


def test_names_are_read_in_any_order_and_without_quotes() -> None:
    name = 'd.e:client-id="a->b|c,d=\\"x\\"",type=t,topic=a.b'
    expected = {"client-id": 'a->b|c,d="x"', "type": "t", "topic": "a.b"}
    assert parse_name(name) == ("d.e", expected)
    assert parse_name("d:source=,type=t")[1] == {"source": "", "type": "t"}


@given(st.text(min_size=1))
def test_any_quoted_value_is_read_back(value: str) -> None:
    quoted = value
    for char in '\\"*?':
        quoted = quoted.replace(char, f"\\{char}")
    quoted = quoted.replace("\n", "\\n")
    _, properties = parse_name(f'd:a="{quoted}",b=c')
    assert properties == {"a": value, "b": "c"}


def test_a_pattern_names_every_property() -> None:
    assert WANTED.pattern == (
        'kafka.consumer:type=fetches,client-id="*|replication-consumer",topic=*'
    )
    assert WANTED.covers(
        {"client-id": "a->b|c-0|replication-consumer", "topic": "t"}
    )
    assert not WANTED.covers({"client-id": "x", "topic": "t"})
    assert not WANTED.covers({"client-id": "a|replication-consumer"})


@pytest.mark.parametrize("nothing", [nan, inf, -inf, None, "NaN", "ERROR: x"])
def test_what_is_no_number_is_absent_and_not_zero(nothing: object) -> None:
    assert WANTED.take({"rate": nothing, "age": 0}) == {"age": 0.0}


def test_nothing_is_taken_that_was_not_wanted() -> None:
    found = {"rate": 1, "status": "running", "secret": "x", "age": "old"}
    assert WANTED.take(found) == {"rate": 1.0, "status": "running"}


EARLIER = NOON - timedelta(minutes=20)
ONE = ("http://a", "MirrorSourceConnector", 0)
TWO = ("http://b", "MirrorSourceConnector", 1)


def failed(count: int, retries: int = 0) -> TaskErrors:
    """Return what a task counts that could not produce records."""
    return TaskErrors(record_failures=count + retries, retries=retries)


def count(
    books: ErrorCounters,
    said: Mapping[tuple[str, str, int], TaskErrors],
    last_error: datetime | None = EARLIER,
    now: datetime = NOON,
    since: datetime | None = None,
) -> ErrorCounters:
    """Let all tasks say when the last error was."""
    return books.count(
        said,
        {} if last_error is None else dict.fromkeys(said, last_error),
        now,
        since={} if since is None else {place[0]: since for place in said},
    )


def test_errors_of_all_tasks_are_counted_once() -> None:
    books = ErrorCounters()
    for _ in range(3):
        books = count(books, {ONE: failed(3), TWO: failed(4)})
    assert books.counted == failed(7)
    assert books.last_lost == EARLIER


def test_a_task_that_starts_anew_counts_from_zero() -> None:
    books = count(ErrorCounters(), {ONE: failed(3)})
    books = count(books, {ONE: failed(2)}, None)
    assert books.counted.record_failures == 5
    assert books.last_lost == NOON


def test_a_task_that_starts_anew_may_fail_as_often() -> None:
    books = ErrorCounters()
    for at in (EARLIER, EARLIER, NOON, NOON, NOON):
        books = count(books, {ONE: failed(3)}, at)
    assert books.counted == failed(6)
    assert books.last_lost == NOON
    # It survives a restart of the agent.
    books = kept(books)
    later = NOON + timedelta(hours=2)
    for _ in range(3):
        books = count(books, {ONE: failed(3)}, later, later)
    assert books.counted == failed(9)
    assert (books.last_lost, books.lately) == (later, failed(3))


@pytest.mark.parametrize("number_first", [True, False])
def test_numbers_and_time_may_be_read_on_both_sides_of_an_error(
    number_first: bool,
) -> None:
    books = ErrorCounters()
    for _ in range(3):
        books = count(books, {ONE: failed(3)}, EARLIER)
    half = (failed(4), EARLIER) if number_first else (failed(3), NOON)
    for errors, at in (half, *[(failed(4), NOON)] * 3):
        books = count(books, {ONE: errors}, at)
    assert books.counted == failed(4)


def test_a_task_that_says_no_time_is_counted_once() -> None:
    books = ErrorCounters()
    for at in (None, None, EARLIER, EARLIER, None, NOON, NOON):
        books = count(books, {ONE: failed(3)}, at)
    assert books.counted == failed(3)


def test_a_worker_that_was_away_does_not_count_again() -> None:
    books = count(ErrorCounters(), {ONE: failed(3)})
    books = count(count(books, {}), {ONE: failed(3)})
    assert books.counted.record_failures == 3


def test_losses_of_long_ago_are_told_apart_from_those_of_now() -> None:
    books = count(ErrorCounters(), {ONE: failed(3)})
    books = count(books, {ONE: failed(5)}, NOON)
    # Errors that lose nothing are no part of it.
    books = count(books, {ONE: failed(5, retries=9)}, NOON)
    assert books.lately == failed(5)
    later = NOON + timedelta(minutes=61)
    books = count(books, {ONE: failed(12, retries=9)}, later, later)
    assert books.lately == failed(7)
    assert books.counted == failed(12, retries=9)


def test_a_loss_of_before_does_not_hide_the_last_one() -> None:
    books = count(ErrorCounters(), {ONE: failed(3)}, NOON)
    # The other worker could not be read until now.
    books = count(books, {TWO: failed(4)}, NOON - timedelta(minutes=30))
    assert (books.last_lost, books.lately) == (NOON, failed(7))
    books = count(books, {TWO: failed(1)}, NOON - timedelta(hours=3))
    assert (books.last_lost, books.lately) == (NOON, failed(7))
    assert books.counted == failed(8)


@pytest.mark.parametrize(
    ("errors", "lost"),
    [
        # The producer could not write two of them.
        (TaskErrors(record_failures=2), 2),
        # A transform failed, and its record was left out.
        (TaskErrors(record_failures=1, record_errors=1, records_skipped=1), 1),
        # The same, where errors are not tolerated: it is read again.
        (TaskErrors(record_failures=1, record_errors=1), 0),
        # The third attempt was good.
        (TaskErrors(record_failures=2, retries=2), 0),
        # The third attempt was the last.
        (
            TaskErrors(
                record_failures=3,
                retries=2,
                record_errors=1,
                records_skipped=1,
            ),
            1,
        ),
    ],
)
def test_a_record_is_lost_if_it_is_left_out(
    errors: TaskErrors, lost: int
) -> None:
    books = count(ErrorCounters(), {ONE: errors})
    assert books.counted.lost == lost
    assert (books.last_lost is not None) is bool(lost)


def test_an_attempt_that_waits_to_be_retried_loses_nothing() -> None:
    waits = TaskErrors(record_failures=1)
    books = ErrorCounters()
    for errors in (TaskErrors(), waits, waits, failed(0, retries=1)):
        books = books.count({ONE: errors}, {ONE: None}, NOON, since={})
    assert books.counted == failed(0, retries=1)
    assert books.last_lost is None
    # Nor after an error of long ago.
    for errors in (failed(1), failed(1), failed(2)):
        books = count(books, {ONE: errors})
    assert books.counted.lost == 1
    # One that is given up has another time, even if the clock went back.
    books = count(books, {ONE: failed(2)}, EARLIER - timedelta(hours=1))
    assert books.counted.lost == 2


def test_retries_lose_nothing() -> None:
    books = count(ErrorCounters(), {ONE: failed(0, retries=5)})
    assert books.counted.retries == 5
    assert books.last_lost is None


def test_an_error_of_the_future_is_of_now() -> None:
    later = NOON + timedelta(hours=1)
    books = count(ErrorCounters(), {ONE: failed(1)}, later)
    assert books.last_lost == NOON


def test_an_error_is_no_older_than_the_reading_before() -> None:
    before = NOON - timedelta(seconds=5)
    behind = NOON - timedelta(hours=2)
    books = count(ErrorCounters(), {ONE: failed(1)}, behind, since=before)
    assert books.last_lost == before
    # What was counted before this agent began may be as old as that.
    books = count(ErrorCounters(), {ONE: failed(1)}, behind)
    assert books.last_lost == behind


def test_nothing_new_changes_nothing() -> None:
    books = count(ErrorCounters(), {ONE: failed(1)}, None)
    assert count(books, {ONE: failed(1)}, None) is books
    books = count(count(books, {ONE: failed(1)}), {ONE: failed(1)})
    assert count(books, {ONE: failed(1)}) is books


def kept(books: ErrorCounters) -> ErrorCounters:
    """Return what the next agent knows of them."""
    store = DocumentStore(Database(None), "a", "mirror_errors", ErrorCounters)
    store.save(books)
    return store.load()


def test_counters_survive_a_restart() -> None:
    database = Database(None)
    books = count(ErrorCounters(), {ONE: failed(3)})
    DocumentStore(database, "a", "mirror_errors", ErrorCounters).save(books)
    assert (
        DocumentStore(database, "a", "mirror_errors", ErrorCounters).load()
        == books
    )
    assert (
        DocumentStore(database, "b", "mirror_errors", ErrorCounters).load()
        == ErrorCounters()
    )
