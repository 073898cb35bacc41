"""What a repair does not write to the topics that lack records."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from mirrorwatch.audit import repair
from mirrorwatch.audit.repair import Repaired, Repairer
from mirrorwatch.config import Config
from mirrorwatch.domain.audit.result import AuditFinding
from mirrorwatch.domain.cluster_view import TopicConfigs, TopicFacts
from mirrorwatch.kafka.writer import CopiedRecord, RecordWriter
from mirrorwatch.state.audits import read_target_ends
from tests.support.audit import a_finding, a_pair, a_plan, a_result, keep_plan

pytestmark = pytest.mark.slow


NOBODY = "127.0.0.1:1"
"""Nobody listens there: what is refused is refused before."""


def config(
    source: str = NOBODY, target: str = NOBODY, **mirror: Any
) -> Config:
    clusters = {
        alias: {"kafka": {"bootstrap.servers": servers}}
        for alias, servers in (("a", source), ("b", target))
    }
    flow = {"source": "a", "target": "b", "mirror": mirror}
    if source != NOBODY:
        flow["naming"] = "identity"
    return Config.from_mapping({"clusters": clusters, "flows": [flow]})


START = datetime(2026, 11, 21, 1, tzinfo=UTC)


def a_record(number: int, **other: Any) -> CopiedRecord:
    """The record at an offset of the source: one each minute."""
    at = START + timedelta(minutes=number - 3)
    record = CopiedRecord(
        key=b"k",
        value=b"%d" % number,
        headers=(("h", b"x"),),
        timestamp=round(at.timestamp() * 1000),
    )
    return replace(record, **other)


class Site:
    """A cluster of librdkafka's own mock brokers, with the topic ``x``."""

    def __init__(self) -> None:
        self._brokers = Producer({"test.mock.num.brokers": 1, "log_level": 0})
        (broker,) = self._brokers.list_topics(timeout=10).brokers.values()
        self.servers = f"{broker.host}:{broker.port}"
        self._brokers.list_topics("x", timeout=10)

    def write(self, *records: CopiedRecord) -> None:
        writer = RecordWriter({"bootstrap.servers": self.servers}, "x")
        writer.write("x", 0, records)

    def values(self) -> list[bytes]:
        consumer = Consumer(
            {"bootstrap.servers": self.servers, "group.id": "values"}
        )
        try:
            _, end = consumer.get_watermark_offsets(
                TopicPartition("x", 0), timeout=10
            )
            consumer.assign([TopicPartition("x", 0, 0)])
            read = [consumer.poll(30) for _ in range(end)]
            return [bytes(m.value() or b"") for m in read if m is not None]
        finally:
            consumer.close()


class Two:
    """Ten records at the source, of which the target lacks 3 and 4."""

    def __init__(self) -> None:
        self.source, self.target = Site(), Site()
        ten = [a_record(n) for n in range(10)]
        self.source.write(*ten)
        self.target.write(*ten[:3], *ten[5:])

    def repair(
        self,
        *findings: AuditFinding,
        looked_to: int | None = 8,
        dry_run: bool = False,
        **mirror: Any,
    ) -> list[Repaired]:
        repairer = Repairer(
            config(self.source.servers, self.target.servers, **mirror),
            to_topic=None,
            looked_to={} if looked_to is None else {("b", "x", 0): looked_to},
        )
        result = a_result(*(findings or (LOST,)))
        return list(repairer.repair(result, dry_run=dry_run))

    def came(self) -> list[bytes]:
        """Return what the target has since the audit."""
        return self.target.values()[8:]


def lost(first: int, last: int) -> AuditFinding:
    finding = a_finding(topic="x", first=first, last=last)
    end = START + timedelta(minutes=1)
    return replace(finding, flow="a->b", partition=0, start=START, end=end)


LOST = lost(3, 4)


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> Two:
    # The mock brokers do not answer these.
    facts = TopicFacts(id="", partitions=4, replication_factor=1)
    monkeypatch.setattr(repair, "describe_topics", lambda *_: {"x": facts})
    monkeypatch.setattr(
        repair, "read_configs", lambda _, t: ({t[0]: TopicConfigs()}, [])
    )
    return Two()


