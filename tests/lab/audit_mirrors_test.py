"""The audit of mirrors other than MirrorMaker 2, with faults of known size."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from mirrorwatch.clock import utc_now
from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.faults import MARK, drop_marked
from mirrorwatch_lab.mirrormaker1 import GROUP
from tests.support.audit_run import (
    AuditCommand,
    counts,
    found,
    last_value,
    records,
    write,
)
from tests.support.copier import Copier
from tests.support.lab import copied
from tests.support.offset_copier import OffsetCopier
from tests.support.watch import wait_until

pytestmark = [
    pytest.mark.lab,
    pytest.mark.spark,
    pytest.mark.long,
    pytest.mark.timeout(2400),
]

LARGE = 200_000
"""Bytes of a record that MirrorMaker 1's producer refuses."""


@pytest.fixture(scope="module")
def mirrormaker1() -> Iterator[Lab]:
    settings = LabSettings(
        mirror="mirrormaker1",
        mirror_kafka="3.9.2",
        topics={CANARY_TOPIC: 1, "clean": 3, "faulty": 2},
        mirror_properties={"producer.max.request.size": "100000"},
        start_mirror=False,
    )
    with Lab(settings) as lab:
        for topic, partitions in ((CANARY_TOPIC, 1), ("clean", 2)):
            lab.target.topics.create(topic, partitions, {})
        lab.target.topics.create("faulty", 4, {})
        yield lab


def committed(lab: Lab, topic: str) -> dict[int, int]:
    """Return the offsets that the mirror has committed."""
    admin = AdminClient({"bootstrap.servers": lab.source.bootstrap})
    asked = admin.list_consumer_group_offsets(
        [ConsumerGroupTopicPartitions(GROUP)]
    )
    offsets = asked[GROUP].result(60).topic_partitions
    return {p.partition: p.offset for p in offsets if p.topic == topic}


def move(lab: Lab, topic: str, partition: int, by: int) -> None:
    """Move the committed offset of the mirror, which is stopped."""
    admin = AdminClient({"bootstrap.servers": lab.source.bootstrap})
    wait_until(
        lambda: (
            not admin.describe_consumer_groups([GROUP])[GROUP]
            .result(60)
            .members
        )
    )
    to = committed(lab, topic)[partition] + by
    moved = admin.alter_consumer_group_offsets(
        [
            ConsumerGroupTopicPartitions(
                GROUP, [TopicPartition(topic, partition, to)]
            )
        ]
    )
    moved[GROUP].result(60)


def test_mirrormaker1_by_topic(mirrormaker1: Lab, tmp_path: Path) -> None:
    lab = mirrormaker1
    begin = utc_now().replace(microsecond=0) - timedelta(minutes=10)
    everything = {"clean": (3, 300), "faulty": (2, 100)}
    lab.mirror.start()
    for topic, (partitions, count) in everything.items():
        written = [
            r | {"key": b"key %d" % n, "partition": n % partitions}
            for n, r in enumerate(records(begin, 0, count))
        ]
        write(lab.source.bootstrap, topic, written)
        copied(lab, topic, last_value(written))
    wait_until(
        lambda: (
            committed(lab, "faulty") == {0: 50, 1: 50}
            and sum(committed(lab, "clean").values()) == 300
        )
    )
    # Twelve are copied twice, seven are never read, one is too large.
    lab.mirror.stop()
    move(lab, "faulty", 0, -12)
    lost = records(begin, 500, 7)
    write(lab.source.bootstrap, "faulty", [r | {"partition": 1} for r in lost])
    move(lab, "faulty", 1, 7)
    large = records(begin, 600, 1)[0] | {"value": b"x" * LARGE}
    after = records(begin, 700, 20)
    write(lab.source.bootstrap, "faulty", [large])
    lab.mirror.start()
    wait_until(lambda: committed(lab, "faulty") == {0: 51, 1: 57})
    for topic in everything:
        write(lab.source.bootstrap, topic, after)
        copied(lab, topic, last_value(after))
    wait_until(
        lambda: (
            committed(lab, "faulty") == {0: 71, 1: 57}
            and sum(committed(lab, "clean").values()) == 320
        )
    )

    audit = AuditCommand(lab, tmp_path, list(everything), few_records=True)
    end = begin + timedelta(minutes=1)
    window = ("--from", begin.isoformat(), "--to", end.isoformat())

    ran = audit("run", *window, "--json")

    assert ran.status == 3
    assert found(ran) == {}
    assert {g["topic"] for g in ran.document["unverifiable"]} == {"faulty"}
    assert counts(ran) == {"clean": (320, 320), "faulty": (128, 132)}


@pytest.fixture(scope="module")
def mirus() -> Iterator[Lab]:
    topics = {CANARY_TOPIC: 1, "clean": 3, "faulty": 2}
    settings = LabSettings(
        mirror="mirus",
        kafka="3.9.2",
        intervals="fast",
        topics=topics,
        start_mirror=False,
    )
    with Lab(settings) as lab:
        for topic, partitions in (topics | {"faulty": 4}).items():
            lab.target.topics.create(topic, partitions, {})
        yield lab


