"""Groups that no longer read at the target are found, and no others."""

from dataclasses import replace
from datetime import timedelta

import pytest

from mirrorwatch.domain.cluster_view import ClusterView, TopicFacts
from mirrorwatch.domain.lag.model import FirstRecord, LagStatus
from mirrorwatch.domain.readers.check import ReadersLimits, judge_readers
from mirrorwatch.domain.readers.metrics import samples
from mirrorwatch.domain.readers.model import (
    GroupFacts,
    ReadersObservation,
    ReadersState,
)
from mirrorwatch.domain.readers.tracker import ReadersTracker
from mirrorwatch.domain.report import Health, Verdict
from mirrorwatch.state import Database
from mirrorwatch.state.documents import DocumentStore
from tests.support.builders import NOON
from tests.support.findings import find

LOOK = timedelta(seconds=15)
G, H = ("g", "t", 0), ("h", "t", 0)


class Target:
    """A target with one topic of two partitions, and groups that read it."""

    def __init__(self) -> None:
        self.now = NOON
        self.ends = {("t", 0): 100, ("t", 1): 100}
        self.offsets = {G: 100}
        self.facts = {"g": GroupFacts(state="stable", members=2)}
        self.id = "first"
        self.listed = self.carried = True
        self.is_whole = True
        self.unread: frozenset[str] = frozenset()
        self.tracker = ReadersTracker(ReadersState())
        self.seen = ReadersObservation(flow="f", at=NOON)

    def look(self, after: timedelta = LOOK) -> Verdict:
        self.now += after
        view = ClusterView(
            alias="ldf",
            id="id",
            at=self.now,
            topics={
                "t": TopicFacts(id=self.id, partitions=2, replication_factor=1)
            }
            if self.listed
            else {},
            ends=self.ends if self.listed and self.carried else {},
        )
        groups = self.tracker.look(
            self.offsets,
            self.facts,
            view,
            {"t"} if self.carried else {"u"},
            is_whole=self.is_whole,
            unread=self.unread,
        )
        self.seen = ReadersObservation(
            flow="f", at=self.now, groups=groups, lost=self.tracker.lost()
        )
        return self.verdict()

    def verdict(self) -> Verdict:
        return judge_readers("f", self.seen, ReadersLimits(), self.now)

    def run(
        self, minutes: float, *, written: int = 0, read: int = 0
    ) -> Verdict:
        """Look for so long, with so many records written and read a look."""
        for _ in range(int(minutes * 4)):
            self.ends["t", 0] += written
            self.offsets[G] = min(self.offsets[G] + read, self.ends["t", 0])
            self.look()
        return self.verdict()

    def restart(self) -> None:
        store = DocumentStore(Database(None), "f", "readers", ReadersState)
        store.save(self.tracker.to_state())
        self.tracker = ReadersTracker(store.load())


@pytest.fixture
def target() -> Target:
    target = Target()
    target.look()
    return target


def test_a_group_that_has_read_all_is_ok_however_long(target: Target) -> None:
    found = target.run(120)
    assert found.health is Health.OK
    find(found, "readers.ok", groups=1, records=0)


def test_a_group_that_stopped_is_critical_after_its_limit(
    target: Target,
) -> None:
    target.run(2, written=10, read=10)
    assert target.run(5, written=10).health is Health.OK
    found = target.run(0.5, written=10)
    assert found.health is Health.CRITICAL
    find(
        found,
        "readers.stopped",
        group="g",
        topic="t",
        partition=0,
        records=220,
        topics=1,
        position=180,
        seconds=315,
        members=2,
    )
    assert target.run(0.25, read=1000).health is Health.OK


def test_a_group_without_members_is_named_so(target: Target) -> None:
    target.facts["g"] = GroupFacts(state="empty", members=0)
    found = target.run(6, written=1)
    assert found.health is Health.CRITICAL
    find(found, "readers.stopped", members=0)


def test_a_group_without_members_that_commits_is_ok(target: Target) -> None:
    target.facts["g"] = GroupFacts(state="empty", members=0)
    assert target.run(30, written=5, read=5).health is Health.OK


def test_an_idle_group_is_not_stopped_when_records_come(
    target: Target,
) -> None:
    target.run(60)
    found = target.run(0.25, written=3)
    assert found.health is Health.OK
    find(found, "readers.ok", records=3)
    assert target.run(4, written=0).health is Health.OK


