"""What is usual of a topic, by the nights before."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from mirrorwatch.domain.audit.flow_result import flow_result_of, join
from mirrorwatch.domain.audit.history import with_usual
from mirrorwatch.domain.audit.plan import Stated, Unverifiable
from mirrorwatch.domain.audit.result import (
    AuditResult,
    FinishedAudit,
    Speed,
    TopicCount,
    combined,
)

DAY = timedelta(days=1)

FIRST = datetime(2026, 11, 1, 2, tzinfo=UTC)


def a_night(
    number: int, records: int, *, covered: timedelta = DAY
) -> FinishedAudit:
    end = FIRST + number * DAY
    count = TopicCount(
        flow="f", topic="t", source_count=records, target_count=records
    )
    return FinishedAudit(
        result=AuditResult(
            id=f"nightly-{end:%Y-%m-%d}",
            nightly=True,
            start=end - covered,
            end=end,
            began_at=end,
            ended_at=end,
            topics=(count,),
        ),
        speed=Speed(
            records=2 * records,
            bytes=0,
            reading=timedelta(),
            total=timedelta(),
            covered=covered,
        ),
    )


def nights(*records: int) -> list[FinishedAudit]:
    return [a_night(n, count) for n, count in enumerate(records)]


def judged(
    before: Sequence[FinishedAudit], tonight: FinishedAudit
) -> TopicCount:
    (count,) = with_usual(tonight, before).result.topics
    return count


@pytest.mark.parametrize(
    ("records", "percent"),
    [(10_000, None), (2001, None), (2000, 80), (150, 98), (0, 100), (1, 99)],
)
def test_a_topic_is_told_from_a_fifth_of_what_is_usual(
    records: int, percent: int | None
) -> None:
    found = judged(nights(10_000, 10_000, 10_000), a_night(3, records))
    assert (found.usual_count, found.shrunk_percent) == (10_000, percent)


def test_one_night_without_a_source_changes_nothing_of_what_is_usual() -> None:
    found = judged(nights(10_000, 0, 10_000), a_night(3, 10_000))
    assert found.usual_count == 10_000


def test_two_nights_show_no_habit() -> None:
    assert judged(nights(9000, 9000), a_night(2, 0)).usual_count is None


def test_few_records_come_and_go_by_chance() -> None:
    found = judged(nights(999, 999, 999), a_night(3, 0))
    assert (found.usual_count, found.shrunk_percent) == (999, None)


def test_a_night_that_made_up_for_another_is_as_long_as_it_is() -> None:
    before = [*nights(1000, 1000), a_night(3, 2000, covered=2 * DAY)]
    assert judged(before, a_night(4, 1000)).usual_count == 1000
    tonight = a_night(5, 2000, covered=2 * DAY)
    assert judged(before, tonight).usual_count == 2000


def test_what_comes_later_or_long_before_is_not_looked_at() -> None:
    before = nights(*[90_000] * 3, *[1000] * 7, *[90_000] * 9)
    assert judged(before, a_night(10, 1000)).usual_count == 1000


def test_a_window_has_no_habit_and_makes_none() -> None:
    def as_window(night: FinishedAudit) -> FinishedAudit:
        return replace(night, result=replace(night.result, nightly=False))

    before = nights(1000, 1000, 1000)
    assert judged(before, as_window(a_night(3, 0))).usual_count is None
    windows = [as_window(night) for night in before]
    assert judged(windows, a_night(3, 0)).usual_count is None


def test_a_topic_that_could_not_be_verified_was_not_counted_whole() -> None:
    def with_gap(night: FinishedAudit) -> FinishedAudit:
        gap = Unverifiable(flow="f", topic="t", partition=0, reason="expired")
        return replace(
            night, result=replace(night.result, unverifiable=(gap,))
        )

    before = nights(1000, 1000, 1000)
    assert judged(before, with_gap(a_night(3, 10))).usual_count is None
    gaps = [with_gap(night) for night in before]
    assert judged(gaps, a_night(3, 1000)).usual_count is None


def test_what_the_mirror_has_not_copied_is_no_shrunk_topic() -> None:
    waiting = Stated(
        flow="f", topic="t", partition=0, kind="in_flight", count=900
    )

    def behind(night: FinishedAudit) -> FinishedAudit:
        result = replace(night.result, stated=(waiting,))
        return replace(night, result=result)

    before = nights(1000, 1000, 1000)
    assert judged(before, a_night(3, 100)).shrunk_percent == 90
    assert judged(before, behind(a_night(3, 100))).shrunk_percent is None
    gaps = [behind(night) for night in before]
    assert judged(gaps, a_night(3, 100)).usual_count is None


def test_a_run_over_minutes_has_no_rate() -> None:
    short = timedelta(minutes=29)
    before = nights(1000, 1000, 1000)
    tonight = a_night(3, 0, covered=short)
    assert judged(before, tonight).usual_count is None


def test_pieces_of_a_night_are_added() -> None:
    before = nights(10_000, 10_000, 10_000)
    pieces = [with_usual(a_night(n, 1000), before).result for n in (3, 4)]
    (count,) = combined(pieces).topics
    assert (count.usual_count, count.shrunk_percent) == (20_000, 90)
    flows = [flow_result_of(piece, "f") for piece in pieces]
    whole = join([flow for flow in flows if flow is not None])
    assert whole is not None
    assert whole.shrunk == [("t", 90)]