def outcomes(found: list[Repaired]) -> list[tuple[str, int]]:
    return [(each.outcome, each.records) for each in found]


def test_what_was_dropped_is_written_once(two: Two) -> None:
    assert outcomes(two.repair(dry_run=True)) == [("to write", 2)]
    assert two.came() == []
    assert outcomes(two.repair()) == [("written", 2)]
    assert outcomes(two.repair()) == [("there", 0)]
    assert two.came() == [b"3", b"4"]


def test_what_came_late_is_not_written_a_second_time(two: Two) -> None:
    two.target.write(a_record(10), a_record(3), a_record(4), a_record(11))
    assert outcomes(two.repair()) == [("there", 0)]
    assert two.came() == [b"10", b"3", b"4", b"11"]


def test_of_what_came_late_in_part_the_rest_is_written(two: Two) -> None:
    """Or was written before a kill."""
    two.target.write(a_record(4))
    assert outcomes(two.repair(dry_run=True)) == [("to write", 1)]
    assert outcomes(two.repair()) == [("written", 1)]
    assert two.came() == [b"4", b"3"]


@pytest.mark.parametrize(
    "other",
    [
        {"key": b"other"},
        {"value": None},
        {"headers": ()},
        {"timestamp": a_record(3).timestamp + 1},
    ],
)
def test_what_only_looks_alike_is_no_copy(
    two: Two, other: dict[str, Any]
) -> None:
    two.target.write(a_record(3, **other))
    assert outcomes(two.repair()) == [("written", 2)]
    assert two.came()[1:] == [b"3", b"4"]


def test_what_the_audit_has_counted_is_no_late_copy(two: Two) -> None:
    """Of two equal records it found one at the target."""
    two.target.write(a_record(3), a_record(4))
    assert outcomes(two.repair(looked_to=10)) == [("written", 2)]
    assert two.came() == [b"3", b"4"] * 2


def test_each_copy_stands_for_one_record(two: Two) -> None:
    two.source.write(a_record(3))
    two.target.write(a_record(3))
    again = lost(10, 10)
    found = two.repair(LOST, again)
    assert outcomes(found) == [("written", 1), ("written", 1)]
    assert two.came() == [b"3", b"4", b"3"]
    assert outcomes(two.repair(LOST, again)) == [("there", 0)] * 2


def test_nothing_is_written_where_it_is_not_known_what_the_audit_saw(
    two: Two,
) -> None:
    (found,) = two.repair(looked_to=None)
    assert found.outcome == "refused"
    assert "not known up to where the audit looked" in found.reason
    assert two.came() == []


def test_the_headers_of_a_mirror_do_not_hide_a_late_copy(two: Two) -> None:
    headers = (("h", b"x"), ("from", b"a"))
    two.target.write(a_record(3, headers=headers))
    assert outcomes(two.repair(added_headers=["from"])) == [("written", 1)]
    assert two.came() == [b"3", b"4"]


@pytest.mark.parametrize(
    ("configs", "mirror", "why"),
    [
        ({"cleanup_policy": frozenset({"compact"})}, {}, "is compacted"),
        ({"timestamp_type": "LogAppendTime"}, {}, "timestamps of the target"),
        ({}, {"kind": "linked"}, "keeps offsets"),
    ],
)
def test_the_target_itself_is_left_alone(
    two: Two,
    monkeypatch: pytest.MonkeyPatch,
    configs: dict[str, Any],
    mirror: dict[str, Any],
    why: str,
) -> None:
    there = replace(TopicConfigs(), **configs)
    monkeypatch.setattr(
        repair, "read_configs", lambda _, t: ({t[0]: there}, [])
    )
    (found,) = two.repair(**mirror)
    assert found.outcome == "refused"
    assert why in found.reason
    assert two.came() == []


def test_the_ends_are_those_of_the_plan(tmp_path: Path) -> None:
    other = a_pair("other", 3, target=(5, 7))
    keep_plan(tmp_path, a_plan(a_pair(target=(2, 9)), other, run="night"))
    assert read_target_ends(tmp_path, "night") == {
        ("ldf", "events", 0): 9,
        ("ldf", "other", 3): 7,
    }
    assert read_target_ends(tmp_path, "adhoc") == {}
