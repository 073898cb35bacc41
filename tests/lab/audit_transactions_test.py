"""Audits of an exactly-once mirror that leaves out aborted records."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession
from rich.console import Console

from mirrorwatch.config import Config
from mirrorwatch.domain.audit.plan import AuditedEnds, Request
from mirrorwatch.domain.audit.result import AuditResult
from mirrorwatch_audit.entry import Audits
from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.cli import describe_agent
from mirrorwatch_lab.faults import MARK, drop_marked, exactly_once
from tests.support.audit import at_rest
from tests.support.audit_spark import SPARK, small_spark
from tests.support.lab import FLUSH_SECONDS, copied

pytestmark = [*SPARK, pytest.mark.lab, pytest.mark.long]

KEPT, LOST = "kept", "lost"

BOTH = f"{KEPT}|{LOST}"

TEN = range(10)

LOST_AT = 26
"""Behind twenty records, two markers and four records."""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    settings = LabSettings(
        intervals="fast",
        topics=dict.fromkeys((CANARY_TOPIC, KEPT, LOST), 1),
        mirror_properties=exactly_once() | drop_marked(),
    )
    with Lab(settings) as lab:
        for topic, marked in ((KEPT, None), (LOST, 4)):
            writer = Writer(lab, topic)
            writer.transaction("first", TEN)
            writer.transaction("aborted", TEN, abort=True)
            writer.transaction("second", TEN, marked=marked)
            if topic == LOST:
                writer.transaction("third", [0])
            else:
                writer.transaction("aborted", TEN, abort=True)
            copied(lab, topic, ["third 0" if marked else "second 9"])
        at_rest(lab, AuditedEnds(), BOTH)
        yield lab


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with small_spark() as session:
        yield session


class Writer:
    """Writes to one topic in transactions."""

    def __init__(self, lab: Lab, topic: str) -> None:
        self._topic = topic
        self._producer = Producer(
            {
                "bootstrap.servers": lab.source.bootstrap,
                "transactional.id": f"tests.{topic}",
                "log_level": 0,
            }
        )
        self._producer.init_transactions(FLUSH_SECONDS)

    def transaction(
        self,
        name: str,
        numbers: Sequence[int],
        *,
        abort: bool = False,
        marked: int | None = None,
    ) -> None:
        """Write records, of which the mirror may drop one."""
        producer = self._producer
        producer.begin_transaction()
        for n in numbers:
            producer.produce(
                self._topic,
                f"{name} {n}".encode(),
                headers={MARK: b"x"} if n == marked else {},
            )
        assert producer.flush(FLUSH_SECONDS) == 0
        if abort:
            producer.abort_transaction(FLUSH_SECONDS)
        else:
            producer.commit_transaction(FLUSH_SECONDS)


HIDDEN = {"topics": {"configs": "not.there"}}
"""Of the mirror: its connectors' configuration cannot be found."""


class Auditor:
    """Runs nights, with a mirror that is configured in this way."""

    def __init__(
        self,
        lab: Lab,
        spark: SparkSession,
        folder: Path,
        mirror: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        data = describe_agent(lab)
        data["flows"][0]["topics"] = {"include": [KEPT, LOST]}
        data["flows"][0].setdefault("mirror", {}).update(mirror)
        data["audit"] = {"settle": "0s", "slack": "0s"}
        config = Config.from_mapping(data)
        self._audits = Audits(config, spark, str(folder), Console())

    def __call__(self, topics: str | None = None) -> AuditResult:
        (audit,) = self._audits.run(Request(topics=topics))
        print(audit.result)
        return audit.result


def counts(result: AuditResult) -> dict[str, tuple[int, int]]:
    return {t.topic: (t.source_count, t.target_count) for t in result.topics}


def found(result: AuditResult) -> list[object]:
    return [
        (f.topic, f.kind, f.count, f.source_offsets, f.target_offsets)
        for f in result.findings
    ]


DROPPED = (LOST, "dropped", 1, ((LOST_AT, LOST_AT),), ())


def test_each_record_of_a_transaction_is_audited_once(
    lab: Lab, spark: SparkSession, tmp_path: Path
) -> None:
    audit = Auditor(lab, spark, tmp_path)
    first = audit(KEPT)
    assert first.clean
    assert (counts(first), first.stated) == ({KEPT: (20, 20)}, ())

    # A clean night and one with a loss, of a mirror that goes on.
    writer = Writer(lab, KEPT)
    writer.transaction("later", range(5))
    copied(lab, KEPT, ["later 4"])
    at_rest(lab, AuditedEnds(), BOTH)
    second = audit()
    assert counts(second) == {KEPT: (5, 5), LOST: (21, 20)}
    assert found(second) == [DROPPED]
    assert (second.unverifiable, second.stated) == ((), ())


def test_a_mirror_of_which_nobody_knows_how_it_reads_is_asked_for(
    lab: Lab, spark: SparkSession, tmp_path: Path
) -> None:
    result = Auditor(lab, spark, tmp_path / "a", mirror=HIDDEN)()
    assert found(result) == []
    assert {gap.topic for gap in result.unverifiable} == {KEPT, LOST}
    assert "isolation_level" in result.unverifiable[0].reason
    told = HIDDEN | {"isolation_level": "read_committed"}
    result = Auditor(lab, spark, tmp_path / "b", mirror=told)()
    assert found(result) == [DROPPED]
    assert result.unverifiable == ()
