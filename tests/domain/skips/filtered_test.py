"""Topics that are filtered on purpose: what is counted, what still alarms."""

from dataclasses import replace
from datetime import timedelta

import pytest

from mirrorwatch.domain.copies.journal import CopyEvent, sum_up
from mirrorwatch.domain.copies.pair import EventKind
from mirrorwatch.domain.report import Health, Verdict
from mirrorwatch.domain.skips.check import SkipsLimits, judge_skips
from mirrorwatch.domain.skips.metrics import (
    FILTERED,
    SKIPPED,
    samples,
)
from mirrorwatch.domain.skips.model import SkipsObservation
from mirrorwatch.domain.topics import FilteredRule, FilteredTopics
from tests.domain.copies.world import START, TOPIC, World
from tests.support.findings import find

LOOK = ("look", "look", "look")


def filtered(at_most: float | None = None) -> FilteredTopics:
    return FilteredTopics(rules=(FilteredRule(pattern="t", at_most=at_most),))


def watched(rules: FilteredTopics, *actions: str) -> World:
    """A mirror that copied for a while, and then what is named."""
    world = World()
    world.books.filtered = rules
    world.do("look", "write 20", "copy 20", "flush", *LOOK, *actions)
    return world


def restart(world: World, rules: FilteredTopics) -> None:
    """Restart the agent with another configuration."""
    world.do("restart")
    world.books.filtered = rules
    world.do(*LOOK)


def seen(world: World) -> SkipsObservation:
    excess = world.counters.excess
    return SkipsObservation(
        flow="f",
        at=world.now,
        partitions=1,
        counters=((TOPIC, world.counters),),
        events=tuple(
            (event, world.books.missing(event))
            for event in world.store.events()
        ),
        excesses=() if excess is None else ((TOPIC, excess),),
    )


def judged(world: World, later: timedelta = timedelta()) -> Verdict:
    found = replace(seen(world), at=world.now + later)
    return judge_skips("f", found, SkipsLimits(), world.now + later)


DROPS = ("write 30", "copy 10", "drop 7", "copy 13", "flush", *LOOK)


def test_what_a_filter_drops_is_counted_and_no_alarm() -> None:
    world = watched(filtered(), *DROPS)
    verdict = judged(world)
    assert verdict.health is Health.OK
    find(verdict, "skips.ok", partitions=1, filtered_records=7)
    assert verdict.evidence["filtered_records"] == 7
    assert verdict.evidence["skipped_records"] == 0
    values = {s.metric: s.value for s in samples(seen(world), world.now)}
    assert (values[SKIPPED], values[FILTERED]) == (0, 7)


def test_the_same_drops_elsewhere_are_critical() -> None:
    other = FilteredTopics(rules=(FilteredRule(pattern="t.+"),))
    verdict = judged(watched(other, *DROPS))
    assert verdict.health is Health.CRITICAL
    find(verdict, "skips.dropped", topic=TOPIC, records=7)
    assert verdict.evidence["skipped_records"] == 7


def test_what_is_copied_after_all_is_not_missing() -> None:
    world = watched(filtered(), *DROPS[:-4], *LOOK)
    find(judged(world), "skips.ok", filtered_records=7)
    world.do("crash", "copy 30", "write", "copy", "flush", *LOOK)
    assert world.counters.recovered == 7
    find(judged(world), "skips.ok", filtered_records=None)


def test_what_was_proved_stays_told_when_the_topic_becomes_filtered() -> None:
    world = watched(FilteredTopics(), *DROPS)
    restart(world, filtered())
    world.do(*DROPS)
    verdict = judged(world)
    assert verdict.health is Health.CRITICAL
    find(verdict, "skips.dropped", topic=TOPIC, partition=0, records=7)
    assert verdict.evidence["filtered_records"] == 7
    assert judged(world, timedelta(minutes=61)).health is Health.OK


def test_what_was_filtered_is_no_alarm_when_the_topic_is_no_more() -> None:
    world = watched(filtered(), *DROPS)
    restart(world, FilteredTopics())
    assert judged(world).health is Health.OK
    find(judged(world), "skips.ok", filtered_records=7)
    world.do("write 5", "copy 2", "drop 2", "copy", "flush", *LOOK)
    find(judged(world), "skips.dropped", topic=TOPIC, records=2)
    assert judged(world).evidence["filtered_records"] == 7


