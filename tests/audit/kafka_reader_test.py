"""Records by Spark's own source, from a broker with TLS and SCRAM."""

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import Row, SparkSession

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.acls import Right
from mirrorwatch.domain.audit.plan import (
    AuditedEnds,
    AuditSpan,
    PartitionPair,
    Plan,
    Request,
    Side,
    SourceRange,
    Unverifiable,
)
from mirrorwatch_audit.digest.reader import KafkaReader
from mirrorwatch_audit.job import AuditJob
from mirrorwatch_audit.store.store import RunStore
from mirrorwatch_audit.tools import Settings, Tools
from mirrorwatch_lab import Lab, LabSettings
from tests.support.audit import a_plan
from tests.support.audit_spark import SPARK, small_spark
from tests.support.watch import wait_until

pytestmark = [*SPARK, pytest.mark.lab]

LARGE = 10 * 2**20
"""Bytes of a record that is ten times what brokers take by default."""

ANY_TIME = {
    "retention.ms": "-1",
    "message.timestamp.after.max.ms": str(2**63 - 1),
}

SETTINGS = LabSettings(
    topics={"mixed": 2, "aborted": 1, "odd": 1, "copy.of.odd": 1},
    topic_configs={
        "odd": ANY_TIME,
        "copy.of.odd": ANY_TIME,
        "mixed": {
            "max.message.bytes": str(LARGE + 2**16),
            # Its records are as old as timestamps can be.
            "retention.ms": "-1",
        },
    },
    start_mirror=False,
    secured=True,
)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(SETTINGS) as lab:
        write_mixed(lab)
        write_aborted(lab)
        write_odd(lab)
        yield lab


@pytest.fixture(scope="module")
def read(lab: Lab) -> Iterator[KafkaReader]:
    """A reader with no more rights than to read, by password."""
    lab.source.grants.grant(
        Right(side="source", topic=topic, operation="READ", purpose="reading")
        for topic in SETTINGS.topics
    )
    with small_spark() as session:
        properties = lab.source.client_properties()
        yield KafkaReader(session, {"summit": properties, "ldf": properties})


def producer(lab: Lab, more: Mapping[str, Any]) -> Producer:
    security = lab.source.security
    assert security is not None
    return Producer(
        {
            "bootstrap.servers": lab.source.bootstrap,
            "log_level": 0,
            # A record that is sent again stays in front of the next.
            "enable.idempotence": True,
            **security.administrator(),
            **more,
        }
    )


def write_mixed(lab: Lab) -> None:
    own = producer(lab, {"message.max.bytes": LARGE + 2**16})
    own.produce("mixed", b"one", b"k", partition=0, timestamp=1000)
    own.produce("mixed", None, b"k", partition=0, timestamp=2000)
    headers: list[tuple[str, str | bytes | None]]
    headers = [("a", b"1"), ("b", None), ("a", b"")]
    own.produce("mixed", b"", partition=1, headers=headers, timestamp=3000)
    own.produce("mixed", b"x" * LARGE, partition=1, timestamp=4000)
    assert own.flush(60) == 0


def write_aborted(lab: Lab) -> None:
    own = producer(lab, {"transactional.id": "t"})
    own.init_transactions(60)
    for value, end in (
        (b"first", own.commit_transaction),
        (b"aborted", own.abort_transaction),
        (b"last", own.commit_transaction),
    ):
        own.begin_transaction()
        own.produce("aborted", value)
        own.flush(30)
        end(60)


MICROSECONDS, NANOSECONDS, FAR = (
    1_764_000_000_000_000,
    1_764_000_000_000_000_000,
    2**63 - 1,
)

ODD = (1000, MICROSECONDS, 2000, NANOSECONDS, 3000, FAR, 4000, 5000)


def write_odd(lab: Lab) -> None:
    own = producer(lab, {})
    for number, timestamp in enumerate(ODD):
        value = b"%d" % number
        own.produce("odd", value, timestamp=timestamp)
        # The mirror drops one that is like any other.
        if timestamp != 4000:
            own.produce("copy.of.odd", value, timestamp=timestamp)
    assert own.flush(60) == 0


