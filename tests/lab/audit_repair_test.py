"""Records that an audit found dropped are written once more, and only once."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from confluent_kafka import Message

from mirrorwatch.audit.repair import Repairer
from mirrorwatch.cli.root import main
from mirrorwatch.clock import utc_now
from mirrorwatch.domain.audit.result import FinishedAudit
from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.cli import describe_agent
from mirrorwatch_lab.faults import recreate_topic
from tests.support.audit import (
    a_finding,
    a_finished,
    a_pair,
    a_plan,
    a_result,
    config_of,
    keep_plan,
    write_audit,
)
from tests.support.audit_run import records, write

pytestmark = pytest.mark.lab

LOST, KEYED, OWN = "repair.lost", "repair.keyed", "repaired"
TOPICS = LOST, KEYED
WRITTEN = utc_now() - timedelta(minutes=10)
"""When the first record was written."""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    names = (CANARY_TOPIC, LOST, KEYED)
    with Lab(
        LabSettings(topics=dict.fromkeys(names, 1), start_mirror=False)
    ) as lab:
        lab.target.topics.create(OWN, 1, {})
        lab.target.topics.create(LOST, 1, {})
        lab.target.topics.create(KEYED, 1, {"cleanup.policy": "compact"})
        ten = records(WRITTEN, 0, 10)
        for topic in TOPICS:
            write(lab.source.bootstrap, topic, ten)
        write(lab.target.bootstrap, LOST, [*ten[:3], *ten[5:]])
        yield lab


def an_audit() -> FinishedAudit:
    """Two dropped, one altered, and one dropped that is compacted."""
    findings = (
        a_finding(topic=LOST, first=3, last=4),
        a_finding("corrupted", topic=LOST, first=7, last=7),
        a_finding(topic=KEYED, first=1, last=1),
    )
    until = WRITTEN + timedelta(minutes=1)
    return a_finished(
        a_result(*(replace(f, start=WRITTEN, end=until) for f in findings))
    )


@pytest.fixture
def config(lab: Lab, tmp_path: Path) -> Path:
    data = describe_agent(lab)
    data["state"] = {"path": str(tmp_path / "state.db")}
    data["audit"] = {}
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(data))
    audit = an_audit()
    write_audit(tmp_path / "audit", audit)
    pairs = [a_pair(topic, source=(0, 10), target=(0, 8)) for topic in TOPICS]
    keep_plan(tmp_path / "audit", a_plan(*pairs, run=audit.result.id))
    return file


def repair(config: Path, *arguments: str) -> Result:
    return CliRunner().invoke(
        main, ["audit", "repair", "--config", str(config), *arguments]
    )


def content(message: Message) -> tuple[object, ...]:
    return (
        message.key(),
        message.value(),
        message.headers(),
        message.timestamp(),
    )


def test_dropped_records_are_written_once_as_they_are(
    lab: Lab, config: Path
) -> None:
    before = len(lab.read("target", LOST))
    nothing = repair(config)
    assert nothing.exit_code == 2
    assert "nothing is written by default" in nothing.output
    dry = repair(config, "--dry-run")
    assert "3 to 4: 2 records would be written to repair.lost" in dry.output
    assert len(lab.read("target", LOST)) == before == 8

    first = repair(config, "--to-target")
    second = repair(config, "--to-target")

    assert "3 to 4: 2 records written to repair.lost" in first.output
    assert "there by now in repair.lost" in second.output
    # An older value of a key must not replace a newer one.
    assert "the topic is compacted" in first.output
    assert (first.exit_code, lab.read("target", KEYED)) == (3, [])
    copies = lab.read("target", LOST)[before:]
    assert [content(m) for m in copies] == [
        content(m) for m in lab.read("source", LOST)[3:5]
    ]


def test_a_topic_of_its_own_says_where_each_record_is_from(
    lab: Lab, config: Path
) -> None:
    for _ in range(2):
        ran = repair(config, "--to-topic", OWN)
        assert ran.exit_code == 0
    headers = [dict(m.headers() or []) for m in lab.read("target", OWN)]
    assert [
        {k: v for k, v in h.items() if k.startswith("mirrorwatch")}
        for h in headers
    ] == [
        {
            "mirrorwatch.source.cluster": b"summit",
            "mirrorwatch.source.topic": topic,
            "mirrorwatch.source.partition": b"0",
            "mirrorwatch.source.offset": offset,
        }
        for topic, offset in [
            (LOST.encode(), b"3"),
            (LOST.encode(), b"4"),
            (KEYED.encode(), b"1"),
        ]
    ]
    assert all(h["h"] == b"x" for h in headers)


def test_what_the_source_no_longer_holds_is_refused(lab: Lab) -> None:
    lab.delete_records(LOST, {0: 4})
    repairer = Repairer(config_of(lab), to_topic=OWN, looked_to={})
    (found, _) = repairer.repair(an_audit().result, dry_run=False)
    assert found.outcome == "refused"
    assert "no records below offset 4" in found.reason


def test_records_of_a_topic_that_was_recreated_since_are_refused(
    lab: Lab, config: Path
) -> None:
    before = len(lab.read("target", LOST))
    recreate_topic(lab.source.topics, LOST, 1)
    write(lab.source.bootstrap, LOST, records(utc_now(), 0, 10))
    ran = repair(config, "--to-target")
    assert ran.exit_code == 3
    assert "the topic was recreated or truncated since" in ran.output
    assert len(lab.read("target", LOST)) == before
