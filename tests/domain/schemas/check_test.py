"""Schemas that readers at the target cannot resolve are found, none else."""

import struct
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.domain.cluster_view import ClusterView, FlowView, TopicFacts
from mirrorwatch.domain.report import Health, Numbers, Subject, Verdict
from mirrorwatch.domain.schemas.check import SchemasLimits, judge_schemas
from mirrorwatch.domain.schemas.metrics import samples
from mirrorwatch.domain.schemas.model import (
    IdKind,
    RegistryTopic,
    Resolution,
    SampledId,
    SchemaId,
    SchemasObservation,
    SchemasState,
    SubjectMode,
    read_schema_ids,
)
from mirrorwatch.domain.schemas.tracker import SchemaTracker
from mirrorwatch.state import Database
from mirrorwatch.state.documents import DocumentStore
from tests.support.builders import NOON
from tests.support.schemas import framed

LIMITS = SchemasLimits()
SECOND = timedelta(seconds=1)


def number(schema: int) -> SchemaId:
    return SchemaId(IdKind.ID, str(schema))


class Site:
    """A flow of two topics, its records and what the registries know."""

    def __init__(self, state: SchemasState | None = None) -> None:
        self.now = NOON
        self.tracker = SchemaTracker(state or SchemasState())
        self.registries: dict[int, Resolution] = {}
        self.ids = {"t": "first", "u": "other"}
        self.starts: dict[tuple[str, int], int] = {}
        self.offset = 0
        self.limits = LIMITS
        self.more: dict[str, object] = {}

    def write(
        self,
        schema: int,
        topic: str = "t",
        *,
        side: str = "target",
        partition: int = 0,
        doubtful: bool = False,
    ) -> None:
        self.offset += 1
        self.tracker.note(
            topic,
            self.ids[topic],
            (side, partition, self.offset),
            [SampledId("value", number(schema), doubtful)],
            self.now,
        )

    def look(self, after: timedelta = SECOND * 10) -> Verdict:
        self.now += after
        view = ClusterView(
            alias="ldf",
            id="id",
            at=self.now,
            topics={
                t: TopicFacts(id=i, partitions=1, replication_factor=1)
                for t, i in self.ids.items()
            },
            ends={},
            starts=self.starts,
        )
        self.tracker.look(
            FlowView(
                flow="f",
                at=self.now,
                committed={},
                syncs={},
                caught_up=True,
                target=view,
                source=view,
                names={topic: topic for topic in self.ids},
            )
        )
        for schema in self.tracker.wanted(self.now):
            found = self.registries.get(int(schema.value), Resolution.NEITHER)
            self.tracker.resolve(schema, found, self.now)
        return self.verdict()

    @property
    def seen(self) -> SchemasObservation:
        seen = SchemasObservation(
            flow="f",
            at=self.now,
            source="summit",
            target="ldf",
            topics=2,
            carriers=self.tracker.topics(),
            resolved=self.tracker.resolved(),
            unresolved=self.tracker.unresolved(),
            incomparable=self.tracker.incomparable(),
            bad=self.tracker.bad(),
            late=self.tracker.late(self.now - timedelta(days=1)),
        )
        return replace(seen, **self.more)  # type: ignore[arg-type]

    def verdict(self) -> Verdict:
        return judge_schemas("f", self.seen, self.limits, self.now)

    def restarted(self) -> "Site":
        """Return it with an agent that knows what the state file keeps."""
        store = DocumentStore(Database(None), "f", "schemas", SchemasState)
        store.save(self.tracker.to_state())
        again = Site(store.load())
        again.now, again.registries = self.now, self.registries
        again.offset = self.offset
        return again


COUNTED = ("schemas", "topics", "seconds", "delay_seconds")


def worst(verdict: Verdict) -> tuple[Health, str, Subject, Numbers]:
    """Return the worst finding, and its counts and durations."""
    found = verdict.findings[0]
    numbers = {n: v for n, v in found.numbers.items() if n in COUNTED}
    return found.health, found.code, found.subject, numbers


@pytest.fixture
def site() -> Site:
    site = Site()
    site.registries = {1: Resolution.SAME, 2: Resolution.MISSING}
    site.write(1)
    return site


def test_schemas_that_both_sides_have_are_ok(site: Site) -> None:
    (found,) = site.look().findings
    assert (found.health, found.code) == (Health.OK, "schemas.ok")
    assert found.numbers == {
        "schemas": 1,
        "topics": 1,
        "source": "summit",
        "target": "ldf",
    }
    assert all(sample.value in {0, 1} for sample in samples(site.seen, NOON))


