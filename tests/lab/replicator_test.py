"""Confluent Replicator, by the records that it leaves on real topics.

Its artifacts are not public: a stand-in copies, and writes positions as its
users show them, to Connect's offsets topic or to a consumer group.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import structlog
from confluent_kafka import Consumer, Producer, TopicPartition

from mirrorwatch.config import Config
from mirrorwatch.doctor import examine
from mirrorwatch.domain.doctor import FindingSeverity
from mirrorwatch.domain.report import Health
from mirrorwatch_lab import CANARY_TOPIC, Lab
from tests.support.copier import lab_for_copier
from tests.support.lab import (
    copied,
    numbered,
    produce,
)
from tests.support.offset_copier import OffsetCopier
from tests.support.watch import Watch, describe, wait_until

pytestmark = [pytest.mark.lab, pytest.mark.long]

TOPICS = ((CANARY_TOPIC, 3), ("x", 2))

OFFSETS, CONFIGS, STATUS = (
    "connect-offsets",
    "connect-configs",
    "connect-status",
)

GROUP = "replicator-group"

CONNECTOR = {
    "connector.class": (
        "io.confluent.connect.replicator.ReplicatorSourceConnector"
    ),
    "topic.regex": ".*",
    "src.kafka.bootstrap.servers": "summit:9092",
    "src.consumer.group.id": GROUP,
    "dest.kafka.bootstrap.servers": "ldf:9092",
}

BY_GROUP = {**CONNECTOR, "offset.start": "consumer"}


class StandIn(OffsetCopier):
    """Copies, and says how far it is as Replicator does."""

    group = GROUP

    def __init__(self, lab: Lab, *, by_group: bool) -> None:
        super().__init__(lab, TOPICS)
        self._by_group = by_group
        self._said: dict[tuple[str, int], int] = {}

    def commit(
        self,
        consumer: Consumer,
        producer: Producer,
        ends: Mapping[tuple[str, int], int],
    ) -> None:
        new = {k: e for k, e in ends.items() if e != self._said.get(k) and e}
        if self._by_group and new:
            consumer.commit(
                offsets=[
                    TopicPartition(*key, end) for key, end in new.items()
                ],
                asynchronous=False,
            )
        elif new:
            for (topic, partition), end in new.items():
                place = f'{{"topic":"{topic}","partition":{partition}}}'
                producer.produce(
                    OFFSETS,
                    f'{{"offset":{end - 1}}}'.encode(),
                    f'["replicator",{place}]'.encode(),
                )
            producer.flush()
        self._said |= new


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with lab_for_copier(TOPICS) as lab:
        for name in (OFFSETS, CONFIGS, STATUS):
            lab.target.topics.create(name, 1, {"cleanup.policy": "compact"})
        run = {"trace": None, "worker_id": "w:8083", "generation": 3}
        say(lab, CONFIGS, "session-key", {"key": "c2VjcmV0"})
        task = {"partition.assignment": "AAEAAAABAAF4AAAAAQAAAAD/////"}
        say(lab, CONFIGS, "task-replicator-0", {"properties": task})
        say(lab, CONFIGS, "commit-replicator", {"tasks": 1})
        for key in ("status-connector-replicator", "status-task-replicator-0"):
            say(lab, STATUS, key, {"state": "RUNNING", **run})
        yield lab


def say(lab: Lab, topic: str, key: str, value: Any) -> None:
    """Write a record as a worker of Connect does."""
    producer = Producer({"bootstrap.servers": lab.target.bootstrap})
    producer.produce(topic, json.dumps(value).encode(), key.encode())
    assert producer.flush(60) == 0


def mirror_config(**more: Any) -> dict[str, Any]:
    topics = {"offsets": OFFSETS, "configs": CONFIGS, "status": STATUS}
    return {
        "kind": "replicator",
        "connectors": ["replicator"],
        "topics": topics,
        **more,
    }


def watching(lab: Lab, state: Path, **mirror: Any) -> Watch:
    limits = {
        "latency": {"warning": "5m", "critical": "10m"},
    }
    return Watch(
        lab,
        state=state,
        canary={"deadline": "60s"},
        flow={
            "limits": limits,
            "mirror": mirror_config(**mirror),
        },
    )


@pytest.mark.parametrize("by_group", [True, False], ids=["group", "connect"])
def test_the_positions_that_it_obeys(
    lab: Lab, tmp_path: Path, *, by_group: bool
) -> None:
    obeyed, other = (
        (BY_GROUP, CONNECTOR) if by_group else (CONNECTOR, BY_GROUP)
    )
    mirror = {"group": GROUP} if by_group else {}
    say(lab, CONFIGS, "connector-replicator", {"properties": other})
    name = "group" if by_group else "connect"
    state = tmp_path / "state.db"
    copier = StandIn(lab, by_group=by_group)
    with copier, watching(lab, state, **mirror) as watch:
        produce(lab, "x", numbered(name, 0, 50))
        copied(lab, "x", [f"{name} 49"])
        watch.wait_for(Health.UNKNOWN, "position.unreadable", check="position")
        say(lab, CONFIGS, "connector-replicator", {"properties": obeyed})
        watch.wait_for_count("delivered", 20)
        watch.wait_for(Health.OFF, check="skips")
        watch.wait_for_only()
        copier.stop()
        produce(lab, "x", numbered("late", 0, 7))
        wait_until(
            lambda: watch.verdict("lag") is not None and "x" in lags(watch),
            what=lambda: watch.verdict("lag"),
        )
        assert lags(watch)["x"] == 7
        watch.wait_for(Health.CRITICAL, "lag.stopped", check="lag")
        assert watch.counts["lost"] == 0


def test_doctor_names_the_connectors_that_are_there(lab: Lab) -> None:
    say(lab, CONFIGS, "connector-replicator", {"properties": CONNECTOR})
    data = describe(lab)
    (flow,) = data["flows"]

    def said() -> list[str]:
        found = examine(
            Config.from_mapping(data),
            logger=structlog.get_logger("mirrorwatch"),
        )
        return [
            f"{f.check}: {f.cause}. {f.remedy}"
            for f in found.findings
            if f.severity is FindingSeverity.ERROR
        ]

    flow["mirror"] = mirror_config()
    assert said() == []
    flow["mirror"]["connectors"] = ["another"]
    (one,) = said()
    assert one.startswith("connectors: none of mirror.connectors is")
    assert "there are replicator. Set mirror.connectors" in one


def lags(watch: Watch) -> dict[str, int]:
    """Return the lag in records of topics that are behind."""
    report = watch.agent.latest.get()
    return {
        topic.topic: topic.records
        for seen in (report.observations if report else ())
        for topic in getattr(seen, "topics", ())
        if getattr(topic, "records", 0)
    }