def test_an_idle_group_that_is_reset_has_time_to_read_again(
    target: Target,
) -> None:
    target.run(60)
    target.offsets[G] = 0
    assert target.look().health is Health.OK
    (wanted,) = target.tracker.wanted()
    target.tracker.resolve([FirstRecord(wanted, 0, NOON)])
    # Time in which nobody looks is none.
    assert target.look(timedelta(minutes=20)).health is Health.OK
    assert target.run(4).health is Health.OK
    target.restart()
    found = target.run(1.25)
    assert found.health is Health.CRITICAL
    find(found, "readers.stopped", position=0, seconds=315)


def test_a_group_that_only_goes_back_is_stopped(target: Target) -> None:
    for _ in range(8):
        target.offsets[G] -= 1
        verdict = target.run(1)
    assert verdict.health is Health.CRITICAL


def test_markers_behind_the_last_record_stop_nobody(target: Target) -> None:
    target.ends["t", 0] += 2
    target.run(1)
    (wanted,) = target.tracker.wanted()
    assert (wanted.place, wanted.position, wanted.end) == (("t", 0), 100, 102)
    target.tracker.resolve([FirstRecord(wanted, None)])
    found = target.run(20)
    assert found.health is Health.OK
    assert target.seen.groups[0].records == 0


def test_a_slow_group_is_falling_behind_and_not_stopped(
    target: Target,
) -> None:
    found = target.run(20, written=100, read=10)
    assert found.health is Health.WARNING
    find(found, "readers.falling-behind", group="g", topic="t")
    assert target.run(20, written=10, read=1000).health is Health.OK


def test_a_slow_group_falls_behind_between_its_commits_too(
    target: Target,
) -> None:
    """As a sink connector does, it commits once a minute."""
    found = set()
    for minute in range(30):
        target.run(0.25, written=100, read=10)
        for _ in range(3):
            verdict = target.run(0.25, written=100)
            if minute > 15:
                found.add(verdict.health)
    assert found == {Health.WARNING}
    # But not for longer than that.
    assert target.run(5, written=100).health is Health.CRITICAL


def test_one_partition_alone_that_is_not_read_is_critical(
    target: Target,
) -> None:
    target.offsets["g", "t", 1] = 90
    found = target.run(8, written=10, read=10)
    assert found.health is Health.CRITICAL
    find(
        found,
        "readers.stalled",
        group="g",
        topic="t",
        partition=1,
        records=10,
        topics=1,
        position=90,
    )
    (group,) = target.seen.groups
    assert group.topics[0].status is LagStatus.STALLED


def test_lag_in_seconds_is_the_age_of_the_next_record(target: Target) -> None:
    target.ends["t", 0] += 50
    target.look()
    target.run(1)
    (group,) = target.seen.groups
    assert (group.records, group.seconds) == (50, 60)
    # The same by the record, where it is older than the first look.
    late = Target()
    late.offsets[G] = 40
    late.look()
    (group,) = late.seen.groups
    assert group.topics[0].at_least
    (wanted,) = late.tracker.wanted()
    written = late.now - timedelta(minutes=3)
    late.tracker.resolve([FirstRecord(wanted, 40, written)])
    late.look()
    (group,) = late.seen.groups
    assert (group.seconds, group.topics[0].at_least) == (195, False)


def test_two_groups_at_one_partition_are_read_one_after_the_other(
    target: Target,
) -> None:
    target.offsets |= {G: 10, H: 20}
    target.tracker = ReadersTracker(ReadersState())
    target.look()
    for position in (10, 20):
        (wanted,) = target.tracker.wanted()
        assert wanted.position == position
        target.tracker.resolve([FirstRecord(wanted, position, NOON)])
    assert not list(target.tracker.wanted())


def test_a_restart_does_not_begin_the_wait_anew(target: Target) -> None:
    assert target.run(4, written=1).health is Health.OK
    target.restart()
    found = target.run(2, written=1)
    assert found.health is Health.CRITICAL
    find(found, "readers.stopped", position=100, seconds=345)


def test_what_moved_during_a_restart_is_not_stopped(target: Target) -> None:
    target.run(4, written=10)
    target.restart()
    target.offsets[G] += 5
    assert target.run(4).health is Health.OK


def test_a_recreated_topic_is_another_one_after_a_restart(
    target: Target,
) -> None:
    target.run(4, written=10)
    target.restart()
    target.id = "second"
    assert target.run(4).health is Health.OK


def test_offsets_that_are_deleted_with_their_topic_are_not_missed(
    target: Target,
) -> None:
    target.run(4, written=10)
    target.listed = False
    target.offsets = {H: 0}
    for _ in range(8):
        target.look()
        assert target.tracker.lost() == ()
    target.listed, target.id = True, "second"
    target.look()
    assert target.tracker.lost() == ()