def test_a_missing_schema_is_a_warning_then_critical_then_late(
    site: Site,
) -> None:
    site.write(2)
    one = {"schemas": 1, "topics": 1}
    assert worst(site.look()) == (
        Health.WARNING,
        "schemas.missing",
        {"topic": "t"},
        one | {"seconds": 10},
    )
    assert worst(site.look(SECOND * 30)) == (
        Health.CRITICAL,
        "schemas.missing",
        {"topic": "t"},
        one | {"seconds": 40},
    )
    site.registries[2] = Resolution.SAME
    assert worst(site.look()) == (
        Health.WARNING,
        "schemas.late",
        {"topic": "t"},
        {"schemas": 1, "delay_seconds": 50, "seconds": 0},
    )
    (delay,) = (
        s.value
        for s in samples(site.seen, site.now)
        if s.metric.name.endswith("delay_seconds")
    )
    assert delay == 50
    assert site.look(timedelta(minutes=59)).health is Health.WARNING
    assert site.look(timedelta(minutes=2)).health is Health.OK


def test_a_schema_that_is_late_for_seconds_is_ok_when_it_is_there(
    site: Site,
) -> None:
    site.write(2)
    assert site.look().health is Health.WARNING
    site.registries[2] = Resolution.SAME
    assert site.look().health is Health.OK


def test_a_schema_that_comes_before_its_records_is_not_late(
    site: Site,
) -> None:
    """They have not been copied while it was missing."""
    site.write(2, side="source")
    assert site.look().health is Health.OK
    assert worst(site.look(timedelta(minutes=5))) == (
        Health.WARNING,
        "schemas.not-copied",
        {"topic": "t"},
        {"schemas": 1, "topics": 1, "seconds": 310},
    )
    site.registries[2] = Resolution.SAME
    site.look()
    site.write(2)
    assert site.look().health is Health.OK
    assert site.seen.late == ()


def test_one_id_of_two_schemas_is_critical_at_once(site: Site) -> None:
    site.registries[3] = Resolution.DIFFERENT
    site.write(3, "t")
    site.write(3, "u")
    assert worst(site.look()) == (
        Health.CRITICAL,
        "schemas.different",
        {"topic": "t"},
        {"schemas": 1, "topics": 2, "seconds": 10},
    )
    found = {s.metric.name: s.value for s in samples(site.seen, site.now)}
    assert found["mirrorwatch_schemas_collisions"] == 1
    assert found["mirrorwatch_missing_schemas"] == 0
    site.registries[3] = Resolution.SAME
    assert site.look().health is Health.OK


def test_what_was_proved_outlives_the_agent(site: Site) -> None:
    site.write(2)
    site.look(SECOND * 40)
    again = site.restarted()
    again.more = {"known": False}
    verdict = again.verdict()
    assert verdict.health is Health.CRITICAL
    assert verdict.codes[:2] == ("schemas.missing", "schemas.no-data")
    assert verdict.findings[0].numbers["seconds"] == 40
    assert [*samples(again.seen, again.now)] == []
    # It may have arrived at any time while the agent was away.
    again.registries[2] = Resolution.SAME
    again.more = {}
    verdict = again.look(timedelta(hours=5))
    assert verdict.health is Health.WARNING
    assert verdict.code == "schemas.late"
    last = again.restarted()
    assert last.verdict().health is Health.WARNING


def test_a_schema_that_is_deleted_is_found_and_all_are_asked_again(
    site: Site,
) -> None:
    site.write(2)
    site.registries[2] = Resolution.SAME
    assert site.look().health is Health.OK
    assert site.tracker.wanted(site.now) == []
    site.registries = {1: Resolution.MISSING, 2: Resolution.MISSING}
    # As one of them is asked for again before the other.
    site.tracker.resolve(number(1), Resolution.MISSING, site.now + SECOND)
    verdict = site.look(SECOND * 40)
    assert worst(verdict) == (
        Health.CRITICAL,
        "schemas.missing",
        {"topic": "t"},
        {"schemas": 1, "topics": 1, "seconds": 39},
    )
    assert len(site.seen.bad) == 2
    site.registries = {1: Resolution.SAME, 2: Resolution.SAME}
    assert site.look().health is Health.OK
    assert site.seen.late == ()


@pytest.mark.parametrize("restarts", [1, 2])
@pytest.mark.parametrize("copied", ["before", "while it is missing"])
def test_a_schema_that_is_restored_is_not_late_after_a_restart(
    site: Site, copied: str, restarts: int
) -> None:
    site.write(2, side="target" if copied == "before" else "source")
    site.registries[2] = Resolution.SAME
    assert site.look().health is Health.OK
    site.registries[2] = Resolution.MISSING
    site.look(timedelta(hours=5))
    site.write(2)
    assert site.look(SECOND * 40).health is Health.CRITICAL
    for _ in range(restarts):
        site = site.restarted()
        assert site.look(SECOND * 40).health is Health.CRITICAL
    site.registries[2] = Resolution.SAME
    assert site.look().health is Health.OK
    assert site.seen.late == ()


