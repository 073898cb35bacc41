"""What of the groups is kept, whatever becomes of the source."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from mirrorwatch.domain.cluster_view import (
    ClusterView,
    FlowView,
    TopicFacts,
    TopicPartition,
)
from mirrorwatch.domain.failover import texts
from mirrorwatch.domain.failover.check import FailoverLimits, judge_failover
from mirrorwatch.domain.failover.recovery import (
    CopyFacts,
    RecoveryState,
    RecreatedTopic,
)
from mirrorwatch.domain.failover.translation import (
    CopiedPartition,
    GroupOffset,
    GroupState,
)
from mirrorwatch.domain.finding import render
from mirrorwatch.domain.mirror_records import Checkpoint, Companion, Sync
from mirrorwatch.domain.report import Health, Verdict
from mirrorwatch.domain.topics import Selection
from mirrorwatch.exceptions import SourceUnavailableError
from mirrorwatch.kafka.admin import Cluster
from mirrorwatch.sources import groups
from mirrorwatch.sources.failover import FailoverSource
from mirrorwatch.sources.groups import GroupReading, GroupsWorker
from mirrorwatch.sources.mirror_state import MirrorState
from mirrorwatch.state import Database
from mirrorwatch.state.documents import DocumentStore, FirstSeenStore
from mirrorwatch.state.failover import GroupStore, SourceEnds, SourceEndStore
from tests.support.builders import NOON
from tests.support.copies import copied_partition
from tests.support.findings import find
from tests.support.surveys import an_unseen_view


class Site:
    """A source with groups, that may be lost."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.groups = {"g": {("t", 0): 5, ("elsewhere", 0): 9}}
        self.lists = self.answers = True
        self.whole = True
        self.copied: dict[TopicPartition, CopiedPartition] = {}
        self.database = Database(None)
        self.positions = MirrorState()
        self.now = NOON
        monkeypatch.setattr(groups, "list_groups", self.list)
        monkeypatch.setattr(groups, "read_group_offsets", self.read)
        self.worker = self.start()

    def start(self) -> GroupsWorker:
        self.failover = FailoverSource(
            flow="f",
            positions=self.positions,
            store=GroupStore(self.database, "f"),
            first_seen=FirstSeenStore(self.database, "f", "failover"),
            copied=lambda _: self.copied,
            copy_facts=CopyFacts,
            recovery=DocumentStore(
                self.database, "f", "recovery", RecoveryState
            ),
            source_ends=SourceEndStore(self.database, "f"),
        )
        self.failover.take(an_unseen_view("f", {"t": "summit.t"}))
        return GroupsWorker(
            source=Cluster("summit", {"bootstrap.servers": "127.0.0.1:1"}),
            listeners=[self.failover],
            clock=lambda: self.now,
        )

    def list(self, _: Cluster) -> tuple[list[str], bool]:
        self.fail_unless(answers=self.lists)
        return sorted(self.groups), self.whole

    def read(
        self, _: Cluster, groups: Sequence[str]
    ) -> tuple[dict[tuple[str, str, int], int], set[str]]:
        self.fail_unless(answers=self.answers)
        found = {
            (name, *place): offset
            for name in groups
            for place, offset in self.groups[name].items()
        }
        return found, set()

    def fail_unless(self, *, answers: bool) -> None:
        if not answers:
            raise SourceUnavailableError(
                "lost", source="kafka", cluster="summit"
            )

    def checkpoint(
        self,
        group: str,
        upstream: int,
        downstream: int,
        written_at: datetime = NOON,
    ) -> None:
        self.positions.note(
            Checkpoint(
                group=group,
                topic="summit.t",
                partition=0,
                upstream=upstream,
                downstream=downstream,
                written_at=written_at,
            )
        )

    def kept(self) -> dict[str, GroupState]:
        self.worker.step()
        return GroupStore(self.database, "f").load()


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Site:
    return Site(monkeypatch)


def a_group(
    name: str,
    read_at: datetime | None,
    committed: int | None,
    checkpoint: tuple[int, int] | None = None,
) -> dict[str, GroupState]:
    upstream, downstream = checkpoint or (None, None)
    offset = GroupOffset(
        topic="t",
        partition=0,
        committed=committed,
        upstream=upstream,
        downstream=downstream,
    )
    return {name: GroupState(group=name, read_at=read_at, offsets=(offset,))}


