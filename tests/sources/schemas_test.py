"""The worker that samples records, and asks both registries for schemas."""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from mirrorwatch.domain.cluster_view import (
    ClusterView,
    FlowView,
    TopicFacts,
    TopicPartition,
)
from mirrorwatch.domain.offsets import OffsetRange
from mirrorwatch.domain.report import Flow, Health, Verdict
from mirrorwatch.domain.schemas.check import SchemasLimits, judge_schemas
from mirrorwatch.domain.schemas.model import (
    IdKind,
    Resolution,
    SchemaId,
    SchemasObservation,
    SchemasState,
)
from mirrorwatch.exceptions import (
    SourceDeniedError,
    SourceError,
    SourceUnavailableError,
)
from mirrorwatch.http import HttpAddress
from mirrorwatch.sources import schemas
from mirrorwatch.sources.registry import RegisteredSchema, Registry
from mirrorwatch.sources.schemas import SchemasWorker, compare_schemas
from mirrorwatch.state import Database
from mirrorwatch.state.documents import DocumentStore
from tests.support.builders import NOON
from tests.support.findings import find
from tests.support.schemas import (
    StandInRegistry,
    avro,
    framed,
    standing_in,
)


class FakeReader:
    """Reads records from a dictionary, and keeps what it was asked for."""

    logs: ClassVar[dict[tuple[str, str], list[bytes]]] = {}
    denied: ClassVar[frozenset[str]] = frozenset()
    lost: ClassVar[frozenset[str]] = frozenset()
    asked: ClassVar[list[tuple[str, TopicPartition, int, int]]] = []

    def __init__(self, _: Mapping[str, str], cluster: str) -> None:
        self.cluster = cluster

    def read(
        self, wanted: Mapping[TopicPartition, OffsetRange], _: float
    ) -> tuple[list[Any], dict[TopicPartition, SourceError | None]]:
        if self.cluster in self.lost:
            raise SourceUnavailableError(
                "No broker answers", source="kafka", cluster=self.cluster
            )
        found: list[Any] = []
        left: dict[TopicPartition, SourceError | None] = {}
        for place, span in wanted.items():
            topic, partition = place
            self.asked.append((self.cluster, place, span.first, span.end))
            if topic in self.denied:
                left[place] = SourceDeniedError(
                    "No READ", source="kafka", cluster="c", right="READ"
                )
                continue
            log = self.logs[self.cluster, topic]
            found += [
                SimpleNamespace(
                    topic=lambda t=topic: t,
                    partition=lambda p=partition: p,
                    offset=lambda o=offset: o,
                    key=lambda: None,
                    value=lambda v=log[offset]: v,
                    headers=lambda: None,
                )
                for offset in range(span.first, span.end)
            ]
        return found, left

    def close(self) -> None:
        """Do nothing."""