def test_time_without_an_answer_of_the_target_does_not_count(
    target: Target,
) -> None:
    assert target.run(3, written=1).health is Health.OK
    assert target.look(timedelta(minutes=20)).health is Health.OK
    assert target.run(1.5).health is Health.OK
    assert target.run(1).health is Health.CRITICAL


def test_an_offset_beyond_the_end_is_unknown(target: Target) -> None:
    target.offsets["g", "t", 1] = 101
    found = target.look()
    assert found.health is Health.UNKNOWN
    find(found, "readers.unknown-partitions", group="g", partitions=1)


@pytest.mark.parametrize("end", [None, 99])
@pytest.mark.parametrize("restarts", [False, True])
def test_a_group_that_stopped_has_not_gone_on_after_an_election(
    target: Target, end: int | None, restarts: bool
) -> None:
    """There is no leader for a moment, or its end is an old one."""
    assert target.run(20, written=10).health is Health.CRITICAL
    assert list(target.tracker.wanted())
    if restarts:
        target.restart()
    known = target.ends.pop(("t", 0))
    if end is not None:
        target.ends["t", 0] = end
    assert target.look().health is Health.UNKNOWN
    assert not list(target.tracker.wanted())
    target.ends["t", 0] = known
    found = target.look()
    assert found.health is Health.CRITICAL
    find(found, "readers.stopped", partition=0, position=100, seconds=1215)


@pytest.mark.parametrize("side", ["listed", "carried"])
def test_a_group_that_stopped_has_not_gone_on_while_its_topic_is_hidden(
    target: Target, side: str
) -> None:
    """A broker that has just started does not list it, at either side."""
    assert target.run(20, written=10).health is Health.CRITICAL
    setattr(target, side, False)
    found = target.look()
    assert found.health is Health.UNKNOWN
    find(found, "readers.unknown-partitions", group="g", partitions=1)
    setattr(target, side, True)
    assert target.look().health is Health.CRITICAL
    # One that stays away was deleted, or is of the flow no more.
    setattr(target, side, False)
    for _ in range(5):
        target.look()
    assert (target.seen.groups, target.seen.lost) == ((), ())
    assert target.tracker.to_state() == ReadersState()


def test_time_without_a_leader_does_not_count(target: Target) -> None:
    target.run(4, written=10)
    known = target.ends.pop(("t", 0))
    for _ in range(40):
        assert target.look().health is Health.UNKNOWN
    # It committed what it had read before.
    target.offsets[G] += 20
    target.look()
    target.ends["t", 0] = known
    assert target.look().health is Health.OK
    assert target.run(4).health is Health.OK
    assert target.run(2).health is Health.CRITICAL


def test_a_truncated_log_is_nothing_that_a_group_lacks(target: Target) -> None:
    target.run(1, written=10)
    target.ends["t", 0] = 90
    for _ in range(40):
        assert target.look().health is Health.UNKNOWN
    del target.offsets[G]
    target.look()
    assert target.tracker.lost() == ()


def test_offsets_of_other_topics_are_none_of_it(target: Target) -> None:
    target.offsets["h", "other", 0] = 1
    target.look()
    assert [group.group for group in target.seen.groups] == ["g"]


@pytest.fixture
def lagging(target: Target) -> Target:
    """One group has stopped, another one reads on."""
    target.offsets[H] = 100
    target.run(6, written=10)
    target.offsets[H] = target.ends["t", 0]
    assert target.look().health is Health.CRITICAL
    return target


def test_a_group_whose_offsets_are_gone_is_missed_for_a_day(
    lagging: Target,
) -> None:
    del lagging.offsets[G]
    lagging.offsets[H] = lagging.ends["t", 0]
    assert lagging.look().health is Health.WARNING
    found = lagging.look(timedelta(hours=2))
    assert found.health is Health.WARNING
    find(
        found,
        "readers.offsets-lost",
        group="g",
        groups=1,
        records=240,
        topics=1,
        seconds=7200,
    )
    lagging.restart()
    found = lagging.look(timedelta(hours=21))
    assert found.health is Health.WARNING
    find(found, "readers.offsets-lost", seconds=23 * 3600)
    found = lagging.look(timedelta(hours=2))
    assert found.health is Health.OK
    assert lagging.tracker.to_state() == ReadersState()
    lagging.restart()
    assert lagging.look().health is Health.OK


