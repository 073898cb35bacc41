from dataclasses import replace
from datetime import timedelta

import pytest

from mirrorwatch.domain.audit.plan import FilteredTopic, Unverifiable
from mirrorwatch.domain.audit.ranges import PlanningOutcome
from mirrorwatch.domain.audit.result import (
    AuditFinding,
    AuditResult,
    Speed,
    answer,
    as_duration,
    as_ranges,
    as_size,
    combined,
    tell_filtered,
)
from mirrorwatch.domain.report import counted
from tests.support.audit import NIGHT, a_count, a_finding, a_result
from tests.support.audit_spark import World, a_copied_world

GAP = Unverifiable(flow="f", topic="t", partition=None, reason="gone")


def test_only_a_result_that_knows_everything_is_clean() -> None:
    assert a_result().clean
    assert not a_result(unverifiable=(GAP,)).clean


def test_nights_made_up_for_are_one_result() -> None:
    before = a_result(
        a_finding(),
        at=NIGHT - timedelta(days=1),
        topics=(a_count("b", 5, 4), a_count("a", 1)),
        unverifiable=(GAP,),
    )
    after = a_result(a_finding("extra"), topics=(a_count("b", 10),))
    both = combined([before, after])
    assert (both.id, both.start, both.end) == (
        after.id,
        before.start,
        after.end,
    )
    assert [
        (t.topic, t.source_count, t.target_count) for t in both.topics
    ] == [
        ("a", 1, 1),
        ("b", 15, 14),
    ]
    assert [finding.kind for finding in both.findings] == ["dropped", "extra"]
    assert both.unverifiable == (GAP,)
    assert combined([after]) is after


def test_a_day_is_forecast_from_what_was_covered() -> None:
    speed = Speed(
        records=1_000_000,
        bytes=250_000_000,
        reading=timedelta(seconds=10),
        total=timedelta(seconds=30),
        covered=timedelta(hours=1),
    )
    assert speed.records_per_second == 100_000
    assert speed.bytes_per_second == 25_000_000
    assert speed.forecast == timedelta(seconds=260)
    assert replace(speed, covered=timedelta(seconds=5)).forecast is None
    assert replace(speed, reading=timedelta()).records_per_second is None


def gap(topic: str, records: int | None = None) -> Unverifiable:
    return Unverifiable(
        flow="f", topic=topic, partition=0, reason="gone", records=records
    )


def test_a_clean_night_says_how_much_was_proved() -> None:
    result = a_result(topics=(a_count("a", 1_000_000), a_count("b", 1)))
    assert answer(result) == (
        "Clean: 1,000,001 records of 2 topics arrived once and unaltered"
    )
    assert answer(a_result(topics=(a_count("a", 0),))) == (
        "Clean: no records were produced"
    )


def test_losses_come_first_with_where_they_are() -> None:
    result = a_result(
        a_finding("extra", topic="b"),
        a_finding("dropped", topic="a", first=1, last=17),
        a_finding("duplicated", topic="a"),
    )
    assert answer(result) == (
        "17 records dropped, 1 duplicated and 1 at the target but not at the "
        "source in a and b"
    )
    assert answer(a_result(a_finding())) == "1 record dropped in events"


def test_what_is_not_known_is_never_called_clean() -> None:
    assert answer(a_result(unverifiable=(gap("a", 5), gap("a")))) == (
        "No errors found, but a could not be verified (at least 5 records)"
    )
    many = tuple(gap(name, 1) for name in "abc")
    assert answer(a_result(a_finding(), unverifiable=many)) == (
        "1 record dropped in events; "
        "3 topics could not be verified (3 records)"
    )


LAST = set(range(30, 35))
"""Source offsets of the last five records."""


def a_waiting_world(aborted: set[int], *, read_committed: bool) -> World:
    """Return one whose last five records were not copied, for hours."""
    world = a_copied_world()
    world.read_committed = read_committed
    world.aborted = aborted
    world.write(5)
    world.now += timedelta(hours=1)
    return world


