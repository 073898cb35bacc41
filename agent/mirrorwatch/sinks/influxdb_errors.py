"""What InfluxDB's answers mean, in words that say what to mend."""

import json
import re
from datetime import timedelta

from influxdb_client.rest import ApiException
from urllib3 import Retry
from urllib3.exceptions import (
    HTTPError,
    InvalidHeader,
    NameResolutionError,
    NewConnectionError,
)
from urllib3.exceptions import TimeoutError as HTTPTimeoutError

from ..exceptions import SinkError, SinkRejectedError
from .influxdb_access import InfluxDbAccess

__all__ = ["NAME", "to_sink_error"]

NAME = "influxdb"
"""Name of the sink."""

REFUSED_DATA = (400, 413, 422)
"""Malformed, too large, a field of another type or too old for the retention
policy: no later try will do better. 1.8 says 400, 2.x says 422."""

LONGEST_ANSWER = 300
"""Characters of the server's own words that are worth a log line."""


def to_sink_error(
    error: ApiException | HTTPError, access: InfluxDbAccess
) -> SinkError:
    """Return an error of the library as one of ours, without the secret."""
    if isinstance(error, HTTPError):
        return SinkError(
            f"InfluxDB at {access.url} does not answer: {_plainly(error)}",
            sink=NAME,
        )
    answer = _answer(error, access)
    outcome = _outcome(error.status, answer, access)
    message = f"InfluxDB at {access.url} {outcome}: {answer}"
    if error.status in REFUSED_DATA:
        dropped = re.search(r"dropped=(\d+)", answer)
        points = int(dropped[1]) if dropped else None
        return SinkRejectedError(message, sink=NAME, points=points)
    return SinkError(message, sink=NAME, retry_after=_retry_after(error))


def _outcome(status: int, answer: str, access: InfluxDbAccess) -> str:
    missing = status == 404 or "retention policy not found" in answer
    if status == 0:  # the library's way to report a failed TLS handshake
        return "cannot be reached over TLS (see ca of sinks.influxdb)"
    if status == 401:
        advice = f" (mend {access.login_keys})"
    elif status == 403:
        advice = f" (let it write to {access.bucket!r})"
    elif missing:  # 1.8 answers 500 where a retention policy is missing
        advice = f" (create {access.bucket!r}, or mend {access.place_keys})"
    else:
        advice = ""
    return f"answered {status}{advice}"


def _answer(error: ApiException, access: InfluxDbAccess) -> str:
    """Return the server's own words, short and without the secret."""
    text = str(error.body or error.reason or "no reason given")
    try:
        body = json.loads(text)
    except ValueError:
        body = None
    if isinstance(body, dict):  # 2.x calls it message, 1.x error
        text = str(body.get("message") or body.get("error") or text)
    return " ".join(access.hide(text).split())[:LONGEST_ANSWER]


def _retry_after(error: ApiException) -> timedelta | None:
    """Return how long the server asks to be left alone: seconds or a date."""
    if not error.headers or "Retry-After" not in error.headers:
        return None
    try:
        asked = Retry().parse_retry_after(error.headers["Retry-After"])
        return timedelta(seconds=asked)
    except (InvalidHeader, OverflowError):
        return None


def _plainly(error: HTTPError) -> str:
    """Return an error of the connection in words that stay the same."""
    match error:
        case NameResolutionError():
            return "its name cannot be resolved"
        case NewConnectionError():
            return "cannot connect"
        case HTTPTimeoutError():
            return "no answer in time"
        case _:
            return type(error).__name__