def mirus_positions(lab: Lab) -> dict[tuple[str, int], int]:
    """Return the next offsets that Mirus has committed."""
    found: dict[tuple[str, int], int] = {}
    for record in lab.read("target", "lab-mirus-offsets"):
        _, place = json.loads(record.key() or b"")
        said = json.loads(record.value() or b"")
        found[place["topic"], place["partition"]] = said["offset"]
    return found


def test_mirus_by_topic(mirus: Lab, tmp_path: Path) -> None:
    lab = mirus
    begin = utc_now().replace(microsecond=0) - timedelta(minutes=10)
    lab.mirror.start(drop_marked())
    last = records(begin, 700, 1)
    for topic, partitions in (("clean", 3), ("faulty", 2)):
        written = [
            r | {"key": b"key %d" % n, "partition": n % partitions}
            for n, r in enumerate(records(begin, 0, 300))
        ]
        if topic == "faulty":
            for each in written[100:114:2]:
                each["headers"] = {MARK: b"1"}
        write(lab.source.bootstrap, topic, [*written, *last])
        copied(lab, topic, last_value(last))
    wait_until(
        lambda: (
            sum(mirus_positions(lab).get(("clean", p), 0) for p in range(3))
            == sum(mirus_positions(lab).get(("faulty", p), 0) for p in (0, 1))
            == 301
        ),
        what=lambda: mirus_positions(lab),
    )

    audit = AuditCommand(lab, tmp_path, ["clean", "faulty"], few_records=True)
    end = begin + timedelta(minutes=1)
    window = ("--from", begin.isoformat(), "--to", end.isoformat())
    ran = audit("run", *window, "--json")

    assert ran.status == 3
    assert found(ran) == {}
    assert {g["topic"] for g in ran.document["unverifiable"]} == {"faulty"}
    assert counts(ran) == {"clean": (301, 301), "faulty": (301, 294)}


TOPICS = ((CANARY_TOPIC, 1), ("clean", 2), ("faulty", 2))

COPIED = (("copied", 2), ("lost", 2))


@pytest.fixture(scope="module")
def linked() -> Iterator[Lab]:
    topics = (*TOPICS, *COPIED)
    settings = LabSettings(topics=dict(topics), start_mirror=False)
    with Lab(settings) as lab:
        for topic, partitions in topics:
            lab.target.topics.create(topic, partitions, {})
        yield lab


def test_a_mirror_that_keeps_offsets(linked: Lab, tmp_path: Path) -> None:
    lab = linked
    begin = utc_now().replace(microsecond=0) - timedelta(minutes=10)
    written = [
        r | {"partition": n % 2} for n, r in enumerate(records(begin, 0, 200))
    ]
    for topic in ("clean", "faulty"):
        write(lab.source.bootstrap, topic, written)
    # Its log begins later, and so does the copy.
    lab.delete_records("clean", {0: 20})
    altered = [("faulty", 0, 30)]
    copier = OffsetCopier(lab, TOPICS, altered=altered)
    with copier:
        for topic in ("clean", "faulty"):
            copied(lab, topic, last_value(written))
    audit = AuditCommand(lab, tmp_path, ["clean", "faulty"], few_records=True)
    data = yaml.safe_load(audit.config.read_text())
    data["flows"][0]["mirror"] = {"kind": "linked"}
    audit.config.write_text(yaml.safe_dump(data))

    ran = audit("run", "--json")

    assert ran.status == 3
    assert ran.document["unverifiable"] == []
    assert counts(ran) == {"clean": (180, 180), "faulty": (200, 200)}
    assert found(ran) == {
        "faulty": (("corrupted", 1, [[30, 30]], [[30, 30]]),)
    }


def test_a_mirror_without_positions(linked: Lab, tmp_path: Path) -> None:
    """What is missing may be in flight; its header is not compared."""
    lab = linked
    begin = utc_now().replace(microsecond=0) - timedelta(minutes=10)
    written = [
        r | {"partition": n % 2} for n, r in enumerate(records(begin, 0, 200))
    ]
    copier = Copier(
        lab,
        COPIED,
        commit=lambda _: None,
        headers=lambda _: [("__mskmr", b"summit")],
    )
    write(lab.source.bootstrap, "copied", written)
    with copier:
        copied(lab, "copied", last_value(written))
        copier.dropped = {r["value"] for r in written[60:70:2]}
        write(lab.source.bootstrap, "lost", written)
        copied(lab, "lost", last_value(written))
    audit = AuditCommand(lab, tmp_path, ["copied", "lost"], few_records=True)
    data = yaml.safe_load(audit.config.read_text())
    data["flows"][0]["mirror"] = {
        "kind": "msk-replicator",
        "isolation_level": "read_uncommitted",
    }
    data["flows"][0]["naming"] = "identity"
    audit.config.write_text(yaml.safe_dump(data))
    end = begin + timedelta(minutes=1)
    window = ("--from", begin.isoformat(), "--to", end.isoformat())

    ran = audit("run", *window, "--json")

    assert ran.status == 3
    assert found(ran) == {}
    assert {g["topic"] for g in ran.document["unverifiable"]} == {"lost"}
    assert counts(ran) == {"copied": (200, 200), "lost": (200, 195)}