def test_what_no_registry_knows_is_a_schema_only_among_others(
    site: Site,
) -> None:
    for schema in range(100, 103):
        site.write(schema, "u")
    assert site.look(timedelta(minutes=5)).health is Health.OK
    # No more of them are asked for: their topic carries none.
    for schema in range(200, 300):
        site.write(schema, "u")
    assert site.tracker.wanted(site.now) == []
    assert len(site.tracker.wanted(site.now + timedelta(hours=1))) == 4
    site.write(100, "t")
    verdict = site.look()
    assert verdict.health is Health.CRITICAL
    assert verdict.code == "schemas.unresolvable"
    assert verdict.findings[0].subject == {"topic": "t"}


def test_a_topic_that_carries_schemas_only_now_is_found(site: Site) -> None:
    for schema in range(100, 103):
        site.write(schema, "u")
    site.look()
    site.write(2, "u")
    assert site.look().health is Health.OK
    site.now += timedelta(minutes=10)
    site.write(2, "u")
    assert site.look(SECOND * 40).health is Health.CRITICAL


def test_an_id_that_is_registered_later_is_found_at_once() -> None:
    """Other bytes of another topic looked like it before."""
    site = Site()
    site.write(5, "u")
    assert site.look().health is Health.OFF
    site.registries[5] = Resolution.MISSING
    site.write(5, "t")
    assert site.look().health is Health.WARNING
    assert site.look(SECOND * 40).health is Health.CRITICAL
    # It may be registered after its first records, too.
    other = Site()
    other.write(5)
    assert other.look().health is Health.OFF
    other.registries[5] = Resolution.MISSING
    assert other.look(SECOND * 60).health is Health.CRITICAL


def test_numbers_are_schemas_only_with_a_subject_of_the_topic() -> None:
    for subjects, health in ((set(), Health.OFF), ({"t-value"}, 3)):
        site = Site()
        site.registries = {2: Resolution.MISSING}
        site.tracker.take_subjects(subjects)
        site.write(2, doubtful=True)
        assert site.look(timedelta(minutes=5)).health == health


def test_heartbeats_of_mirrormaker_are_no_schemas() -> None:
    """Two bytes of version, and the upper half of a time: id 1."""
    value = struct.pack(">hq", 0, 1_800_000_000_000)
    (found,) = read_schema_ids(None, value, [])
    assert found.schema == number(1)
    site = Site()
    site.ids["summit.heartbeats"] = "beats"
    site.registries = {1: Resolution.DIFFERENT}
    site.write(1, "summit.heartbeats")
    assert site.look().health is Health.OFF


def test_problems_end_with_their_records_and_their_topic(site: Site) -> None:
    site.write(2)
    assert site.look(SECOND * 40).health is Health.CRITICAL
    site.starts["t", 0] = site.offset
    assert site.look().health is Health.CRITICAL
    site.starts["t", 0] = site.offset + 1
    assert site.look().health is Health.OFF

    site.registries[1] = Resolution.SAME
    site.starts.clear()
    site.write(1)
    site.write(2)
    assert site.look(SECOND * 40).health is Health.CRITICAL
    site.ids["t"] = "another"
    assert site.look().health is not Health.CRITICAL


def test_a_problem_lasts_as_long_as_any_partition_has_its_records(
    site: Site,
) -> None:
    site.write(2, partition=3)
    site.write(2, partition=1)
    site.look()
    assert site.look(after=SECOND * 60).health is Health.CRITICAL
    # The one that was sampled last is the older one.
    site.starts = {("t", 1): site.offset + 1}
    verdict = site.look()
    assert verdict.health is Health.CRITICAL
    found = verdict.findings[0].numbers
    assert (found["newest_at"], found["newest_partition"]) == ("target", 3)
    site.starts[("t", 3)] = site.offset
    assert site.look().health is Health.OK