def test_offsets_that_went_while_the_agent_was_down_are_missed(
    lagging: Target,
) -> None:
    lagging.restart()
    del lagging.offsets[G]
    del lagging.ends["t", 0]  # no leader
    del lagging.offsets[H]
    found = lagging.look(timedelta(hours=1))
    assert found.health is Health.WARNING
    find(found, "readers.offsets-lost", records=1, topics=1)
    lagging.ends["t", 0] = 340
    find(lagging.look(), "readers.offsets-lost", records=240)


def test_an_offset_of_one_partition_is_missed_too(lagging: Target) -> None:
    """It expires alone where the group assigns partitions to itself."""
    lagging.offsets["g", "t", 1] = 100
    lagging.run(1)
    del lagging.offsets[G]
    find(lagging.look(), "readers.offsets-lost", group="g")


@pytest.mark.parametrize("offset", [100, 0, 340])
def test_a_group_that_is_back_is_judged_as_ever(
    lagging: Target, offset: int
) -> None:
    del lagging.offsets[G]
    for _ in range(40):
        lagging.look()
    lagging.offsets[G] = offset
    found = lagging.look()
    # Only where it was it has been all the time.
    assert (found.health is Health.CRITICAL) == (offset == 100)
    assert lagging.tracker.lost() == ()
    assert (lagging.run(6).health is Health.OK) == (offset == 340)
    lagging.restart()
    lagging.look()
    assert lagging.tracker.lost() == ()


def test_a_group_that_is_back_after_a_restart_is_judged_as_ever(
    lagging: Target,
) -> None:
    del lagging.offsets[G]
    lagging.look()
    lagging.restart()
    lagging.offsets[G] = 340
    assert lagging.look().health is Health.OK


def test_a_group_that_had_read_all_may_go(lagging: Target) -> None:
    lagging.offsets[G] = lagging.ends["t", 0]
    lagging.look()
    del lagging.offsets[G]
    lagging.offsets[H] += 50
    lagging.ends["t", 0] += 50
    assert lagging.look().health is Health.OK


def test_offsets_of_a_topic_that_is_gone_are_not_missed(
    lagging: Target,
) -> None:
    del lagging.offsets[G]
    lagging.look()
    lagging.id = "second"
    assert lagging.look().health is Health.OK


def test_a_group_that_was_not_read_is_not_missed(lagging: Target) -> None:
    del lagging.offsets[G]
    lagging.unread = frozenset({"g"})
    lagging.look()
    assert lagging.tracker.lost() == ()
    lagging.restart()
    lagging.is_whole, lagging.unread = False, frozenset()
    lagging.look()
    assert lagging.tracker.lost() == ()
    lagging.is_whole = True
    find(lagging.look(), "readers.offsets-lost", group="g")


SEEN = ReadersObservation(flow="f", at=NOON)


@pytest.mark.parametrize(
    ("seen", "code", "facts"),
    [
        (None, "no-data", {}),
        (SEEN, "no-groups", {}),
        (
            replace(SEEN, missing=("a", "b")),
            "no-offsets",
            {"group": "a", "groups": 2},
        ),
        (
            replace(SEEN, denied=("a", "b")),
            "denied",
            {"group": "a", "groups": 2},
        ),
        (replace(SEEN, problems=("a", "b")), "unreadable", None),
        (
            replace(SEEN, at=NOON - timedelta(minutes=3)),
            "stale",
            {"seconds": 180},
        ),
    ],
)
def test_what_is_not_known_is_unknown(
    seen: ReadersObservation | None,
    code: str,
    facts: dict[str, str | float] | None,
) -> None:
    verdict = judge_readers("f", seen, ReadersLimits(), NOON)
    assert verdict.health is Health.UNKNOWN
    assert verdict.code == f"readers.{code}"
    if facts is not None:
        find(verdict, f"readers.{code}", **facts)


def test_without_configured_groups_the_check_is_off() -> None:
    limits = ReadersLimits(enabled=False)
    verdict = judge_readers("f", None, limits, NOON)
    assert (verdict.health, verdict.code) == (Health.OFF, "readers.off")


def test_metrics_are_of_each_group_and_end_with_the_looks(
    target: Target,
) -> None:
    target.offsets[H] = 80
    target.look()
    now = target.now

    def values(after: timedelta) -> dict[tuple[str, str], float]:
        return {
            (s.metric.field, s.labels[1]): s.value
            for s in samples(target.seen, now + after)
            if isinstance(s.value, int | float)
        }

    found = values(timedelta())
    assert found["lag_records", "g"] == 0
    assert found["lag_records", "h"] == 20
    assert found["members", "g"] == 2
    assert ("members", "h") not in found
    assert values(timedelta(minutes=3)) == {}