def test_checkpoints_of_a_topic_that_was_recreated_are_of_another(
    site: Site,
) -> None:
    site.checkpoint("g", 4, 3)
    assert site.kept() == a_group("g", NOON, 5, (4, 3))
    # Either side was, just after that was written.
    since = NOON + timedelta(seconds=30)
    DocumentStore(site.database, "f", "recovery", RecoveryState).save(
        RecoveryState(
            recreated=(
                RecreatedTopic(
                    topic="t", partition=0, source_id="s", since=since
                ),
            )
        )
    )
    site.worker = site.start()
    assert site.kept() == a_group("g", NOON, 5)
    # One that is made later may be of syncs of before, while there is no new
    # one (simulated world 20000000144).
    later = since + timedelta(seconds=1)
    site.checkpoint("g", 5, 1, later)
    assert site.kept() == a_group("g", NOON, 5)
    site.failover.take(copied_view(NOON))
    assert site.kept() == a_group("g", NOON, 5)
    site.failover.take(copied_view(later))
    assert site.kept() == a_group("g", NOON, 5, (5, 1))


def copied_view(synced_at: datetime) -> FlowView:
    """Return a view of five records and two copies, with a sync of the last
    one.
    """

    def side(alias: str, topic: str, end: int) -> ClusterView:
        facts = TopicFacts(id=alias[0], partitions=1, replication_factor=1)
        return ClusterView(
            alias=alias,
            id=alias,
            at=synced_at,
            topics={topic: facts},
            ends={(topic, 0): end},
            starts={(topic, 0): 0},
        )

    sync = Sync(
        topic="t",
        partition=0,
        upstream=4,
        downstream=1,
        written_at=synced_at,
    )
    return FlowView(
        flow="f",
        at=synced_at,
        committed={},
        syncs={("t", 0): sync},
        caught_up=True,
        target=side("ldf", "summit.t", 2),
        source=side("summit", "t", 5),
        names={"t": "summit.t"},
    )


def test_offsets_of_topics_that_are_carried_are_kept(site: Site) -> None:
    assert site.kept() == a_group("g", NOON, 5)
    site.checkpoint("g", 4, 3)
    site.groups["g"]["t", 0] = 6
    assert site.kept() == a_group("g", NOON, 6, (4, 3))


@pytest.mark.parametrize("lists", [True, False])
def test_a_lost_source_takes_nothing_away(site: Site, lists: bool) -> None:
    site.checkpoint("g", 4, 3)
    site.kept()
    site.lists, site.answers = lists, False
    assert site.kept() == a_group("g", NOON, 5, (4, 3))
    # Nor does a restart, and checkpoints may still come.
    site.worker = site.start()
    site.checkpoint("g", 5, 4)
    assert site.kept() == a_group("g", NOON, 5, (5, 4))


def test_a_group_that_was_deleted_is_forgotten(site: Site) -> None:
    site.kept()
    site.groups.clear()
    site.whole = False  # a broker did not answer: it may be there
    assert site.kept() == a_group("g", NOON, 5)
    site.whole = True
    assert site.kept() == {}


def view(
    target_end: int | None,
    problems: tuple[str, ...] = (),
    at: datetime = NOON,
) -> FlowView:
    side = None
    if target_end is not None:
        ends = {("summit.t", 0): target_end}
        topics = {
            "summit.t": TopicFacts(id="d", partitions=1, replication_factor=1)
        }
        side = ClusterView(alias="ldf", id="", at=at, topics=topics, ends=ends)
    return FlowView(
        flow="f",
        at=at,
        committed={},
        syncs={},
        caught_up=True,
        target=side,
        source=None,
        names={"t": "summit.t"},
        problems=problems,
    )


def expired(records: int) -> str:
    return render(texts.EXPIRED, {"records": records, "offset": 50})


def problem(site: Site) -> str:
    """Return why the only group without a start has none."""
    (seen,) = site.failover.observe(site.now)
    (missing,) = seen.missing
    return missing.problem


def verdict(site: Site) -> Verdict:
    site.worker.step()
    (seen,) = site.failover.observe(site.now)
    return judge_failover("f", seen, FailoverLimits(), site.now)


