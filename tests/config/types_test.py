import socket
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from mirrorwatch.config import Config
from mirrorwatch.config.audit import to_trigger
from mirrorwatch.config.base import Duration, format_duration, parse_duration
from mirrorwatch.exceptions import ConfigError

ADAPTER = TypeAdapter(Duration)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5s", 5),
        ("15m", 900),
        ("2h", 7200),
        ("250ms", 0.25),
        ("1d", 86_400),
        ("1.5h", 5400),
    ],
)
def test_a_duration_has_a_unit(text: str, seconds: float) -> None:
    assert ADAPTER.validate_python(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "value",
    [
        5,
        0.5,
        True,
        "5",
        "s",
        "",
        "5 s",
        "-5s",
        "5S",
        "1h30m",
        "٣s",
        [],
        "1e3s",
    ],
)
def test_anything_else_is_refused(value: Any) -> None:
    with pytest.raises(ValidationError, match="allowed are a number and one"):
        ADAPTER.validate_python(value)


def test_a_duration_beyond_all_time_is_refused() -> None:
    for value in ("99999999999d", "999999999d", "3651d"):
        with pytest.raises(ValidationError, match="too long"):
            ADAPTER.validate_python(value)


@given(st.integers(0, 10**9))
def test_what_is_written_is_read_back(milliseconds: int) -> None:
    duration = timedelta(milliseconds=milliseconds)
    assert parse_duration(format_duration(duration)) == duration


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


MINIMAL = {
    "clusters": {
        "summit": {"kafka": {"bootstrap.servers": "a:9092"}},
        "ldf": {"kafka": {"bootstrap.servers": "b:9092"}},
    },
    "flows": [{"source": "summit", "target": "ldf"}],
}


@pytest.mark.parametrize(
    ("web", "address"),
    [
        ({}, "http://127.0.0.1:8080"),
        ({"listen": "10.1.2.3:80"}, "http://10.1.2.3:80"),
        ({"listen": "[::1]:8080"}, "http://[::1]:8080"),
        ({"listen": "0.0.0.0:90"}, f"http://{socket.gethostname()}:90"),
        ({"listen": "[::]:90"}, f"http://{socket.gethostname()}:90"),
        (
            {"url": "https://status.example.org/mirror/"},
            "https://status.example.org/mirror",
        ),
    ],
)
def test_links_begin_with_where_people_reach_the_page(
    web: dict[str, str], address: str
) -> None:
    config = Config.from_mapping(MINIMAL | {"web": web})
    assert config.web.address == address


@pytest.mark.parametrize("url", ["status.example.org", "https://a:b@c/"])
def test_an_address_that_is_none_or_holds_a_secret_is_refused(
    url: str,
) -> None:
    with pytest.raises(ConfigError, match=r"web\.url"):
        Config.from_mapping(MINIMAL | {"web": {"url": url}})