class World:
    """Two clusters of topics, and the registries of both."""

    def __init__(
        self, source: StandInRegistry, target: StandInRegistry
    ) -> None:
        self.now = NOON
        self.registries = {"summit": source, "ldf": target}
        self.topics: list[str] = []
        self.ids: dict[str, str] = {}
        self.starts: dict[tuple[str, str], int] = {}
        self.store = DocumentStore(
            Database(None), "f", "schemas", SchemasState
        )
        self.worker = self.start()

    def start(self, topic: str | None = None) -> SchemasWorker:
        return SchemasWorker(
            flow=Flow(name="f", source="summit", target="ldf"),
            properties={"summit": {}, "ldf": {}},
            registries={
                alias: Registry(alias, HttpAddress(url=registry.url))
                for alias, registry in self.registries.items()
            },
            topics={"ldf": topic},
            store=self.store,
            interval=timedelta(seconds=5),
            clock=lambda: self.now,
            monotonic=self.monotonic,
        )

    def monotonic(self) -> float:
        return (self.now - NOON).total_seconds()

    def write(self, topic: str, *values: bytes, copied: bool = True) -> None:
        if topic not in self.topics:
            self.topics.append(topic)
        for side, name in (("summit", topic), ("ldf", f"s.{topic}")):
            log = FakeReader.logs.setdefault((side, name), [])
            log += values if copied or side == "summit" else ()

    def view(self) -> FlowView:
        names = {topic: f"s.{topic}" for topic in self.topics}
        return FlowView(
            flow="f",
            at=self.now,
            committed={},
            syncs={},
            caught_up=True,
            target=self._side("ldf", list(names.values())),
            source=self._side("summit", list(names)),
            names=names,
        )

    def _side(self, alias: str, names: list[str]) -> ClusterView:
        return ClusterView(
            alias=alias,
            id=alias,
            at=self.now,
            topics={
                name: TopicFacts(
                    id=self.ids.get(name, name),
                    partitions=1,
                    replication_factor=1,
                )
                for name in names
            },
            ends={(n, 0): len(FakeReader.logs[alias, n]) for n in names},
            starts={(n, 0): self.starts.get((alias, n), 0) for n in names},
        )

    def step(self, seconds: float = 5) -> SchemasObservation:
        self.now += timedelta(seconds=seconds)
        self.worker.take(self.view())
        self.worker.step()
        return self.seen()

    def seen(self) -> SchemasObservation:
        (seen,) = self.worker.observe(self.now)
        return seen

    def verdict(self) -> Verdict:
        return judge_schemas("f", self.seen(), SchemasLimits(), self.now)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    for name, value in (
        ("logs", {}),
        ("denied", frozenset()),
        ("lost", frozenset()),
        ("asked", []),
    ):
        monkeypatch.setattr(FakeReader, name, value)
    monkeypatch.setattr(schemas, "NewestReader", FakeReader)
    with ExitStack() as stack:
        source, target = (
            stack.enter_context(standing_in(StandInRegistry()))
            for _ in range(2)
        )
        source.schemas = {1: avro("A", "a"), 2: avro("B", "b")}
        target.schemas = dict(source.schemas)
        world = World(source, target)
        yield world
        world.worker.close()


def test_the_newest_records_of_both_sides_are_looked_up_once(
    world: World,
) -> None:
    world.write("t", *[framed(9)] * 5, framed(1), framed(1), b"no")
    world.write("u", framed(2), copied=False)
    seen = world.step()
    assert (seen.carriers, seen.resolved, seen.bad) == (2, 2, ())
    assert sorted(FakeReader.asked) == [
        ("ldf", ("s.t", 0), 5, 8),
        ("summit", ("t", 0), 5, 8),
        ("summit", ("u", 0), 0, 1),
    ]
    asked = world.registries["ldf"].asked
    assert asked == {"schemas": 2, "mode": 1, "subjects": 1}
    # What did not move is not read again, and what is known not asked for.
    FakeReader.asked.clear()
    world.step()
    assert FakeReader.asked == []
    assert asked == {"schemas": 2, "mode": 2, "subjects": 1}
    assert world.verdict().health is Health.OK


@pytest.mark.slow
def test_requests_are_bounded_however_many_topics_there_are(
    world: World,
) -> None:
    many = range(1, 1001)
    for registry in world.registries.values():
        registry.schemas = dict.fromkeys(many, avro("A", "a"))
    for number in many:
        world.write(f"t{number}", framed(number))
    for count in range(1, 6):
        FakeReader.asked.clear()
        seen = world.step()
        assert len(FakeReader.asked) == 2 * schemas.PARTITIONS
        assert world.registries["ldf"].asked["schemas"] <= (
            count * schemas.LOOKUPS
        )
        assert seen.unsampled == 1000 - count * schemas.PARTITIONS
        assert world.verdict().health is Health.UNKNOWN
    for _ in range(6):
        seen = world.step()
    assert (seen.carriers, seen.resolved, seen.unresolved) == (1000, 1000, 0)
    assert world.verdict().health is Health.OK