def test_starts_are_judged_by_copies_and_the_end_of_the_target(
    site: Site,
) -> None:
    site.copied["t", 0] = copied_partition((0, 9, 0))
    site.failover.take(view(9))
    assert verdict(site).health is Health.OK
    site.failover.take(view(2))  # truncated
    for minute in range(12):
        site.groups["g"]["t", 0] = 6 + minute % 2
        site.now = NOON + timedelta(minutes=minute)
        site.failover.take(view(2, at=site.now))
        found = verdict(site)
    assert found.health is Health.CRITICAL
    find(found, "failover.no-start", group="g", topic="t", partition=0)
    # A restart, and a target that does not answer, take nothing back.
    site.worker = site.start()
    site.worker.step()
    assert not site.failover.observe(site.now)
    site.failover.take(view(2, at=site.now))
    assert verdict(site).health is Health.CRITICAL
    site.failover.take(view(None, problems=("ldf is lost",), at=site.now))
    site.now += timedelta(minutes=1)
    assert verdict(site).health is Health.CRITICAL


def test_a_start_that_expired_at_the_target_is_none(site: Site) -> None:
    site.copied["t", 0] = copied_partition((0, 90, 0))

    def judge(starts: dict[TopicPartition, int], own: int) -> Verdict:
        seen = view(90, at=site.now)
        assert seen.target is not None
        target = replace(seen.target, starts=starts)
        source = ClusterView(
            alias="summit",
            id="",
            at=site.now,
            topics={
                "t": TopicFacts(id="s", partitions=1, replication_factor=1)
            },
            ends={("t", 0): 90},
            starts={("t", 0): own},
        )
        site.failover.take(replace(seen, target=target, source=source))
        return verdict(site)

    for minute in range(12):
        site.groups["g"]["t", 0] = 6 + minute
        site.now = NOON + timedelta(minutes=minute)
        assert judge({("summit.t", 0): 6}, 0).health is Health.OK
    for minute in range(12, 24):
        site.groups["g"]["t", 0] = 6 + minute
        site.now = NOON + timedelta(minutes=minute)
        # A partition without a leader has the log start that it had.
        found = judge({("summit.t", 0): 50} if minute < 20 else {}, 0)
    assert found.health is Health.CRITICAL
    assert problem(site) == expired(21)
    # The source does not hold some of them, and then none of them.
    found = judge({}, 40)
    assert found.health is Health.CRITICAL
    assert problem(site) == expired(10)
    assert judge({}, 50).health is Health.OK


def test_a_group_that_has_read_all_needs_no_copy(site: Site) -> None:
    """A mirror that writes in transactions: its last marker has expired."""
    site.copied["t", 0] = replace(copied_partition((4, 5, 7)), is_shared=True)
    seen = copied_view(NOON)
    assert seen.target is not None
    place = ("summit.t", 0)
    target = replace(seen.target, ends={place: 9}, starts={place: 9})
    site.failover.take(replace(seen, target=target))
    assert verdict(site).health is Health.OK
    # It has one more to read, which may have been copied.
    assert seen.source is not None
    source = replace(seen.source, ends={("t", 0): 6})
    for minute in range(12):
        site.now = NOON + timedelta(minutes=minute)
        site.failover.take(
            replace(
                seen,
                at=site.now,
                source=replace(source, at=site.now),
                target=replace(target, at=site.now),
            )
        )
        found = verdict(site)
    assert found.health is Health.WARNING
    assert problem(site) == render(
        texts.MAY_HAVE_EXPIRED, {"records": 1, "offset": 9}
    )


@pytest.mark.parametrize("hides", ["leader", "topic"])
def test_a_group_without_a_start_has_none_after_an_election(
    site: Site, hides: str
) -> None:
    """Its partition has no leader for a moment, or its topic is not listed."""
    site.copied["t", 0] = copied_partition((0, 9, 0))
    for minute in range(12):
        site.groups["g"]["t", 0] = 6 + minute % 2
        site.now = NOON + timedelta(minutes=minute)
        site.failover.take(view(2, at=site.now))
        found = verdict(site)
    assert found.health is Health.CRITICAL
    seen = view(2, at=site.now)
    assert seen.target is not None
    hidden = replace(
        seen,
        target=replace(seen.target, ends={}),
        names=seen.names if hides == "leader" else {"u": "summit.u"},
    )
    for after, health in ((0.25, Health.CRITICAL), (2, Health.OFF)):
        at = site.now + timedelta(minutes=after)
        site.failover.take(replace(hidden, at=at))
        found = verdict(site)
        known = hides == "leader"
        assert found.health is (Health.CRITICAL if known else health)