def test_what_is_not_known_is_never_ok(site: Site) -> None:
    def judged(**more: object) -> Verdict:
        site.more = more
        return site.verdict()

    site.look()
    assert judged().health is Health.OK
    for more, condition, numbers in (
        ({"problems": ("No answer",)}, "unreadable", {}),
        ({"unsampled": 1}, "no-data", {"topics": 1}),
        ({"unresolved": 3}, "no-data", {"schemas": 3}),
        ({"at": NOON - timedelta(minutes=3)}, "stale", {"seconds": 190}),
        ({"known": False}, "no-data", {}),
    ):
        assert worst(judged(**more)) == (
            Health.UNKNOWN,
            f"schemas.{condition}",
            {},
            numbers,
        )
    site.more = {}
    site.registries[5] = Resolution.INCOMPARABLE
    site.write(5)
    assert worst(site.look()) == (
        Health.UNKNOWN,
        "schemas.incomparable",
        {"topic": "t"},
        {"schemas": 1},
    )
    nothing = judge_schemas("f", None, LIMITS, NOON)
    assert worst(nothing) == (Health.UNKNOWN, "schemas.no-data", {}, {})


def test_it_is_off_without_registries_or_schemas() -> None:
    site = Site()
    assert worst(site.look()) == (
        Health.OFF,
        "schemas.off",
        {},
        {"topics": 2},
    )
    off = judge_schemas("f", None, replace(LIMITS, enabled=False), NOON)
    assert worst(off) == (Health.OFF, "schemas.off", {}, {})


def test_a_setup_that_cannot_work_is_a_warning(site: Site) -> None:
    site.look()
    unread = RegistryTopic(
        exists=True, remote="summit._schemas", wanted="_schemas"
    )
    at_ldf = SubjectMode(
        alias="ldf", subject="t-value", mode="READONLY", other="READWRITE"
    )
    cases: list[tuple[dict[str, object], str, Subject]] = [
        ({"modes": {"summit": "IMPORT"}}, "mode", {"cluster": "summit"}),
        ({"modes": {"summit": "READONLY", "ldf": "IMPORT"}}, "ok", {}),
        (
            {"subject_modes": (at_ldf,)},
            "mode",
            {"cluster": "ldf", "subject": "t-value"},
        ),
        (
            {"subject_modes": (replace(at_ldf, other="READONLY"),)},
            "ok",
            {},
        ),
        (
            {
                "subject_modes": (
                    replace(at_ldf, alias="summit", mode="IMPORT"),
                )
            },
            "mode",
            {"cluster": "summit", "subject": "t-value"},
        ),
        ({"registry_topic": unread}, "registry-topic", {"topic": "_schemas"}),
        (
            {"missing_subjects": ("t-value",)},
            "missing-subjects",
            {"subject": "t-value"},
        ),
    ]
    for more, condition, subject in cases:
        site.more = more
        health = Health.OK if condition == "ok" else Health.WARNING
        found = site.verdict().findings[0]
        assert (found.health, found.code, found.subject) == (
            health,
            f"schemas.{condition}",
            subject,
        )
    site.limits = replace(LIMITS, subjects=False)
    assert site.verdict().health is Health.OK


GUID = UUID("0123456789abcdef0123456789abcdef")
LONG = struct.pack(">Q", 7)


@pytest.mark.parametrize(
    ("key", "value", "headers", "expected"),
    [
        (None, framed(7), [], {("value", "id", "7")}),
        (framed(8), framed(7), [], {("key", "id", "8"), ("value", "id", "7")}),
        (None, b"\x00" + LONG + b"x", [], {("value", "globalId", "7")}),
        (None, b"plain", [], set()),
        (None, b"\x00\x00\x00\x01", [], set()),
        (None, b"\x00" * 20, [], set()),
        (None, None, [("__value_schema_id", framed(7))], set()),
        (
            b"k",
            b"v",
            [("__value_schema_id", b"\x01" + GUID.bytes)],
            {("value", "guid", str(GUID))},
        ),
        (
            None,
            framed(9),
            [("apicurio.value.contentId", LONG)],
            {("value", "contentId", "7")},
        ),
        (
            b"k",
            b"v",
            [("apicurio.key.globalId", LONG), ("x", None)],
            {("key", "globalId", "7")},
        ),
    ],
)
def test_ids_are_read_as_serializers_write_them(
    key: bytes | None,
    value: bytes | None,
    headers: list[tuple[str, bytes | None]],
    expected: set[tuple[str, str, str]],
) -> None:
    found = read_schema_ids(key, value, headers)
    assert {
        (f.part, f.schema.kind.value, f.schema.value) for f in found
    } == expected


@given(
    st.binary(max_size=40),
    st.lists(
        st.tuples(
            st.sampled_from(["__value_schema_id", "apicurio.value.globalId"]),
            st.none() | st.binary(max_size=20),
        )
    ),
)
def test_any_record_can_be_read(
    value: bytes, headers: list[tuple[str, bytes | None]]
) -> None:
    for found in read_schema_ids(value, value, headers):
        assert found.schema.value