def test_what_is_not_answered_is_unknown_and_no_loss(world: World) -> None:
    world.write("t", framed(1))
    source, target = world.registries["summit"], world.registries["ldf"]
    source.down = target.down = True
    world.step()
    verdict = world.verdict()
    assert verdict.health is Health.UNKNOWN
    assert verdict.code == "schemas.unreadable"
    source.down = target.down = False
    world.step()
    assert world.verdict().health is Health.OK
    # Nothing is to be looked up now, and yet it shows.
    source.down = True
    world.step()
    verdict = world.verdict()
    assert verdict.health is Health.UNKNOWN
    assert verdict.code == "schemas.unreadable"
    source.down = False

    FakeReader.lost = frozenset({"ldf"})
    world.write("t", framed(1))
    world.step()
    assert world.verdict().code == "schemas.unreadable"
    FakeReader.lost = frozenset()
    world.worker.take(
        FlowView(
            **{
                name: getattr(world.view(), name)
                for name in ("flow", "at", "committed", "syncs", "names")
            },
            caught_up=True,
            target=None,
            source=None,
            problems=("ldf does not answer",),
        )
    )
    world.worker.step()
    assert world.verdict().health is Health.UNKNOWN
    world.step()
    assert world.verdict().health is Health.OK


@pytest.mark.parametrize("side", ["summit", "ldf"])
def test_an_id_that_is_refused_hides_no_other(world: World, side: str) -> None:
    """A registry may hide the schemas of some subjects from an agent."""
    world.registries[side].refused = frozenset(range(10, 22))
    for number in range(10, 22):
        world.write(f"hidden{number}", framed(number))
    for _ in range(3):
        world.step()
    assert world.verdict().health is Health.UNKNOWN
    assert world.seen().unresolved == 12
    world.write("t", framed(1))
    world.write("u", framed(2))
    world.registries["ldf"].schemas.pop(2)
    for _ in range(2):
        world.step(40)
    verdict = world.verdict()
    assert verdict.health is Health.CRITICAL
    assert verdict.codes[:2] == ("schemas.missing", "schemas.unreadable")
    assert verdict.findings[0].subject == {"topic": "u"}
    world.registries[side].refused = frozenset()
    world.registries["summit"].schemas |= {
        n: avro("A", "a") for n in range(40)
    }
    world.registries["ldf"].schemas |= world.registries["summit"].schemas
    for _ in range(2):
        world.step()
    assert world.verdict().health is not Health.CRITICAL
    assert (world.seen().problems, world.seen().unresolved) == ((), 0)


def test_a_registry_that_fails_is_not_asked_for_everything(
    world: World,
) -> None:
    registry = world.registries["ldf"]
    for number in range(1, 13):
        world.write(f"t{number}", framed(number))
    world.registries["ldf"].down = True
    world.step()
    registry.refused, registry.down = frozenset(range(13)), False
    registry.asked.clear()
    world.step()
    assert registry.asked["schemas"] == 10


def test_a_topic_that_may_not_be_read_is_named(world: World) -> None:
    world.write("t", framed(1))
    world.write("u", framed(2))
    FakeReader.denied = frozenset({"s.u"})
    world.step()
    verdict = world.verdict()
    assert verdict.health is Health.UNKNOWN
    assert verdict.code == "schemas.unreadable"
    assert "READ on topic s.u at ldf" in verdict.reason
    world.step(120)
    assert world.verdict().findings == verdict.findings
    FakeReader.denied = frozenset()
    world.step()
    assert world.verdict().health is Health.OK


def test_what_was_found_is_reported_by_the_next_agent(world: World) -> None:
    world.write("t", framed(1), framed(3))
    world.registries["summit"].schemas[3] = avro("C", "c")
    world.step()
    world.step(40)
    assert world.verdict().health is Health.CRITICAL
    world.worker.close()
    world.worker = world.start()
    verdict = world.verdict()
    assert verdict.health is Health.CRITICAL
    find(verdict, "schemas.missing", topic="t", schemas=1)
    assert not world.seen().known


def assert_schema_is_missed(world: World) -> None:
    """Let two rounds pass, and find the schema that ldf does not have."""
    world.step()
    world.step(40)
    verdict = world.verdict()
    assert verdict.health is Health.CRITICAL
    assert verdict.code == "schemas.missing"
    assert verdict.findings[0].numbers["schema"] == "schema id 3"


def test_a_topic_that_was_not_seen_for_a_moment_is_sampled_again(
    world: World,
) -> None:
    world.registries["summit"].schemas[3] = avro("C", "c")
    world.write("t", framed(1), framed(3))
    world.write("u", framed(2))
    world.step()
    world.step(40)
    assert world.verdict().health is Health.CRITICAL
    world.topics.remove("t")
    world.step()
    world.topics.append("t")
    # Nobody writes to it, so its ends are those of before.
    assert_schema_is_missed(world)


