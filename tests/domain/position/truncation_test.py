"""Logs that were cut at the source."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from mirrorwatch.domain.copies.journal import CopyEvent
from mirrorwatch.domain.copies.pair import EventKind
from mirrorwatch.domain.position.check import PositionLimits, judge_position
from mirrorwatch.domain.position.model import (
    PositionObservation,
    Reset,
    ResetKind,
)
from mirrorwatch.domain.report import Finding, Health
from mirrorwatch.domain.skips.model import SkipsObservation
from tests.support.findings import find

from .world import Log, World


@pytest.fixture
def truncated_world() -> World:
    return World.settled()


@pytest.mark.parametrize("restarts", ["never", "before", "after"])
def test_copies_show_that_a_log_was_truncated(
    truncated_world: World, restarts: str
) -> None:
    # A slow topic: the last sync and commit are older than its last copies,
    # and the new end lies behind them (seed 700929046). Where the ends were
    # forgotten with a restart of the agent, it was ok.
    truncated_world.source["t"].ends[0] = 120
    truncated_world.target["t"].ends[0] = 120
    truncated_world.tick()
    truncated_world.source["t"].ends[0] = 110
    if restarts == "before":
        truncated_world.restart()
        truncated_world.tick()
    truncated_world.tick(3)
    if restarts == "after":
        truncated_world.restart()
        truncated_world.tick(3)
    assert truncated_world.resets == ()
    truncated_world.tick(2)
    reset = truncated_world.reset()
    assert (reset.kind, reset.first, reset.end) == (
        ResetKind.BEYOND,
        110,
        120,
    )
    assert truncated_world.verdict().health is Health.CRITICAL


@pytest.mark.parametrize("restarts", [False, True])
def test_an_end_that_is_stale_truncates_no_copies(
    truncated_world: World, restarts: bool
) -> None:
    truncated_world.source["t"].ends[0] = 120
    truncated_world.target["t"].ends[0] = 120
    truncated_world.tick()
    truncated_world.source["t"].ends[0] = 110
    truncated_world.tick(3)
    if restarts:
        truncated_world.restart()
    truncated_world.source["t"].ends[0] = 125
    truncated_world.tick(6)
    assert truncated_world.resets == ()


def test_a_position_beyond_the_end_is_critical_when_it_stays(
    truncated_world: World,
) -> None:
    truncated_world.source["t"].ends[0] = 60
    truncated_world.tick(3)
    assert truncated_world.resets == ()
    truncated_world.tick(2)
    assert truncated_world.verdict().health is Health.CRITICAL
    truncated_world.find(
        "truncated", topic="t", partition=0, records_at_risk=0, open_resets=1
    )


def test_a_cut_log_that_the_mirror_goes_on_with_lost_records(
    truncated_world: World,
) -> None:
    truncated_world.source["t"].ends[0] = 60
    truncated_world.tick(5)
    truncated_world.source["t"].ends[0] = 80
    truncated_world.tick(2)
    truncated_world.source["t"].ends[0] = 180
    truncated_world.sync(100, 100)
    truncated_world.settle()
    assert (truncated_world.reset().first, truncated_world.reset().end) == (
        60,
        100,
    )
    truncated_world.find("truncated", records=0, records_at_least=40)


def test_a_cut_log_that_grows_is_told_from_its_lowest_end(
    truncated_world: World,
) -> None:
    for end in (60, 65, 70, 75, 80, 85, 90, 180):
        truncated_world.source["t"].ends[0] = end
        truncated_world.tick()
    truncated_world.sync(100, 100)
    truncated_world.settle()
    assert truncated_world.reset().first == 60


def test_a_cut_log_that_the_mirror_begins_anew_with_is_a_warning(
    truncated_world: World,
) -> None:
    truncated_world.source["t"].ends[0] = 60
    truncated_world.tick(5)
    truncated_world.sync(0, 100)
    truncated_world.settle()
    assert truncated_world.verdict().health is Health.WARNING
    # Whether it had copied all of them is not known.
    truncated_world.find("truncated", records=0, records_at_least=None)


def test_one_that_grew_past_the_position_says_what_is_at_stake(
    truncated_world: World,
) -> None:
    truncated_world.source["t"].ends[0] = 60
    truncated_world.tick(5)
    truncated_world.source["t"].ends[0] = 130
    truncated_world.tick()
    assert truncated_world.verdict().health is Health.CRITICAL
    truncated_world.find(
        "truncated", topic="t", partition=0, records_at_risk=40
    )


def test_several_partitions_are_told_by_one_sentence(
    truncated_world: World,
) -> None:
    truncated_world.source["t"].ends[1] = truncated_world.target["t"].ends[
        1
    ] = 10
    truncated_world.sync(9, 9, n=1)
    truncated_world.settle()
    truncated_world.source["t"].ends.update({0: 60, 1: 4})
    truncated_world.tick(5)
    assert len(truncated_world.resets) == 2
    found = truncated_world.find("truncated", topic="t", resets=2)
    assert "partition" not in found.subject


@pytest.mark.parametrize("quiet", [True, False])
def test_a_running_mirror_begins_anew_before_the_cut_is_believed(
    truncated_world: World, quiet: bool
) -> None:
    truncated_world.source["t"].ends[0] = 60
    truncated_world.sync(0, 100)
    truncated_world.target["t"].ends[0] = 160
    if not quiet:
        truncated_world.sync(59, 159)
    truncated_world.tick(6)
    assert truncated_world.verdict().health is Health.WARNING
    truncated_world.find("truncated", records=0, records_at_least=None)
    assert (
        truncated_world.reset().kind,
        truncated_world.reset().harmless,
    ) == (
        ResetKind.BEYOND,
        True,
    )
    # It goes on there as if nothing had been.
    truncated_world.source["t"].ends[0] = 90
    truncated_world.target["t"].ends[0] = 190
    truncated_world.sync(80, 180)
    truncated_world.settle()
    assert truncated_world.seen.counts == {"t": 1}


@pytest.mark.parametrize(
    ("position", "health", "count"),
    [(30, Health.WARNING, 0), (150, Health.CRITICAL, 40)],
)
def test_commits_tell_what_becomes_of_it_where_there_are_no_syncs(
    position: int, health: Health, count: int
) -> None:
    truncated_world = World()
    truncated_world.commit(100)
    truncated_world.tick(3)
    truncated_world.source["t"].ends[0] = 60
    truncated_world.tick(5)
    assert truncated_world.reset().settled is None
    truncated_world.source["t"].ends[0] = 160
    truncated_world.commit(position)
    truncated_world.settle()
    assert truncated_world.reset().settled is not None
    assert (
        truncated_world.verdict().health,
        truncated_world.reset().count,
    ) == (health, count)
    truncated_world.commit(155)
    truncated_world.settle()
    assert truncated_world.seen.counts == {"t": 1}


@pytest.mark.parametrize("truncated", [True, False])
def test_the_first_commit_of_a_truncated_log_is_no_rewind(
    truncated_world: World, truncated: bool
) -> None:
    if truncated:
        truncated_world.source["t"].ends[0] = 45
        truncated_world.sync(0, 100)
        truncated_world.sync(40, 140)
        truncated_world.settle()
    # Where no log was truncated, it is one.
    truncated_world.commit(30)
    truncated_world.settle()
    kind = ResetKind.BEYOND if truncated else ResetKind.REWIND
    assert truncated_world.reset().kind is kind


def test_a_sync_says_where_the_mirror_is_though_the_end_counts_no_copies(
    truncated_world: World,
) -> None:
    truncated_world.foreign = {("t", 0)}
    truncated_world.tick()
    truncated_world.source["t"].ends[0] = 1
    truncated_world.tick(5)
    assert truncated_world.reset().settled is None
    truncated_world.source["t"].ends[0] = 3
    truncated_world.sync(1, 140)
    truncated_world.target["t"].ends[0] = 141
    truncated_world.tick(9)
    assert truncated_world.seen.counts == {"t": 1}
    assert truncated_world.verdict().health is Health.WARNING
    assert truncated_world.reset().settled is not None
    assert truncated_world.reset().harmless


def test_a_commit_within_a_cut_log_says_where_the_mirror_is() -> None:
    # Before, it was beyond the end again after each of them.
    world = World()
    world.source["t"].ends[0] = world.target["t"].ends[0] = 100
    world.commit(100)
    world.tick(3)
    world.source["t"].ends[0] = 60
    world.tick(5)
    for position in (61, 63, 65):
        world.source["t"].ends[0] = position
        world.commit(position)
        world.tick(6)
    assert world.seen.counts == {"t": 1}
    assert world.reset().settled is not None


@pytest.mark.parametrize("other", [4, 5])
def test_a_leader_that_is_cut_off_truncates_nothing(other: int) -> None:
    # The mirror copies from the next leader. Only the old one was asked, or
    # both were, in turn.
    world = World()
    log = world.source["t"]
    log.epoch = 5
    world.commit(100)
    world.sync(99, 99)
    world.tick(3)
    world.commit(200)
    log.epoch = other
    world.tick(20)
    assert world.resets == ()
    log.ends[0], log.epoch = 220, 6
    world.tick(3)
    assert world.resets == ()


@pytest.mark.parametrize(
    "epochs", [(5, 6), (None, None), (None, 5), (5, None)]
)
def test_a_log_that_a_new_leader_truncates_is_told_at_once(
    epochs: tuple[int | None, int | None],
) -> None:
    world = World()
    log = world.source["t"]
    log.epoch, after = epochs
    world.commit(100)
    world.sync(99, 99)
    world.tick(3)
    log.ends[0], log.epoch = 90, after
    world.tick(5)
    assert world.reset().kind is ResetKind.BEYOND


def test_an_end_of_an_old_leader_that_stays_is_told() -> None:
    # As where a position was set beyond the end, and no leader changed.
    world = World.settled()
    world.source["t"].epoch = 5
    world.tick()
    world.commit(200)
    world.tick(20)
    assert world.resets == ()
    world.tick(8)
    assert world.reset().kind is ResetKind.BEYOND


def test_a_recreated_topic_may_be_truncated_whatever_its_epoch() -> None:
    world = World.settled()
    world.source["t"].epoch = 5
    world.tick()
    world.source["t"] = Log("s2", {0: 0}, epoch=0)
    world.tick(2)
    world.source["t"].ends[0] = 50
    world.tick()
    world.target["t"].ends[0] = 150
    world.sync(49, 149)
    world.settle()
    world.source["t"].ends[0], world.source["t"].epoch = 40, 1
    world.tick(6)
    assert world.resets[-1].kind is ResetKind.BEYOND


def refuse(world: World) -> None:
    """Let the source refuse to read wherever that is tried."""
    world.watch.refuse(world.watch.doubted)
    world._save()  # noqa: SLF001 - as the worker does


@pytest.mark.parametrize("refuses", [True, False])
@pytest.mark.parametrize("restarts", [True, False])
def test_a_log_that_grew_past_the_position_at_once_was_truncated_if_proved(
    truncated_world: World, refuses: bool, restarts: bool
) -> None:
    truncated_world.source["t"].ends[0] = 60
    truncated_world.tick()
    assert truncated_world.watch.doubted[("t", 0)].reached == 100
    truncated_world.source["t"].ends[0] = 105
    if refuses:
        refuse(truncated_world)
    if restarts:
        truncated_world.restart()
    truncated_world.tick(5)
    assert (truncated_world.resets != ()) is refuses
    truncated_world.source["t"].ends[0] = 130
    truncated_world.target["t"].ends[0] = 130
    truncated_world.sync(129, 129)
    truncated_world.settle()
    # Stale ends of a new leader are no truncation.
    assert ("position.truncated" in truncated_world.verdict().codes) is refuses
    assert not truncated_world.watch.doubted


def test_a_mirror_that_resets_its_position_at_once_is_not_critical(
    truncated_world: World,
) -> None:
    truncated_world.source["t"].ends[0] = 60
    truncated_world.tick()
    refuse(truncated_world)
    truncated_world.source["t"].ends[0] = 61
    truncated_world.sync(60, 100)
    for _ in range(5):
        truncated_world.tick()
        assert truncated_world.verdict().health is not Health.CRITICAL
    assert truncated_world.reset().harmless


def test_a_refusal_that_comes_after_the_mirror_went_back_says_nothing(
    truncated_world: World,
) -> None:
    truncated_world.source["t"].ends[0] = 60
    truncated_world.tick()
    late = truncated_world.watch.doubted
    truncated_world.source["t"].ends[0] = 70
    truncated_world.sync(59, 105)
    truncated_world.settle()
    truncated_world.watch.refuse(late)
    truncated_world.tick(5)
    assert truncated_world.verdict().health is Health.WARNING
    assert truncated_world.reset().harmless


@pytest.mark.parametrize("upstream", [100, 55])
def test_a_sync_of_before_the_truncation_says_not_that_the_mirror_went_on(
    truncated_world: World, upstream: int
) -> None:
    # Of the former log it is read with the survey that sees the end fall.
    truncated_world.sync(upstream, 101)
    truncated_world.source["t"].ends[0] = 60
    truncated_world.tick()
    refuse(truncated_world)
    truncated_world.source["t"].ends[0] = 130
    truncated_world.tick(5)
    reset = truncated_world.reset()
    went_back = upstream == 55
    assert reset.kind is (ResetKind.REWIND if went_back else ResetKind.BEYOND)
    assert reset.settled is None
    assert went_back or (reset.first, reset.end) == (60, 101)


def test_an_end_that_only_stands_is_not_asked_for(
    truncated_world: World,
) -> None:
    # The broker may be cut off from its cluster: it would refuse, too.
    truncated_world.commit(120)
    truncated_world.tick(2)
    assert not truncated_world.watch.doubted


AT = datetime(2026, 1, 2, tzinfo=UTC)

LEFT_OUT = CopyEvent(
    kind=EventKind.SKIPPED,
    topic="t",
    partition=0,
    source_id="s",
    ranges=((100, 119),),
    count=20,
    at=AT,
)


def told(reset: Reset, event: CopyEvent) -> Finding:
    """Return what is said of a truncated log, and of what was skipped."""
    seen = PositionObservation(
        flow="f",
        at=AT,
        source="summit",
        target="ldf",
        partitions=1,
        resets=(reset,),
        counts={},
    )
    skips = SkipsObservation(
        flow="f", at=AT, partitions=1, events=((event, event.count),)
    )
    verdict = judge_position("f", seen, PositionLimits(), AT, skips=skips)
    return find(verdict, "position.truncated", topic="t", partition=0)


RESUMED = Reset(
    number=1,
    kind=ResetKind.BEYOND,
    topic="t",
    partition=0,
    began=AT,
    settled=AT,
    first=110,
    end=110,
    harmless=True,
)


@pytest.mark.parametrize(("end", "missing"), [(110, 20), (120, 20), (110, 15)])
def test_what_skips_prove_of_a_truncated_log_is_said(
    end: int, missing: int
) -> None:
    reset = replace(RESUMED, end=end, harmless=end == 110)
    found = told(reset, replace(LEFT_OUT, count=missing))
    assert found.health is Health.CRITICAL
    assert found.numbers["records"] == missing
    assert "records_at_least" not in found.numbers


@pytest.mark.parametrize(
    "event",
    [
        replace(LEFT_OUT, partition=1),
        replace(LEFT_OUT, at=AT - timedelta(hours=1)),
        replace(LEFT_OUT, filtered=True),
        replace(LEFT_OUT, kind=EventKind.TRUNCATED),
        # Dropped once the mirror had resumed.
        replace(LEFT_OUT, ranges=((111, 130),)),
    ],
)
def test_what_else_was_skipped_is_none_of_a_truncated_log(
    event: CopyEvent,
) -> None:
    found = told(RESUMED, event)
    assert found.health is Health.WARNING
    assert found.numbers["records"] == 0
    assert "records_at_most" not in found.numbers


def test_a_mirror_that_may_resume_at_the_end_may_have_left_out_any() -> None:
    reset = replace(RESUMED, from_end=True)
    found = told(reset, replace(LEFT_OUT, partition=1))
    assert found.health is Health.WARNING
    assert found.numbers["records_at_most"] is None
