"""Writes reports to InfluxDB 2.x, and to 1.8 or later 1.x."""

import base64
import gzip
import re
import socket
import ssl
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx
from influxdb_client.client.write.point import Point
from pydantic_core import from_json

from ..domain.canary.metrics import LATENCY, PRODUCE, REPLICATION
from ..domain.canary.model import ProbeArrival, canaries
from ..domain.events.model import Event
from ..domain.metrics import Histogram
from ..domain.samples import EVENTS, Sampler, samples
from ..exceptions import ConfigError, SinkError, SinkRejectedError
from ..http import (
    BUSY,
    UnusableAnswerError,
    bounded_client,
    read_beginning,
    read_retry_after,
    trust,
)
from ..ports import Report
from ..state.queue import Batch

__all__ = [
    "InfluxDbAccess",
    "InfluxDbOutlet",
    "password_access",
    "to_batch",
    "to_points",
    "token_access",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class InfluxDbAccess:
    """Access to one bucket (2.x), or one retention policy (1.8+)."""

    url: str
    org: str
    """Organisation; ``-`` where the server knows none."""

    bucket: str
    secret: str = field(repr=False)
    """Token, or ``user:password``; empty if none is asked for."""

    basic: bool
    login_keys: str
    bucket_keys: str
    """Which keys of the configuration say where the data goes."""

    ca: Path | None = None
    """Certificate authority of the server, if it is not a public one."""

    def __post_init__(self) -> None:
        # A header cannot carry such; the library's error would show it.
        if not self.secret.isprintable():
            raise ConfigError(
                f"{self.login_keys}: holds a line break or another control "
                "character; write the secret without it"
            )

    def hide(self, text: str) -> str:
        """Return a text without the secret, or any part of it."""
        password = self.secret.partition(":")[2] if self.basic else ""
        for secret in filter(None, (self.secret, password)):
            text = text.replace(secret, "***")
        return text


def token_access(
    *,
    url: str,
    org: str,
    bucket: str,
    token: str,
    ca: Path | None = None,
) -> InfluxDbAccess:
    """Return how to reach InfluxDB 2.x."""
    return InfluxDbAccess(
        url=_without_user(url),
        org=org,
        bucket=bucket,
        secret=token,
        basic=False,
        login_keys="token of sinks.influxdb",
        bucket_keys="url, org and bucket of sinks.influxdb",
        ca=ca,
    )


def password_access(
    *,
    url: str,
    database: str,
    retention_policy: str | None = None,
    username: str | None = None,
    password: str | None = None,
    ca: Path | None = None,
) -> InfluxDbAccess:
    """Return how to reach InfluxDB 1.8 or later 1.x, Enterprise included.

    Parameters
    ----------
    url
        Address of the server.
    database
        Database, which must exist.
    retention_policy
        Retention policy; `None` for the database's default.
    username
        User; `None` if the server asks for none.
    password
        Password of the user.
    ca
        Certificate authority of the server, if it is not a public one.

    Notes
    -----
    Sent as basic authentication: the form ``Token user:password`` that the
    manual gives cannot carry a password with a blank in it.
    """
    return InfluxDbAccess(
        url=_without_user(url),
        org="-",
        bucket=f"{database}/{retention_policy or ''}",
        secret=f"{username}:{password or ''}" if username else "",
        basic=bool(username),
        login_keys="username and password of sinks.influxdb",
        bucket_keys="url, database and retention_policy of sinks.influxdb",
        ca=ca,
    )


def _without_user(url: str) -> str:
    parts = urlsplit(url)
    if "@" in parts.netloc:
        raise ConfigError(
            "sinks.influxdb.url: must not hold a user or a password; give "
            "them under their own keys"
        )
    return urlunsplit(parts)


TIMEOUT_SECONDS = 30.0

NAME = "influxdb"

REFUSED_DATA = (400, 413, 422)
"""Malformed, too large, a field of another type or too old for the retention
policy: no later try will do better, if InfluxDB itself says so. 1.8 says 400,
2.x says 422."""

REFUSALS = {"invalid", "request too large", "unprocessable entity"}
"""Error codes of refused data in InfluxDB 2.x. A proxy's own refusals have
other codes."""

LONGEST_ANSWER = 300
"""Characters of the server's own words that are worth a log line."""

MOST_READ = 2**20
"""Bytes of the answer to a write: it may name every line of a batch."""


class InfluxDbOutlet:
    """Sends points to one InfluxDB. `QueuedSink` makes a sink of it.

    Parameters
    ----------
    access
        Address and login of the server.

    Raises
    ------
    ConfigError
        Raised if the certificate authority cannot be read.
    SinkRejectedError
        Raised by every method if the server itself refuses what it is sent.
    SinkError
        Raised by every method for whatever else is not as it should be. The
        secret is no part of it.
    """

    name = NAME

    def __init__(self, access: InfluxDbAccess) -> None:
        self._access = access
        secret = access.secret.encode()
        login = b"Token " + secret
        if access.basic:
            login = b"Basic " + base64.b64encode(secret)
        try:
            trusted = trust(access.ca)
        except OSError as e:
            raise ConfigError(f"sinks.influxdb.ca {access.ca}: {e}") from e
        self._http = bounded_client(
            timeout_seconds=TIMEOUT_SECONDS,
            verify=trusted,
            # No proxy of the environment, as ever; the secret goes to the
            # configured server only, so no redirect is followed either.
            trust_env=False,
            headers={"Authorization": login} if secret else {},
        )

    def send(self, batch: Batch, timeout: timedelta) -> None:
        """Write points; a server that has them all says 204, and no other."""
        headers = {
            "Content-Encoding": "gzip",
            "Content-Type": "text/plain; charset=utf-8",
        }
        place = {"org": self._access.org, "bucket": self._access.bucket}
        request = {
            "params": {**place, "precision": "ns"},
            "content": gzip.compress(batch.body),
            "headers": headers,
            "timeout": timeout.total_seconds(),
        }
        self._send("/api/v2/write", {204}, request)

    def has_mapping(self, database: str, timeout: timedelta) -> bool:
        """Return whether 2.x maps a database of InfluxQL to a bucket.

        Notes
        -----
        An empty write by the v1 API is refused without a mapping, and takes
        no more than the permission to write; to list mappings takes another.
        """
        request = {
            "params": {"db": database},
            "timeout": timeout.total_seconds(),
        }
        answer = self._send("/write", {204, 404}, request)
        return "dbrp" not in answer.lower()

    def close(self) -> None:
        """Let go of connections."""
        self._http.close()

    def _send(
        self,
        path: str,
        expected: Container[int],
        request: Mapping[str, Any],
    ) -> str:
        access = self._access
        url = access.url.rstrip("/") + path
        try:
            with self._http.stream("POST", url, **request) as answer:
                text = read_beginning(answer, MOST_READ)
        except (httpx.TransportError, httpx.InvalidURL) as e:
            raise SinkError(
                f"InfluxDB at {access.url} {_plainly(e)}", sink=NAME
            ) from e
        if answer.status_code in expected:
            return text
        raise self._error(answer, text)

    def _error(self, answer: httpx.Response, text: str) -> SinkError:
        status = answer.status_code
        said, refusal = _read_error(text)
        words = " ".join(self._access.hide(said).split())[:LONGEST_ANSWER]
        words = words or answer.reason_phrase or "no reason given"
        advice = _advice(status, words, self._access)
        message = f"InfluxDB at {self._access.url} answered {status}{advice}"
        message = f"{message}: {words}"
        if refusal and status in REFUSED_DATA:
            dropped = re.search(r"dropped=(\d{1,9})", said)
            points = int(dropped[1]) if dropped else None
            return SinkRejectedError(message, sink=NAME, points=points)
        asked = read_retry_after(answer)
        return SinkError(
            message, sink=NAME, retry_after=asked, busy=status in BUSY
        )


def _read_error(text: str) -> tuple[str, bool]:
    try:
        body = from_json(text)
    except ValueError:
        return text, False
    match body:
        case {"code": str(code), "message": str(said)}:  # 2.x
            return said, code in REFUSALS
        case {"error": str(said)}:  # 1.x
            return said, True
        case {"message": str(said)}:
            return said, False
        case _:
            return text, False


def _advice(status: int, words: str, access: InfluxDbAccess) -> str:
    if status == 401:
        return f" (correct {access.login_keys})"
    if status == 403:
        return f" (grant it write permission on {access.bucket!r})"
    # 1.8 answers 500 where a retention policy is missing.
    if status == 404 or "retention policy not found" in words:
        return f" (create {access.bucket!r}, or correct {access.bucket_keys})"
    return ""


def _plainly(error: httpx.TransportError | httpx.InvalidURL) -> str:
    causes = [error.__cause__, error.__context__]
    while causes[-1] is not None:
        causes += [causes[-1].__cause__ or causes[-1].__context__]
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return "cannot be reached over TLS (see ca of sinks.influxdb)"
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return "does not answer: its name cannot be resolved"
    match error:
        case httpx.TimeoutException():
            return "does not answer: no answer in time"
        case httpx.ConnectError():
            return "does not answer: cannot connect"
        case UnusableAnswerError():
            return f"gives no usable answer: {error}"
        case _:
            return f"does not answer: {type(error).__name__}"


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_points(report: Report, sampler: Sampler = samples) -> list[Point]:
    """Return a report as points: metrics of the tick, probes, events.

    Parameters
    ----------
    report
        Report of one tick.
    sampler
        Makes the samples of a report.

    Notes
    -----
    All metrics of one measurement with equal tags are fields of one point.
    Every number is a float: a server refuses a point whose field has another
    type than it had before, and whole seconds must not look like integers.
    """
    points: dict[tuple[str, tuple[tuple[str, str], ...]], Point] = {}
    for sample in sampler(report):
        if isinstance(sample.value, Histogram) or sample.metric is EVENTS:
            continue  # each probe and event is a point of its own, see below
        metric = sample.metric
        tags = tuple(zip(metric.labels, sample.labels, strict=True))
        series = (metric.measurement, tags)
        if series not in points:
            at = _nanoseconds(report.at)
            points[series] = _point(metric.measurement, dict(tags), at)
        points[series].field(metric.field, float(sample.value))
    probes = (
        _probe(arrival)
        for seen in canaries(report.observations)
        for arrival in seen.arrivals
    )
    events = map(_event, report.events)
    return [*points.values(), *probes, *events]


def to_batch(report: Report, sampler: Sampler = samples) -> Batch:
    """Return the points of a report in line protocol."""
    points = to_points(report, sampler)
    lines = [point.to_line_protocol() for point in points]
    return Batch("\n".join(lines).encode(), len(lines))


def _probe(arrival: ProbeArrival) -> Point:
    """Return one arrival.

    Notes
    -----
    Arrivals that were read together can have the same microsecond, and equal
    tags and time would make them one point. The clock leaves the last three
    digits of the nanoseconds free; the sequence distinguishes them there, and
    is the same if the point is sent twice.
    """
    at = _nanoseconds(arrival.arrived_at) + arrival.sequence % 1000
    tags = {"flow": arrival.flow, "partition": str(arrival.partition)}
    point = _point(LATENCY.measurement, tags, at)
    for metric, duration in (
        (LATENCY, arrival.latency),
        (REPLICATION, arrival.replication),
        (PRODUCE, arrival.produce),
    ):
        if duration is not None:
            point.field(metric.field, duration.total_seconds())
    return point


def _event(event: Event) -> Point:
    """Return one event; its number distinguishes those of one tick."""
    at = _nanoseconds(event.at) + event.id % 1000
    tags = {"flow": event.flow, "code": event.code}
    point = _point(EVENTS.measurement, tags, at)
    point.field("title", event.title)
    if event.until is not None:
        lasted = (event.until - event.at).total_seconds()
        point.field("lasted_seconds", lasted)
    return point


def _point(measurement: str, tags: dict[str, str], nanoseconds: int) -> Point:
    point = Point(measurement)
    point.time(nanoseconds)
    for tag, value in tags.items():
        point.tag(tag, value)
    return point


def _nanoseconds(at: datetime) -> int:
    # Whole numbers throughout: a float of seconds is exact to 200 ns only.
    return (at - EPOCH) // timedelta(microseconds=1) * 1000
