"""Addresses: URLs without secrets in them, and where to listen."""

import re
from datetime import UTC, timedelta
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from apscheduler.triggers.cron import CronTrigger
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SecretStr,
    model_validator,
)
from pydantic_core import PydanticCustomError

from .base import ConfigProblem, Model, ProblemsError
from .loading import NEVER_SHOWN

__all__ = [
    "Duration",
    "HttpServer",
    "HttpUrl",
    "ListenAddress",
    "format_duration",
    "parse_duration",
    "to_trigger",
]


LISTEN = re.compile(r"(?P<host>[\w.-]+|\[[0-9a-fA-F:.]+\]):(?P<port>\d{1,5})")
"""``HOST:PORT``; an IPv6 address stands in brackets."""


def _check_url(url: str) -> str:
    """Check an address of HTTP.

    User and password in an address would reach logs and process lists.
    """
    if "@" in url or "?" in url or "#" in url:
        raise PydanticCustomError(
            NEVER_SHOWN,
            "must hold no user, password, query or fragment; "
            "secrets have keys of their own",
        )
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and parts.hostname
        _ = parts.port  # reading it checks it
    except ValueError:
        usable = None
    if not usable:
        raise PydanticCustomError(
            "address", "must be an address such as http://host:port/path"
        )
    return url.rstrip("/")


def _check_listen(address: Any) -> str:
    # A bare port is a number to YAML.
    match = LISTEN.fullmatch(str(address))
    if match is None or int(match["port"]) > 65535:
        raise PydanticCustomError(
            "address", "must be HOST:PORT, such as 127.0.0.1:8080 or [::]:80"
        )
    return match[0]


HttpUrl = Annotated[str, AfterValidator(_check_url)]
"""Address of an HTTP server, without a slash at the end."""

ListenAddress = Annotated[str, BeforeValidator(_check_listen)]
"""Address to listen on."""


DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun")
"""By cron's numbers, in which 0 and 7 are Sunday."""

LAST = 6
"""Saturday, the last day of cron's week."""

PART = re.compile(
    r"(?P<first>\d|\*)(?:-(?P<last>\d))?(?P<step>/\d+)?", re.ASCII
)


def to_trigger(schedule: str) -> CronTrigger:
    """Return what tells the times of a schedule, by a clock without a zone: as
    if it were in UTC.

    Parameters
    ----------
    schedule
        Cron's five fields: minute, hour, day, month, weekday.

    Raises
    ------
    ValueError
        Raised if that is no schedule.

    Notes
    -----
    APScheduler 3 counts weekdays from Monday, cron from Sunday. What a person
    copies from a crontab must not run on another day, so numbers become names.
    """
    fields = schedule.split()
    if len(fields) == 5:
        fields[4] = ",".join(_name(part) for part in fields[4].split(","))
    return CronTrigger.from_crontab(" ".join(fields), timezone=UTC)


def _name(part: str) -> str:
    match = PART.fullmatch(part)
    if match is None or part == "*":
        return part
    first = 0 if match["first"] == "*" else int(match["first"])
    step = int((match["step"] or "/1")[1:])
    # One day with a step means from that day on.
    alone = LAST if match["step"] else first
    last = alone if match["last"] is None else int(match["last"])
    if last >= len(DAYS) or first > last or step == 0:
        raise ValueError(f"{part} is no weekday")
    return ",".join(DAYS[first : last + 1 : step])


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


class HttpServer(Model):
    """Where a server is, and how to log in."""

    url: HttpUrl = Field(title="Address")
    """Its address."""

    username: str | None = Field(None, title="User name")
    """User of basic authentication."""

    password: SecretStr | None = Field(None, title="Password")
    """Password of that user."""

    ca: Path | None = Field(None, title="Certificate authority")
    """PEM file that signs the server's certificate, if no public authority
    does."""

    @model_validator(mode="after")
    def _check_login(self) -> Self:
        if (self.username is None) != (self.password is None):
            missing = "password" if self.password is None else "username"
            raise ProblemsError(
                [
                    ConfigProblem(
                        (missing,),
                        "is missing; username and password go together",
                    )
                ]
            )
        return self
