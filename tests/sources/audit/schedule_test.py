"""When audits are due."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.config.types import to_trigger
from mirrorwatch.sources.audit.worker import Schedule

AT = datetime(2026, 11, 21, 12, 30, 15, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
SANTIAGO = ZoneInfo("America/Santiago")


def utc(*when: int) -> datetime:
    return datetime(*when, tzinfo=UTC)  # type: ignore[arg-type, misc]


@pytest.mark.parametrize(
    ("crontab", "last", "following"),
    [
        ("0 2 * * *", utc(2026, 11, 21, 2), utc(2026, 11, 22, 2)),
        ("* * * * *", utc(2026, 11, 21, 12, 30), utc(2026, 11, 21, 12, 31)),
        ("0 0 29 2 *", utc(2024, 2, 29), utc(2028, 2, 29)),
        ("0 3 * * 1", utc(2026, 11, 16, 3), utc(2026, 11, 23, 3)),
    ],
)
def test_the_last_and_the_next_time(
    crontab: str, last: datetime, following: datetime
) -> None:
    schedule = Schedule(to_trigger(crontab))
    assert schedule.last(AT) == last
    assert schedule.next(AT) == following


def test_an_audit_is_due_at_its_minute_and_not_before() -> None:
    schedule = Schedule(to_trigger("0 2 * * *"), SANTIAGO)
    due = utc(2026, 11, 21, 5)
    assert schedule.last(due) == due
    assert schedule.next(due) == due + timedelta(days=1)
    assert schedule.last(due - timedelta(seconds=1)) == due - timedelta(days=1)
    # The day that it is named after is that of its own zone.
    late = Schedule(to_trigger("30 23 * * *"), SANTIAGO)
    last = late.last(utc(2026, 11, 21, 2, 45))
    assert last is not None
    assert f"{last:%Y-%m-%d}" == "2026-11-20"


@given(
    st.sampled_from(["0 2 * * *", "30 2 * * *", "0 0 * * *", "15 4 * * mon"]),
    st.sampled_from(["UTC", "Europe/Berlin", "America/Santiago"]),
    st.integers(0, 3 * 366 * 24 * 60),
)
def test_no_time_lies_between_the_last_and_the_next(
    crontab: str, zone: str, minutes: int
) -> None:
    schedule = Schedule(to_trigger(crontab), ZoneInfo(zone))
    at = utc(2024, 1, 1, 12) + minutes * MINUTE
    last, following = schedule.last(at), schedule.next(at)
    assert last is not None
    assert following is not None
    assert last <= at < following
    assert schedule.next(last) == following


@pytest.mark.parametrize("crontab", ["0 0 * * *", "30 2 * * *", "0 3 * * *"])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Santiago"])
def test_every_day_of_a_year_has_its_night(crontab: str, zone: str) -> None:
    schedule = Schedule(to_trigger(crontab), ZoneInfo(zone))
    at = utc(2024, 1, 1, 12)
    days: list[date] = []
    while len(days) < 366:
        following = schedule.next(at)
        assert following is not None
        at = following
        days.append(at.date())
        assert schedule.last(at + MINUTE / 2) == at
    first = days[0]
    assert days == [first + timedelta(days=n) for n in range(366)]
