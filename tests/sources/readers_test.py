"""Groups at the target are read with their members, and joined with ends."""

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupState

from mirrorwatch.domain.cluster_view import ClusterView, FlowView, TopicFacts
from mirrorwatch.domain.lag.model import FirstRecord, ReadAt
from mirrorwatch.domain.readers.check import ReadersLimits, judge_readers
from mirrorwatch.domain.readers.model import (
    GroupFacts,
    ReadersObservation,
    ReadersState,
)
from mirrorwatch.domain.report import Health, Verdict
from mirrorwatch.exceptions import SourceError
from mirrorwatch.sources import readers
from mirrorwatch.sources.groups import GroupsWorker
from mirrorwatch.sources.readers import ReadersSource
from mirrorwatch.state import Database
from mirrorwatch.state.documents import DocumentStore
from tests.sources.groups_test import FakeGroups
from tests.support.builders import NOON
from tests.support.findings import find


class FakeTarget(FakeGroups):
    """A target whose groups can be described, too."""

    def describe_consumer_groups(
        self, groups: Sequence[str], request_timeout: float
    ) -> "dict[str, Future[Any]]":
        self.asked += [f"describe {group}" for group in groups]
        facts = SimpleNamespace(
            state=ConsumerGroupState.PREPARING_REBALANCING, members=["a", "b"]
        )
        return {group: self._answer(facts) for group in groups}


class World:
    """A target, one flow to it, and the agent's two threads in one."""

    def __init__(self) -> None:
        self.now = NOON
        self.target = FakeTarget()
        self.target.committed = {
            "efd": {("r.t", 0): 40, ("other", 0): 1},
            "stray": {("r.t", 0): 1},
        }
        self.store = DocumentStore(
            Database(None), "f", "readers", ReadersState
        )
        self.watch({"efd", "connect-sink"})
        self.end = 100

    def watch(
        self, chosen: set[str], required: Sequence[str] = ("connect-sink",)
    ) -> None:
        """Start the agent with a configuration."""
        self.source = ReadersSource(
            flow="f",
            target="ldf",
            properties={},
            chosen=chosen.__contains__,
            required=required,
            store=self.store,
        )
        self.worker = GroupsWorker(
            source=self.target,
            listeners=[self.source],
            clock=lambda: self.now,
            chosen=self.source.chooses,
        )

    def survey(self) -> ReadersObservation | None:
        self.now += timedelta(seconds=15)
        facts = TopicFacts(id="id", partitions=1, replication_factor=1)
        target = ClusterView(
            alias="ldf",
            id="ldf",
            at=self.now,
            topics={"r.t": facts, "other": facts},
            ends={("r.t", 0): self.end, ("other", 0): 9},
        )
        self.source.take(
            FlowView(
                flow="f",
                at=self.now,
                committed={},
                syncs={},
                caught_up=True,
                target=target,
                source=None,
                names={"t": "r.t"},
            )
        )
        return self.seen()

    def seen(self) -> ReadersObservation | None:
        return next(iter(self.source.observe(self.now)), None)


@pytest.fixture
def heads(monkeypatch: pytest.MonkeyPatch) -> list[ReadAt]:
    """Records that were asked for; each was written at noon."""
    asked: list[ReadAt] = []

    def read(
        _: object, *, wanted: Sequence[ReadAt], **__: object
    ) -> list[FirstRecord]:
        asked.extend(wanted)
        return [FirstRecord(w, w.position, NOON) for w in wanted]

    monkeypatch.setattr(readers, "read_first_records", read)
    return asked


def test_chosen_groups_alone_are_read_and_described(
    heads: list[ReadAt],
) -> None:
    world = World()
    world.worker.step()
    assert world.target.asked == [
        *("list", "connect-sink", "efd", "describe efd")
    ]
    assert world.worker.name == "readers summit"
    seen = world.survey()
    assert seen is not None
    (group,) = seen.groups
    assert (group.group, group.records) == ("efd", 60)
    assert group.facts == GroupFacts(state="preparing rebalancing", members=2)
    assert [topic.topic for topic in group.topics] == ["r.t"]
    assert seen.missing == ("connect-sink",)
    assert heads == []