class Frozen:
    """A planner that says what it was told."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def freeze(self, request: Request, before: AuditedEnds) -> Plan:
        return self._plan

    def recheck(self, plan: Plan) -> tuple[Plan, tuple[Unverifiable, ...]]:
        return plan, ()


def pair(
    topic: str, span: tuple[int, int], partition: int = 0, **more: Any
) -> PartitionPair:
    source = SourceRange(
        flow="f",
        cluster="summit",
        topic=topic,
        partition=partition,
        span=AuditSpan(*span),
        retained=AuditSpan(*span),
        position=None,
        **more,
    )
    return PartitionPair(
        flow="f",
        cluster="ldf",
        target_topic=f"summit.{topic}",
        partition=partition,
        sources=(source,),
        span=AuditSpan(0, 0),
        retained=AuditSpan(0, 0),
    )


def rows(read: KafkaReader, *pairs: PartitionPair) -> list[Row]:
    found = read(pairs, "source").orderBy("partition", "offset")
    return found.collect()


def test_records_come_with_their_pair_and_all_that_is_in_them(
    read: KafkaReader,
) -> None:
    one, deleted, with_headers, large = rows(
        read, pair("mixed", (0, 2)), pair("mixed", (0, 2), 1)
    )
    assert one[:7] == ("f", "summit.mixed", 0, "f", "mixed", 0, 1000)
    assert (one["key"], one["value"], one["headers"]) == (b"k", b"one", None)
    assert (deleted["value"], deleted["timestamp"]) == (None, 2000)
    assert (with_headers["key"], with_headers["value"]) == (None, b"")
    assert [tuple(h) for h in with_headers["headers"]] == [
        ("a", b"1"),
        ("b", None),
        ("a", b""),
    ]
    assert len(large["value"]) == LARGE


def test_only_the_span_is_read_and_an_empty_one_not_at_all(
    read: KafkaReader,
) -> None:
    found = rows(read, pair("mixed", (1, 2)), pair("mixed", (2, 2), 1))
    assert [(row["partition"], row["offset"]) for row in found] == [(0, 1)]
    assert rows(read, pair("mixed", (2, 2))) == []
    assert rows(read) == []


def test_several_spans_of_one_partition_are_all_read(
    read: KafkaReader,
) -> None:
    found = rows(
        read,
        *(pair("mixed", (n, n + 1)) for n in (0, 1)),
        *(pair("mixed", span, 1) for span in ((0, 0), (1, 2))),
    )
    assert [(r["partition"], r["offset"]) for r in found] == [
        (0, 0),
        (0, 1),
        (1, 1),
    ]


@pytest.mark.parametrize(
    ("read_committed", "values"),
    [(True, [b"first", b"last"]), (False, [b"first", b"aborted", b"last"])],
)
def test_aborted_records_are_read_as_the_mirror_reads_them(
    lab: Lab, read: KafkaReader, read_committed: bool, values: list[bytes]
) -> None:
    (end,) = (last for _, last in lab.source.topics.ends("aborted").values())
    assert end == 6  # three records, three markers
    found = rows(
        read, pair("aborted", (0, end), read_committed=read_committed)
    )
    assert [row["value"] for row in found] == values


def test_copies_that_were_aborted_are_not_read_at_the_target(
    read: KafkaReader,
) -> None:
    whole = pair("aborted", (0, 6))
    target = replace(whole, target_topic="aborted", span=AuditSpan(0, 6))
    found = read([target], "target").orderBy("offset").collect()
    assert [row["value"] for row in found] == [b"first", b"last"]


def test_a_password_is_in_no_plan(
    lab: Lab, read: KafkaReader, capfd: pytest.CaptureFixture[str]
) -> None:
    secret = lab.source.client_properties()["sasl.password"]
    read([pair("mixed", (0, 2))], "source").explain(mode="extended")
    shown = capfd.readouterr()
    assert "KafkaTable" in shown.out
    assert secret not in shown.out + shown.err


def odd() -> PartitionPair:
    whole = pair("odd", (0, len(ODD)))
    copies = AuditSpan(0, len(ODD) - 1)
    (source,) = whole.sources
    return replace(
        whole,
        target_topic="copy.of.odd",
        sources=(replace(source, position=len(ODD)),),
        span=copies,
        retained=copies,
    )


@pytest.mark.long
def test_timestamps_that_spark_cannot_represent_cost_their_ranges_only(
    read: KafkaReader, tmp_path: Path
) -> None:
    session = SparkSession.getActiveSession()
    assert session is not None
    at = utc_now()
    tools = Tools(
        read=read,
        planner=Frozen(a_plan(odd(), at=at)),
        settings=Settings(bucket=timedelta(minutes=10), timezone=UTC),
        stage=nullcontext,
        clock=lambda: at,
    )

    job = AuditJob(tools, RunStore(session, str(tmp_path)))
    (audit,) = job.run(Request())

    assert audit.result.findings == ()
    gaps = audit.result.unverifiable
    assert [(gap.topic, gap.partition) for gap in gaps] == [("odd", 0)]
    assert "overflow" in gaps[0].reason
    kept = job_plan(session, tmp_path, audit.result.id)
    assert [(p.passed_over, p.span.end) for p in kept.pairs] == [
        (True, len(ODD) - 1)
    ]


def job_plan(session: SparkSession, folder: Path, run: str) -> Plan:
    kept = RunStore(session, str(folder)).plan(run)
    assert kept is not None
    return kept.plan


def test_a_log_is_read_from_the_first_record_of_a_time_on(
    read: KafkaReader,
) -> None:
    name = ("f", "copy.of.odd", 0)
    asked: list[tuple[int, Side, int]] = [
        (1000, "source", 0),
        (1001, "source", 1),
        (MICROSECONDS, "source", 1),
        (1001, "target", 1),
    ]
    for time, side, start in asked:
        (since,) = read.since([odd()], side, {name: time})
        at = since.span if side == "target" else since.sources[0].span
        assert at.start == start
        assert at.end == len(ODD) - (side == "target")
    (other,) = read.since([odd()], "source", {})
    assert other == odd()


def test_fetched_records_do_not_stay_in_memory(read: KafkaReader) -> None:
    # Each has a consumer group of its own: to Spark, another partition.
    for _ in range(6):
        assert read([pair("mixed", (0, 2), 1)], "source").count() == 2
    wait_until(lambda: fetched_ranges() == 0, within=60)


def fetched_ranges() -> int:
    """Return how many partitions Spark keeps fetched records of."""
    session = SparkSession.getActiveSession()
    assert session is not None
    java: Any = session.sparkContext._jvm  # noqa: SLF001 - no other way
    loader = java.java.lang.Thread.currentThread().getContextClassLoader()
    consumers = loader.loadClass(
        "org.apache.spark.sql.kafka010.consumer.KafkaDataConsumer$"
    )
    pool = consumers.getDeclaredField("fetchedDataPool")
    pool.setAccessible(True)
    return int(pool.get(consumers.getField("MODULE$").get(None)).numTotal())
