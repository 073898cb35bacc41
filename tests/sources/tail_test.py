"""The thread that reads a mirror's internal topics."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
import structlog
from structlog.testing import capture_logs

from mirrorwatch.domain.mirror_records import Companion
from mirrorwatch.kafka.admin import Cluster, Topic
from mirrorwatch.mirrors.mirrormaker2 import MirrorMaker2
from mirrorwatch.ports import InternalTopic
from mirrorwatch.sources import mirror_state
from mirrorwatch.sources.mirror_state import (
    LOOK_AGAIN,
    MirrorState,
    Route,
    TailWorker,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@dataclass
class Record:
    """What the library gives of a record."""

    key_: bytes
    value_: bytes
    at: int = 0

    def topic(self) -> str:
        return "offsets"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self.at

    def key(self) -> bytes:
        return self.key_

    def value(self) -> bytes:
        return self.value_

    def timestamp(self) -> tuple[int, int]:
        return (1, 0)


@dataclass
class Consumer:
    """Gives records once, and remembers what it was told to read."""

    records: list[Record] = field(default_factory=list)
    reads: set[tuple[str, int]] = field(default_factory=set)

    def add(self, offsets: Mapping[tuple[str, int], int]) -> None:
        self.reads |= offsets.keys()

    def drop(self, partitions: Iterable[tuple[str, int]]) -> None:
        self.reads -= set(partitions)

    def follow(self, *_: float) -> Iterator[Any]:
        records, self.records = self.records, []
        yield from records

    def close(self) -> None:
        """Do nothing."""


class Site:
    """One cluster with one internal topic, and who reads it for two flows."""

    alias = "ldf"

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        *,
        kind: str = "offsets",
        optional: bool = False,
    ) -> None:
        self.now, self.there = NOON, True
        self.consumer = Consumer()
        monkeypatch.setattr(
            mirror_state, "OffsetConsumer", lambda *_, **__: self.consumer
        )
        self.states = {alias: MirrorState() for alias in ("summit", "base")}
        topic = InternalTopic(
            kind=kind, side="target", name="offsets", optional=optional
        )
        self.worker = TailWorker(
            cluster=cast("Cluster", self),
            properties={},
            routes=[
                Route(
                    topic,
                    MirrorMaker2(
                        source_alias=alias, target_alias="ldf", topics={}
                    ),
                    state,
                )
                for alias, state in self.states.items()
            ],
            clock=lambda: self.now,
            logger=structlog.get_logger(),
        )

    def describe_topic(self, name: str, *, right: str) -> Topic | None:
        assert right == "READ"
        return (
            Topic(name=name, id="id", leaders={0: 1}) if self.there else None
        )

    def look(self, *, there: bool) -> None:
        """Let the time of the next look come."""
        self.now += LOOK_AGAIN + timedelta(seconds=1)
        self.there = there
        self.worker.step()

    def say(self, key: bytes, value: bytes) -> None:
        self.consumer.records.append(Record(key, value))
        self.now += timedelta(seconds=1)
        self.worker.step()


def test_one_broker_that_does_not_know_a_topic_is_not_believed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site = Site(monkeypatch)
    state = site.states["summit"]
    site.look(there=True)
    assert site.consumer.reads == {("offsets", 0)}
    site.look(there=False)
    assert (state.problems(), state.homes()) == ((), {"offsets": "id"})
    assert site.consumer.reads == {("offsets", 0)}
    site.look(there=True)
    site.look(there=False)
    assert state.problems() == ()
    site.look(there=False)
    assert "does not exist at ldf" in state.problems()[0]
    assert (state.homes(), site.consumer.reads) == ({"offsets": None}, set())
    site.look(there=True)
    assert (state.problems(), state.homes()) == ((), {"offsets": "id"})


def test_an_optional_topic_is_not_absent_because_of_one_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site = Site(monkeypatch, optional=True)
    state = site.states["summit"].optional
    # One that was never there is absent at once.
    site.look(there=False)
    assert state.get("offsets").absent
    site.look(there=True)
    assert not state.get("offsets").absent
    site.look(there=False)
    assert not state.get("offsets").absent
    site.look(there=False)
    assert state.get("offsets").absent


def test_offsets_of_other_connectors_are_read_past(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site = Site(monkeypatch)
    site.look(there=True)
    partition = b'{"cluster":"base","topic":"t","partition":0}'
    with capture_logs() as log:
        site.say(b'["jdbc",{"table":"t"}]', b'{"incrementing":7}')
        site.say(b'["base",' + partition + b"]", b'{"offset":7}')
    assert (log, site.worker.undecodable) == ([], 0)
    (found,) = site.states["base"].all_committed().values()
    assert found.position == 8
    assert site.states["summit"].all_committed() == {}


def test_a_record_that_one_flow_cannot_read_is_read_for_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site = Site(monkeypatch, kind="configs")
    site.look(there=True)
    properties = {
        "connector.class": "MirrorSourceConnector",
        "source.cluster.alias": "summit",
        "topics": 5,
    }
    with capture_logs() as log:
        for _ in range(2):
            value = json.dumps({"properties": properties}).encode()
            site.say(b"connector-c", value)
    assert [entry["event"] for entry in log] == [
        "Record of the mirror cannot be read"
    ]
    assert site.worker.undecodable == 2
    (found,) = site.states["base"].companions()
    assert found == Companion(name="c", role="neighbour")
