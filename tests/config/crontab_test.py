"""Schedules mean what they mean in a crontab."""

from datetime import UTC, datetime, timedelta

import pytest

from mirrorwatch.config.types import to_trigger

MONDAY = datetime(2026, 11, 16, tzinfo=UTC)


def days(schedule: str) -> str:
    """Return the weekdays of a week on which a schedule fires."""
    trigger = to_trigger(schedule)
    fired: list[str] = []
    at = MONDAY
    while True:
        at = trigger.get_next_fire_time(None, at)
        if at >= MONDAY + timedelta(days=7):
            return " ".join(fired)
        fired.append(f"{at:%a}")
        at += timedelta(minutes=1)


@pytest.mark.parametrize(
    ("weekday", "fires"),
    [
        ("0", "Sun"),
        ("7", "Sun"),
        ("1", "Mon"),
        ("sun", "Sun"),
        ("1-5", "Mon Tue Wed Thu Fri"),
        ("5-7", "Fri Sat Sun"),
        ("mon-wed", "Mon Tue Wed"),
        ("2,4", "Tue Thu"),
        ("*/2", "Tue Thu Sat Sun"),
        ("0-6/3", "Wed Sat Sun"),
        ("*", "Mon Tue Wed Thu Fri Sat Sun"),
    ],
)
def test_weekdays_are_those_of_cron(weekday: str, fires: str) -> None:
    assert days(f"0 2 * * {weekday}") == fires


@pytest.mark.parametrize("weekday", ["8", "5-2", "*/0", "noon", "1-9"])
def test_what_is_no_weekday_is_refused(weekday: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        to_trigger(f"0 2 * * {weekday}")
