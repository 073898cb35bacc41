from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from mirrorwatch.config.types import Duration, format_duration, parse_duration

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
    with pytest.raises(ValidationError, match="too long"):
        ADAPTER.validate_python("99999999999d")


@given(st.integers(0, 10**9))
def test_what_is_written_is_read_back(milliseconds: int) -> None:
    duration = timedelta(milliseconds=milliseconds)
    assert parse_duration(format_duration(duration)) == duration
