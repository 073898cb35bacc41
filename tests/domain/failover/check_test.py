"""Groups that could not go on at the target are found, and no others."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from mirrorwatch.domain.failover.check import (
    FailoverLimits,
    FailoverObservation,
    FailoverTracker,
    GroupStart,
    MissingStart,
    OldStart,
    judge_failover,
    select_starts,
)
from mirrorwatch.domain.failover.translation import (
    CopiedPartition,
    GroupOffset,
    translate,
)
from mirrorwatch.domain.report import Health, Verdict
from tests.support.builders import NOON
from tests.support.copies import copied_partition
from tests.support.findings import find

MINUTE = timedelta(minutes=1)


class Flow:
    """A flow with groups on one partition, read each minute."""

    def __init__(self) -> None:
        self.now = NOON
        self.copied = copied_partition((100, 150, 90), end=140)
        self.groups: dict[str, GroupOffset] = {}
        self.excluded: set[str] = set()
        self.kept: dict[str, datetime] = {}
        self.tracker = FailoverTracker({})
        self.seen: FailoverObservation | None = None

    def put(
        self,
        group: str,
        committed: int | None,
        checkpoint: tuple[int, int] | None = None,
    ) -> None:
        upstream, downstream = checkpoint or (None, None)
        self.groups[group] = GroupOffset(
            topic="t",
            partition=0,
            committed=committed,
            upstream=upstream,
            downstream=downstream,
        )

    def restart(self) -> None:
        self.tracker = FailoverTracker(self.kept)

    def step(self, minutes: float = 1) -> Verdict:
        self.now += minutes * MINUTE
        starts = [
            (group, translate(offset, self.copied))
            for group, offset in self.groups.items()
        ]
        missing, old, changes = self.tracker.look(
            starts, self.now, self.excluded.__contains__
        )
        for name in changes.ended:
            del self.kept[name]
        self.kept |= changes.began
        self.seen = FailoverObservation(
            flow="f",
            at=self.now,
            read_at=self.now,
            groups=len(self.groups),
            missing=missing,
            old=old,
        )
        return self.verdict()

    def verdict(self, limits: FailoverLimits | None = None) -> Verdict:
        limits = limits or FailoverLimits()
        return judge_failover("f", self.seen, limits, self.now)


@pytest.fixture
def flow() -> Flow:
    return Flow()


def run(
    flow: Flow, minutes: int, each: Callable[[int], None] = lambda _: None
) -> Verdict:
    for minute in range(minutes):
        each(minute)
        flow.step()
    return flow.verdict()


def test_a_group_that_reads_on_without_a_start_is_critical(flow: Flow) -> None:
    def read(minute: int) -> None:
        flow.put("efd", 20 + minute)

    assert run(flow, 11, read).health is Health.OK  # it may be a new one
    found = run(flow, 1, lambda _: flow.put("efd", 40))
    assert found.health is Health.CRITICAL
    find(
        found,
        "failover.no-start",
        group="efd",
        topic="t",
        partition=0,
        groups=1,
        partitions=1,
        seconds=660,
    )
    find(found, "failover.ok", groups_without_start=1)
    flow.put("efd", 100)
    assert flow.step().health is Health.OK


def test_a_group_that_rests_without_a_start_is_a_warning(flow: Flow) -> None:
    flow.put("given-up", 20)
    assert run(flow, 12).health is Health.WARNING


def test_a_group_that_the_filter_excludes_is_a_warning(flow: Flow) -> None:
    flow.excluded.add("connect-efd")
    found = run(flow, 12, lambda m: flow.put("connect-efd", 20 + m))
    assert found.health is Health.WARNING
    find(found, "failover.excluded", group="connect-efd")
    # With a start all the same, by offset syncs, nothing is wrong.
    flow.put("connect-efd", 110)
    assert flow.step().health is Health.OK


def test_a_restart_changes_nothing(flow: Flow) -> None:
    run(flow, 12, lambda m: flow.put("efd", 20 + m))
    assert flow.verdict().health is Health.CRITICAL
    flow.restart()
    assert flow.step().health is Health.CRITICAL


STAYS: dict[str, str | int | None] = {
    "group": "efd",
    "topic": "t",
    "partition": 0,
    "groups": 1,
    "offset": 110,
    "records_at_most": None,
    "seconds": 660,
}


def test_a_start_that_stays_while_the_group_reads_on_is_old(
    flow: Flow,
) -> None:
    # Only the checkpoint is known, and it stays.
    flow.copied = CopiedPartition(end=5000)
    found = run(flow, 12, lambda m: flow.put("efd", 120 + m, (120, 110)))
    assert found.health is Health.WARNING
    find(found, "failover.stale-start", **STAYS)
    flow.put("efd", 150, (149, 139))
    assert flow.step().health is Health.OK


def test_a_restart_does_not_silence_an_old_start(flow: Flow) -> None:
    flow.copied = CopiedPartition(end=5000)
    flow.put("rests", 150, (120, 110))
    for _ in range(4):
        for more in range(3):
            flow.put("efd", 1200 + flow.now.minute + more, (120, 110))
            found = flow.step()
        flow.restart()
    assert found.health is Health.WARNING
    find(found, "failover.stale-start", **STAYS)
    # It moved while nobody looked.
    flow.put("efd", 1300, (130, 120))
    assert flow.step().health is Health.OK
    assert flow.kept == {}


def test_a_start_that_stays_while_the_group_rests_is_not_old(
    flow: Flow,
) -> None:
    flow.copied = CopiedPartition(end=5000)
    flow.put("efd", 150, (120, 110))
    assert run(flow, 30).health is Health.OK


@pytest.mark.parametrize("order", [(150, None), (None, 150)])
def test_a_group_whose_offset_is_not_known_does_not_read_on(
    flow: Flow, order: tuple[int | None, ...]
) -> None:
    """Its offset expired, or mirrorwatch was not allowed to read it."""
    flow.copied = CopiedPartition(end=5000)
    for committed in order:
        flow.put("efd", committed, (120, 110))
        assert run(flow, 12).health is Health.OK
    flow.put("efd", 151, (120, 110))
    assert flow.step().health is Health.WARNING
    # The same of one without a start, which rests.
    flow.copied = CopiedPartition(end=50)
    for committed in (*order, 150):
        flow.put("efd", committed, (120, 110))
        found = run(flow, 12)
        assert found.health is Health.WARNING
    flow.put("efd", 152, (120, 110))
    assert flow.step().health is Health.CRITICAL


def test_a_start_that_is_a_few_records_early_is_not_old(
    flow: Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    # MirrorMaker writes a sync every hundred records.
    flow.copied = copied_partition((100, 101, 90), end=5000)
    found = run(flow, 30, lambda m: flow.put("efd", 120 + m))
    assert found.health is Health.OK
    monkeypatch.setattr(FailoverLimits, "repeated", 20)
    found = flow.verdict()
    assert found.health is Health.WARNING
    find(found, "failover.stale-start", group="efd", records_at_most=48)


def test_the_limit_is_the_recovery_point(flow: Flow) -> None:
    run(flow, 3, lambda m: flow.put("efd", 20 + m))
    limits = FailoverLimits(rpo=MINUTE)
    assert flow.verdict(limits).health is Health.CRITICAL
    assert flow.verdict().health is Health.OK


def test_what_is_not_known_to_be_read_again_is_said(flow: Flow) -> None:
    flow.seen = FailoverObservation(
        flow="f", at=NOON, groups=3, repeated=12, uncounted=1
    )
    flow.now = NOON
    found = flow.verdict()
    assert found.health is Health.OK
    find(
        found,
        "failover.ok",
        groups=3,
        records_at_most=12,
        groups_not_counted=1,
    )


def test_without_groups_the_check_is_off(flow: Flow) -> None:
    found = flow.step()
    assert found.health is Health.OFF
    assert found.code == "failover.off"
    flow.seen = FailoverObservation(flow="f", at=NOON, denied=2)
    flow.now = NOON
    find(flow.verdict(), "failover.denied", groups=2)


def test_what_is_stale_or_unread_is_unknown_and_hides_nothing(
    flow: Flow,
) -> None:
    assert flow.verdict().code == "failover.no-data"
    flow.put("idle", 150)
    flow.step()
    flow.now += 6 * MINUTE
    assert flow.verdict().health is Health.UNKNOWN
    assert flow.verdict().code == "failover.stale"
    flow.seen = FailoverObservation(
        flow="f", at=flow.now, groups=1, problems=("summit is lost",)
    )
    assert flow.verdict().code == "failover.unreadable"
    flow.put("efd", 20)
    run(flow, 12)
    flow.now += 6 * MINUTE
    found = flow.verdict()
    assert found.health is Health.WARNING
    find(found, "failover.stale", seconds=360)


def test_what_is_found_is_what_the_table_of_verdicts_says() -> None:
    missing = MissingStart(
        group="g",
        topic="t",
        partition=1,
        problem="Nothing is known",
        since=NOON,
        moved=True,
        excluded=False,
    )
    old = OldStart(
        group="g",
        topic="t",
        partition=0,
        offset=3,
        repeated=2000,
        since=NOON,
    )
    seen = FailoverObservation(
        flow="f",
        at=NOON + 11 * MINUTE,
        groups=2,
        missing=(missing,),
        old=(old,),
    )
    found = judge_failover("f", seen, FailoverLimits(), seen.at)
    assert found.health is Health.CRITICAL
    assert found.codes[:2] == ("failover.no-start", "failover.stale-start")
    find(found, "failover.stale-start", partition=0, records_at_most=2000)


def a_start(group: str, partition: int, copied: CopiedPartition) -> GroupStart:
    place = GroupOffset(topic="t", partition=partition, committed=10)
    return GroupStart(group=group, remote="t", start=translate(place, copied))


def test_the_worst_start_of_each_group_is_listed_before_any_other() -> None:
    none = CopiedPartition()
    early = copied_partition((0, 4, 0), (4, 90, None, 4), (90, 91, 80), end=81)
    exact = copied_partition((0, 50, 0), end=50)
    starts = [
        *(a_start("large", n, early) for n in range(300)),
        a_start("small", 0, exact),
        *(a_start("lost", n, none if n else early) for n in range(2)),
    ]
    listed = select_starts(starts)
    assert len(listed) == 200
    order = [(s.group, s.start.place.partition) for s in listed]
    assert order[:2] == [("lost", 1), ("large", 0)]
    assert order[-1] == ("small", 0)
    many = [a_start(f"g{n}", 0, exact) for n in range(999)]
    assert len(select_starts(many)) == 200