def second_night(world: World) -> PlanningOutcome:
    world.night()
    return world.night()


@pytest.mark.parametrize(("read_committed", "stuck"), [(True, 0), (False, 1)])
def test_aborted_records_at_the_end_wait_for_ever_if_the_mirror_reads_them(
    *, read_committed: bool, stuck: int
) -> None:
    world = a_waiting_world(LAST, read_committed=read_committed)
    gaps = second_night(world).unverifiable
    assert [gap.records for gap in gaps] == [5] * stuck
    assert all("has not moved" in gap.reason for gap in gaps)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.25, "250 ms"),
        (1, "1 s"),
        (59, "59 s"),
        (90, "1.5 min"),
        (4000, "1.1 h"),
        (86_400, "1 d"),
    ],
)
def test_durations_have_the_unit_that_suits(
    seconds: float, words: str
) -> None:
    assert as_duration(timedelta(seconds=seconds)) == words


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1500, "1.5 kB"),
        (12_300_000, "12.3 MB"),
        (999_999, "1 MB"),
        (2e17, "200 PB"),
    ],
)
def test_sizes_have_the_unit_that_suits(size: float, words: str) -> None:
    assert as_size(size) == words


def test_one_is_singular() -> None:
    assert counted(1, "record") == "1 record"
    assert counted(1234, "record") == "1,234 records"


def test_many_ranges_are_cut_short() -> None:
    assert as_ranges(((1, 1), (3, 5))) == "1, 3-5"
    many = tuple((n * 2, n * 2) for n in range(10))
    assert as_ranges(many) == "0, 2, 4, 6, 8, 10, 12, 14, and 2 more"


FILTERED = FilteredTopic(flow="summit->ldf", topic="events")
DROPPED = a_finding(first=1, last=300)


def told(*findings: AuditFinding, at_most: float | None = None) -> AuditResult:
    rule = replace(FILTERED, at_most=at_most)
    topics = (a_count(), a_count("others"))
    return a_result(*tell_filtered(findings, topics, [rule]), topics=topics)


def test_what_is_missing_of_a_filtered_topic_is_a_finding_and_clean() -> None:
    result = told(DROPPED)
    assert [(f.kind, f.count) for f in result.findings] == [("filtered", 300)]
    assert result.clean
    assert answer(result) == (
        "Clean: 2,000 records of 2 topics arrived once and unaltered, except "
        "for 300 records missing on 1 filtered topic, as configured"
    )


def test_a_filter_of_one_flow_of_a_merged_topic_has_its_limit() -> None:
    """Its records are counted under another flow, and 0 of it has no limit."""
    rule = replace(FILTERED, flow="other", at_most=0.1)
    dropped = replace(DROPPED, flow="other")
    for records, kind in ((1000, "dropped"), (4000, "filtered")):
        fed = {("other", "events"): records}
        (found,) = tell_filtered([dropped], (a_count(),), [rule], fed)
        assert found.kind == kind


def test_whatever_else_is_found_of_a_filtered_topic_is_wrong() -> None:
    others = [
        a_finding("corrupted"),
        a_finding("extra"),
        a_finding("duplicated"),
        a_finding(topic="others"),
    ]
    result = told(DROPPED, *others)
    assert not result.clean
    assert result.errors == tuple(others)
    assert answer(result) == (
        "1 record dropped, 1 duplicated, 1 altered and 1 at the target but "
        "not at the source in events and others; 300 records missing on 1 "
        "filtered topic, as configured"
    )


def test_more_than_a_filter_may_drop_is_wrong_in_the_audit_too() -> None:
    more = replace(DROPPED, partition=1, count=101)
    assert told(DROPPED, more, at_most=0.4).findings == (DROPPED, more)
    less = replace(more, count=100)
    assert told(DROPPED, less, at_most=0.4).clean