def test_a_recreated_topic_is_sampled_whatever_its_ends_are(
    world: World,
) -> None:
    world.registries["summit"].schemas[3] = avro("C", "c")
    world.write("t", framed(1))
    world.step()
    assert world.verdict().health is Health.OK
    world.ids = {"t": "another", "s.t": "another"}
    FakeReader.logs.clear()
    world.write("t", framed(3))
    assert_schema_is_missed(world)


def test_what_expired_at_the_source_is_still_read_at_the_target(
    world: World,
) -> None:
    world.registries["summit"].schemas[3] = avro("C", "c")
    world.write("t", framed(1), framed(3))
    world.step()
    world.step(40)
    assert world.verdict().health is Health.CRITICAL
    world.starts["summit", "t"] = 2
    world.step()
    assert world.verdict().health is Health.CRITICAL
    world.starts["ldf", "s.t"] = 2
    world.step()
    assert world.verdict().health is Health.OFF


def test_a_recreated_copy_holds_none_of_the_old_records(
    world: World,
) -> None:
    world.registries["summit"].schemas[3] = avro("C", "c")
    world.write("t", framed(3))
    world.write("u", framed(1))
    world.step()
    world.step(40)
    assert world.verdict().health is Health.CRITICAL
    # The mirror does not copy again what it had copied.
    world.ids = {"s.t": "another"}
    FakeReader.logs["ldf", "s.t"].clear()
    world.step()
    world.step(40)
    verdict = world.verdict()
    assert verdict.health is Health.WARNING
    find(verdict, "schemas.not-copied", topic="t", schemas=1)
    world.starts["summit", "t"] = 1
    world.step()
    assert world.verdict().health is Health.OK


def test_subjects_are_compared_under_the_names_of_the_target(
    world: World,
) -> None:
    source, target = world.registries["summit"], world.registries["ldf"]
    world.write("t", framed(1))
    world.write("u", framed(2))
    world.write("v", framed(2))
    source.names = ["t-value", "u-value", "elsewhere"]
    target.names = ["t-value", "s.u-value"]
    world.step()
    # New topics have them a moment later: one look proves nothing.
    assert world.seen().missing_subjects == ()
    world.step(60)
    assert world.seen().missing_subjects == ("s.t-value",)
    assert world.verdict().health is Health.WARNING
    target.names.append("s.t-value")
    world.step(60)
    assert world.verdict().health is Health.OK


def test_subjects_that_take_no_schema_are_named(world: World) -> None:
    source, target = world.registries["summit"], world.registries["ldf"]
    for topic in ("t", "u", "v"):
        world.write(topic, framed(1))
    source.names = ["t-value", "u-value", "v-value", "elsewhere"]
    target.names = ["s.t-value", "s.u-value", "s.v-value"]
    # The whole of a target that waits may be read-only, and be filled by
    # its topic; and what is frozen on both sides is so on purpose.
    target.modes = {"s.t-value": "READONLY", "s.u-value": "IMPORT"}
    source.modes = {"t-value": "READONLY", "elsewhere": "IMPORT"}
    world.step()
    assert world.verdict().health is Health.OK
    frozen = world.seen().subject_modes[0]
    assert (frozen.alias, frozen.subject) == ("ldf", "s.t-value")
    assert frozen.mode == "READONLY"
    source.modes = {"u-value": "IMPORT"}
    world.step(60)
    verdict = world.verdict()
    assert verdict.health is Health.WARNING
    modes = [f for f in verdict.findings if f.code == "schemas.mode"]
    assert [f.subject for f in modes] == [
        {"cluster": "summit", "subject": "u-value"},
        {"cluster": "ldf", "subject": "s.t-value"},
    ]
    source.modes, target.modes = {}, {}
    world.step(60)
    assert world.verdict().health is Health.OK