@pytest.mark.parametrize("seen_before", [True, False])
def test_a_topic_that_is_gone_at_the_target_leaves_no_start(
    site: Site, seen_before: bool
) -> None:
    """It answers, and lists it no more; or the agent starts after that."""
    site.copied["t", 0] = copied_partition((0, 9, 0))
    site.checkpoint("g", 4, 4)
    for minute in range(60):
        site.groups["g"]["t", 0] = 5 + minute % 4
        site.now = NOON + timedelta(minutes=minute)
        seen = copied_view(site.now)
        assert seen.target is not None
        is_there = seen_before and minute < 3
        target = (
            replace(seen.target, ends={("summit.t", 0): 9})
            if is_there
            else replace(seen.target, topics={}, ends={}, starts={})
        )
        site.failover.take(replace(seen, target=target))
        found = verdict(site)
    assert found.health is Health.CRITICAL
    find(found, "failover.no-start", topic="t", partition=0)
    # It is recreated, and has no leader: the end of before is not its end.
    site.now = NOON + timedelta(minutes=60)
    site.failover.take(hidden_view("leader", site.now))
    found = verdict(site)
    assert found.health is Health.UNKNOWN
    assert found.code == "failover.unreadable"
    # Gone again over a restart, it is unknown until it has been for long.
    site.worker = site.start()
    healths = []
    for minute in range(61, 65):
        site.now = NOON + timedelta(minutes=minute)
        site.failover.take(hidden_view("topic", site.now))
        healths.append(verdict(site).health)
    assert healths == [Health.UNKNOWN] * 2 + [Health.CRITICAL] * 2
    site.failover.take(view(9, at=site.now))
    assert verdict(site).health is Health.OK


def hidden_view(hides: str, at: datetime) -> FlowView:
    """Return a view of a target that does not say where its topic ends."""
    seen = view(9, at=at)
    assert seen.target is not None
    (facts,) = seen.target.topics.values()
    topics: dict[str, dict[str, TopicFacts]] = {
        "topic": {},
        "partition": {"summit.t": replace(facts, partitions=0)},
        "leader": {"summit.t": facts},
    }
    target = replace(seen.target, topics=topics[hides], ends={})
    return replace(seen, target=target)


def test_a_partition_that_is_gone_at_the_target_leaves_no_start(
    site: Site,
) -> None:
    """It was recreated there with fewer partitions."""
    site.groups["g"] = {("t", 1): 5}
    site.copied["t", 1] = copied_partition((0, 9, 0))
    for minute in range(15):
        site.groups["g"]["t", 1] = 5 + minute % 4
        site.now = NOON + timedelta(minutes=minute)
        site.failover.take(view(9, at=site.now))
        found = verdict(site)
    assert found.health is Health.CRITICAL
    find(found, "failover.no-start", topic="t", partition=1)


@pytest.mark.parametrize("hides", ["topic", "partition", "leader"])
def test_what_the_target_hides_for_a_while_keeps_its_start(
    site: Site, hides: str
) -> None:
    """Brokers with old metadata answer, between others; or the partition has
    no leader for an hour.
    """
    site.copied["t", 0] = copied_partition((0, 9, 0))
    for step in range(240):
        site.groups["g"]["t", 0] = 5 + step % 4
        site.now = NOON + step * timedelta(seconds=15)
        is_seen = step == 0 if hides == "leader" else step % 4 == 0
        site.failover.take(
            view(9, at=site.now) if is_seen else hidden_view(hides, site.now)
        )
        found = verdict(site)
        assert found.health is Health.OK
        (seen,) = site.failover.observe(site.now)
        assert seen.missing == ()


def test_groups_that_no_broker_lists_may_have_no_start(site: Site) -> None:
    site.copied["t", 0] = copied_partition((0, 9, 0))
    site.failover.take(view(9))
    site.whole = False
    found = verdict(site)
    assert found.health is Health.UNKNOWN
    assert found.code == "failover.unreadable"
    site.whole = True
    assert verdict(site).health is Health.OK
    # A broker that is restarted takes nothing away of what was listed.
    site.whole = False
    for minute, health in (
        (1, Health.OK),
        (5, Health.OK),
        (6, Health.UNKNOWN),
    ):
        site.now = NOON + timedelta(minutes=minute)
        site.failover.take(view(9, at=site.now))
        assert verdict(site).health is health