def test_ends_are_never_older_than_offsets() -> None:
    world = World()
    assert world.survey() is None
    world.worker.step()
    world.now -= timedelta(seconds=20)
    assert world.survey() is None  # it was asked before
    assert world.survey() is not None


def test_a_record_that_waits_is_read_once_and_is_its_age(
    heads: list[ReadAt],
) -> None:
    world = World()
    for _ in range(4):
        world.worker.step()
        world.survey()
    assert heads == [ReadAt(("r.t", 0), 40, 100)]
    seen = world.seen()
    assert seen is not None
    assert seen.groups[0].seconds == 60
    world.worker.step()
    (standing,) = world.store.load().standing
    assert (standing.group, standing.offset) == ("efd", 40)


def test_a_target_that_is_silent_is_a_problem_until_it_answers(
    heads: list[ReadAt],
) -> None:
    world = World()
    world.target.up = False
    world.worker.step()
    seen = world.survey()
    assert seen is not None
    assert len(seen.problems) == 1
    world.target.up = True
    world.worker.step()
    seen = world.survey()
    assert seen is not None
    assert (seen.problems, len(seen.groups)) == ((), 1)
    assert heads == []


def test_records_that_may_not_be_read_are_a_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> list[FirstRecord]:
        raise SourceError("no READ", source="kafka", cluster="ldf")

    monkeypatch.setattr(readers, "read_first_records", refuse)
    world = World()
    world.worker.step()
    world.survey()
    world.worker.step()
    seen = world.survey()
    assert seen is not None
    assert seen.problems == ("no READ",)
    assert replace(seen, problems=()).groups[0].topics[0].at_least


def test_a_group_that_may_not_be_described_is_named() -> None:
    world = World()
    world.target.denied = {"connect-sink"}
    world.worker.step()
    seen = world.survey()
    assert seen is not None
    assert (seen.denied, seen.missing) == (("connect-sink",), ())


def test_a_group_that_a_silent_broker_does_not_list_has_not_read_all(
    heads: list[ReadAt],
) -> None:
    world = World()
    world.target.committed["connect-sink"] = {("r.t", 0): 100}

    def verdict(rounds: int) -> Verdict:
        for _ in range(rounds):
            world.worker.step()
            world.survey()
        return judge_readers("f", world.seen(), ReadersLimits(), world.now)

    stopped = verdict(rounds=30)
    assert stopped.health is Health.CRITICAL
    find(stopped, "readers.stopped", group="efd")
    # Its coordinator cannot be asked which groups it has.
    world.target.silent = {"efd"}
    unlisted = verdict(rounds=2)
    assert unlisted.health is Health.UNKNOWN
    assert unlisted.code == "readers.unreadable"
    # It has not moved meanwhile: that it was not listed is no move.
    world.target.silent = set()
    assert verdict(rounds=1).health is Health.CRITICAL
    # So it is where it may not be described for a while.
    world.watch({"efd", "connect-sink"}, required=["efd"])
    verdict(rounds=1)
    world.target.denied = {"efd"}
    denied = verdict(rounds=1)
    assert denied.health is Health.UNKNOWN
    find(denied, "readers.denied", group="efd")
    world.target.denied = set()
    assert verdict(rounds=1).health is Health.CRITICAL
    # Deleted is another thing.
    del world.target.committed["efd"]
    deleted = verdict(rounds=1)
    assert deleted.health is Health.WARNING
    find(deleted, "readers.offsets-lost", group="efd")
    assert heads
    # Another configuration does not name it.
    world.worker.step()
    assert world.store.load().standing
    world.watch({"connect-sink"})
    assert verdict(rounds=1).health is Health.OK