@pytest.mark.slow
def test_subjects_are_asked_for_modes_in_turn(world: World) -> None:
    many = range(1, 101)
    source, target = world.registries["summit"], world.registries["ldf"]
    target.mode = None  # as Apicurio: it is not asked
    for registry in (source, target):
        registry.schemas = dict.fromkeys(many, avro("A", "a"))
    for number in many:
        world.write(f"t{number}", framed(number))
    source.names = [f"t{number}-value" for number in many]
    target.names = [f"s.t{number}-value" for number in many]
    source.modes = {"t7-value": "IMPORT", "t99-value": "IMPORT"}
    for rounds in (1, 2):
        before = source.asked["mode"]
        seen = world.step(60)
        # One of them is for that of the registry.
        assert source.asked["mode"] - before == 1 + schemas.SUBJECT_MODES
        assert target.asked["mode"] == rounds
    assert [one.subject for one in seen.subject_modes] == [
        *("t7-value", "t99-value")
    ]


def test_the_topic_of_the_registry_is_found(world: World) -> None:
    world.write("_schemas", b"{}")
    world.worker.close()
    world.worker = world.start("_schemas")
    topic = world.step().registry_topic
    assert (topic.exists, topic.remote) == (True, "s._schemas")
    assert topic.misses


def test_apicurios_own_ids_are_looked_up_in_its_own_api() -> None:
    registry = StandInRegistry(path="/apis/ccompat/v7", mode=None)
    registry.contents = {"globalIds/7": '"string"', "contentIds/3": '"int"'}
    registry.schemas = {7: '"long"'}
    with standing_in(registry):
        client = Registry("ldf", HttpAddress(url=registry.url))
        for kind, number, expected in (
            (IdKind.ID, "7", '"long"'),
            (IdKind.GLOBAL_ID, "7", '"string"'),
            (IdKind.CONTENT_ID, "3", '"int"'),
            (IdKind.CONTENT_ID, "7", None),
            (IdKind.GUID, "7", None),
        ):
            found = client.look_up(SchemaId(kind, number))
            assert (found and found.text) == expected
        assert client.mode() is None
        client.close()


A = RegisteredSchema(avro("A", "a"))
DOCUMENTED = RegisteredSchema(
    json.dumps(json.loads(avro("A", "a", doc="An a", namespace="")), indent=2)
)
MILLIS = RegisteredSchema('{"type": "long", "logicalType": "time-micros"}')
MICROS = RegisteredSchema(
    '{"type": "long", "logicalType": "timestamp-micros"}'
)
OBJECT = RegisteredSchema('{"type": "object", "title": "T"}', "JSON")
TURNED = RegisteredSchema('{"title": "T", "type": "object"}', "JSON")
PROTO = RegisteredSchema("message A { string a = 1; }", "PROTOBUF")
SPACED = RegisteredSchema("// A\nmessage A {\n string a = 1;\n}", "PROTOBUF")


@pytest.mark.parametrize(
    ("here", "there", "expected"),
    [
        (A, A, Resolution.SAME),
        (A, DOCUMENTED, Resolution.SAME),
        (A, RegisteredSchema(avro("A", "b")), Resolution.DIFFERENT),
        (A, RegisteredSchema(A.text, None), Resolution.SAME),
        (A, RegisteredSchema(A.text, "JSON"), Resolution.DIFFERENT),
        (A, None, Resolution.MISSING),
        (None, A, Resolution.TARGET_ONLY),
        (None, None, Resolution.NEITHER),
        (MILLIS, MICROS, Resolution.DIFFERENT),
        (OBJECT, TURNED, Resolution.SAME),
        (OBJECT, RegisteredSchema("{}", "JSON"), Resolution.DIFFERENT),
        (PROTO, SPACED, Resolution.SAME),
        (
            PROTO,
            RegisteredSchema("message B {}", "PROTOBUF"),
            Resolution.INCOMPARABLE,
        ),
        (
            RegisteredSchema(avro("A", "a"), references=("x.B",)),
            A,
            Resolution.INCOMPARABLE,
        ),
        (
            RegisteredSchema('{"type": "x.B"}'),
            RegisteredSchema('{"type": "x.C"}'),
            Resolution.INCOMPARABLE,
        ),
        (
            RegisteredSchema("[" * 500),
            RegisteredSchema("{"),
            Resolution.INCOMPARABLE,
        ),
    ],
)
def test_schemas_are_the_same_if_they_read_the_same(
    here: RegisteredSchema | None,
    there: RegisteredSchema | None,
    expected: Resolution,
) -> None:
    assert compare_schemas(here, there) is expected