def test_a_start_that_cannot_be_looked_for_is_not_missed(site: Site) -> None:
    """A group has just begun when the target is lost."""
    site.failover.take(view(9))
    for minute in range(15):
        site.now = NOON + timedelta(minutes=minute)
        site.groups["g"]["t", 0] = 6 + minute
        if minute > 1:
            site.failover.take(view(None, problems=("ldf is lost",)))
        found = verdict(site)
    assert found.health is Health.UNKNOWN
    assert found.code == "failover.unreadable"
    # It has none since it began, and the target answers.
    site.failover.take(view(9, at=site.now))
    assert verdict(site).health is Health.CRITICAL


def test_a_lost_source_makes_starts_unknown_also_after_a_restart(
    site: Site,
) -> None:
    site.copied["t", 0] = copied_partition((0, 9, 0))
    site.failover.take(view(9))
    assert verdict(site).health is Health.OK
    site.lists = False
    assert verdict(site).code == "failover.unreadable"
    site.worker = site.start()
    site.failover.take(replace(view(9), names={}))
    found = verdict(site)
    assert (found.health, found.code) == (
        Health.UNKNOWN,
        "failover.unreadable",
    )


def test_a_group_that_was_deleted_needs_no_start(site: Site) -> None:
    site.failover.take(view(2))
    site.checkpoint("gone", 7, 7)
    site.worker.step()
    (seen,) = site.failover.observe(NOON)
    assert {m.group for m in seen.missing} == {"g", "gone"}
    reading = GroupReading(
        at=NOON, listed={"g"}, is_whole=True, asked={"g", "gone"}
    )
    site.failover.take_groups(
        replace(reading, offsets={("g", "t", 0): 5}, problem=None)
    )
    (seen,) = site.failover.observe(NOON)
    assert {m.group for m in seen.missing} == {"g"}
    # Nor while the source is lost, nor over a restart of the agent then; it
    # does when it is there again.
    site.lists = False
    site.worker.step()
    (seen,) = site.failover.observe(NOON)
    assert {m.group for m in seen.missing} == {"g"}
    site.worker = site.start()
    site.failover.take(view(2))
    site.worker.step()
    (seen,) = site.failover.observe(NOON)
    assert {m.group for m in seen.missing} == {"g"}
    offsets = {("g", "t", 0): 5, ("gone", "t", 0): 1}
    site.failover.take_groups(replace(reading, offsets=offsets))
    (seen,) = site.failover.observe(NOON)
    assert {m.group for m in seen.missing} == {"g", "gone"}


@pytest.mark.parametrize("groups", [(".*",), ("efd",)])
def test_groups_that_the_mirror_excludes_are_known(
    site: Site, groups: tuple[str, ...]
) -> None:
    site.positions.note(
        Companion(
            name="c", role="checkpoints", groups=Selection(include=groups)
        )
    )
    site.failover.take(view(9))
    site.worker.step()
    (seen,) = site.failover.observe(NOON)
    assert [m.excluded for m in seen.missing] == [groups == ("efd",)]


def test_the_ends_of_the_source_are_kept_until_it_is_back(
    site: Site,
) -> None:
    def see(
        ends: dict[TopicPartition, int], at: datetime, partitions: int = 2
    ) -> SourceEnds:
        facts = TopicFacts(id="s", partitions=partitions, replication_factor=1)
        source = ClusterView(
            alias="summit",
            id="",
            at=at,
            topics={"t": facts, "other": facts},
            ends=ends,
        )
        site.failover.take(replace(view(9), source=source))
        site.worker.step()
        return SourceEndStore(site.database, "f").load()

    later = NOON + timedelta(minutes=1)
    first = {("t", 0): 5, ("t", 1): 7}
    assert see(first | {("other", 0): 1}, NOON) == SourceEnds(
        at=NOON, ends=first
    )
    # One partition has lost its leader, the other one has grown.
    assert see({("t", 0): 6}, later).ends == {("t", 0): 6, ("t", 1): 7}
    site.worker = site.start()
    site.lists = False
    site.worker.step()
    assert SourceEndStore(site.database, "f").load().at == later
    assert see({}, later, partitions=1).ends == {("t", 0): 6}