def test_records_that_failed_to_be_written_are_no_filters_work() -> None:
    # The position has passed them: a filter moves none.
    world = watched(filtered(), "write 4", "fail 4", "flush", *LOOK)
    assert judged(world).health is Health.CRITICAL
    find(judged(world), "skips.dropped", tail=4)


def test_drops_and_failures_of_one_range_are_told_apart() -> None:
    world = watched(filtered())
    world.do("write 9", "drop 2", "copy 3", "fail 4", "flush")
    world.unread = []  # its syncs are late
    world.do(*LOOK, *LOOK)
    by_kind = {e.kind: e for e in world.store.events()}
    assert sum(e.count for e in by_kind.values()) == 6
    assert by_kind[EventKind.TAIL].count == 4
    assert not by_kind[EventKind.TAIL].filtered
    find(judged(world), "skips.dropped", topic=TOPIC, records=4)


def some(world: World, copied: int, dropped: int) -> None:
    world.do(f"write {copied + dropped + 1}", f"copy {copied}")
    world.do(*[f"drop {dropped}"] * bool(dropped), "copy", "flush", *LOOK)


@pytest.mark.parametrize(
    ("dropped", "health"), [(30, Health.OK), (60, Health.CRITICAL)]
)
def test_more_than_the_filter_may_drop_is_critical(
    dropped: int, health: Health
) -> None:
    world = watched(filtered(at_most=0.2))
    some(world, copied=200 - dropped - 1, dropped=dropped)
    assert judged(world).health is health
    if health is Health.CRITICAL:
        find(
            judged(world),
            "skips.filter-exceeded",
            topic=TOPIC,
            records=60,
            passed_records=200,
            allowed_share=0.2,
        )


def test_of_a_few_records_any_share_may_be_missing() -> None:
    world = watched(filtered(at_most=0.2))
    some(world, copied=10, dropped=40)
    assert judged(world).health is Health.OK


def test_too_much_stays_told_for_its_window_and_over_a_restart() -> None:
    world = watched(filtered(at_most=0.2))
    some(world, copied=139, dropped=60)
    for _ in range(5):
        some(world, copied=400, dropped=0)
    some(world, copied=20, dropped=1)
    restart(world, filtered(at_most=0.2))
    find(
        judged(world),
        "skips.filter-exceeded",
        records=60,
        passed_records=200,
    )
    restart(world, FilteredTopics())
    find(
        judged(world),
        "skips.filter-exceeded",
        records=60,
        passed_records=200,
    )
    assert judged(world, timedelta(minutes=61)).health is Health.OK


def test_a_share_is_that_of_the_last_hour() -> None:
    world = watched(filtered(at_most=0.2))
    some(world, copied=1000, dropped=0)
    some(world, copied=100, dropped=100)
    assert judged(world).health is Health.OK  # of 1,201
    for wait in (timedelta(minutes=2), timedelta(hours=2)):
        world.now += wait
        world.do(*LOOK)
    some(world, copied=100, dropped=100)
    find(
        judged(world),
        "skips.filter-exceeded",
        records=100,
        passed_records=201,
    )


def test_the_count_of_too_much_becomes_no_less() -> None:
    world = watched(filtered(at_most=0.2))
    counts = []
    for copied, dropped, minutes in ((139, 60, 50), (60, 40, 20), (60, 45, 0)):
        some(world, copied=copied, dropped=dropped)
        found = find(judged(world), "skips.filter-exceeded")
        counts.append(found.numbers["records"])
        for _ in range(minutes // 5):
            world.now += timedelta(minutes=5)
            world.do(*LOOK)
    # After 70 minutes the first 60 are not of the last hour.
    assert counts == [60, 100, 100]


def test_in_the_journal_filtered_drops_are_added_to_no_loss() -> None:
    loss = CopyEvent(
        kind=EventKind.SKIPPED,
        topic="t",
        partition=0,
        source_id="s",
        ranges=((0, 4),),
        count=5,
        at=START,
    )
    drops = [
        replace(loss, at=START + n * timedelta(seconds=1), filtered=True)
        for n in range(500)
    ]
    kept = sum_up([loss, *drops], 50)
    assert loss in kept
    assert sum(e.count for e in kept if e.filtered) == 2500
    assert len(kept) < 60
