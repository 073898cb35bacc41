"""Durations with a unit: `5s`, `15m`, `2h`, `250ms`, `1d`."""

import re
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

__all__ = ["Duration", "format_duration", "parse_duration"]

PATTERN = re.compile(r"(?P<count>\d+(?:\.\d+)?)(?P<unit>ms|s|m|h|d)", re.ASCII)

UNITS = {
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
}


def parse_duration(value: Any) -> Any:
    """Parse a duration with a unit.

    Raises
    ------
    PydanticCustomError
        Raised if it is none, or has no unit.

    Notes
    -----
    A bare number is refused: whether 5 means seconds or milliseconds is the
    kind of guess that a monitor must not make.
    """
    if isinstance(value, timedelta):
        return value
    if isinstance(value, int | float):
        raise PydanticCustomError(
            "duration", "a duration needs a unit; allowed are {allowed}", _HELP
        )
    match = PATTERN.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise PydanticCustomError(
            "duration", "not a duration; allowed are {allowed}", _HELP
        )
    try:
        return float(match["count"]) * UNITS[match["unit"]]
    except OverflowError as e:
        raise PydanticCustomError("duration", "too long") from e


_HELP = {"allowed": "a number and one of ms, s, m, h, d, such as 250ms or 5s"}


def format_duration(duration: timedelta) -> str:
    """Write a duration in the largest unit that keeps it a whole number."""
    for name, unit in UNITS.items():
        if duration and duration % unit == timedelta():
            return f"{duration // unit}{name}"
    return f"{duration.total_seconds():g}s"


Duration = Annotated[timedelta, BeforeValidator(parse_duration)]
"""A duration, written with its unit."""
