"""Writes reports to InfluxDB 2.x, and to 1.8 or later 1.x."""

import json
import re
import ssl
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from influxdb_client.client.influxdb_client import InfluxDBClient
from influxdb_client.client.write.point import Point
from influxdb_client.rest import ApiException
from influxdb_client.service.write_service import WriteService
from urllib3 import Retry
from urllib3.exceptions import (
    HTTPError,
    InvalidHeader,
    NameResolutionError,
    NewConnectionError,
)
from urllib3.exceptions import TimeoutError as HTTPTimeoutError

from ..domain.canary.metrics import LATENCY, PRODUCE, REPLICATION
from ..domain.canary.model import ProbeArrival, canaries
from ..domain.metrics import Histogram
from ..domain.samples import samples
from ..exceptions import ConfigError, SinkError, SinkRejectedError
from ..ports import Report
from ..state.queue import Batch

__all__ = [
    "InfluxDbAccess",
    "InfluxDbOutlet",
    "open_client",
    "password_access",
    "to_batch",
    "to_points",
    "to_sink_error",
    "token_access",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class InfluxDbAccess:
    """How to reach one bucket (2.x), or one retention policy (1.8+)."""

    url: str
    """Address of the server, without anything secret."""

    org: str
    """Organisation; ``-`` where the server knows none."""

    bucket: str
    """Bucket, or ``database/retention policy``."""

    secret: str = field(repr=False)
    """Token, or ``user:password``; empty if none is asked for."""

    basic: bool
    """Whether the secret is a user and a password."""

    login_keys: str
    """Which keys of the configuration say who we are."""

    bucket_keys: str
    """Which keys of the configuration say where the data goes."""

    ca: Path | None = None
    """Who signs the server's certificate, if no public authority does."""

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


def open_client(access: InfluxDbAccess) -> InfluxDBClient:
    """Return the library's client; it connects when it is first used.

    Raises
    ------
    ConfigError
        Raised if the certificate authority cannot be read.
    """
    try:
        trusted = ssl.create_default_context(cafile=access.ca)
    except OSError as e:
        raise ConfigError(f"sinks.influxdb.ca {access.ca}: {e}") from e
    return InfluxDBClient(
        url=access.url,
        token=access.secret,
        org=access.org,
        auth_basic=access.basic,
        enable_gzip=True,
        ssl_context=trusted,
    )


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
        Who signs the server's certificate, if no public authority does.

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
        advice = f" (correct {access.login_keys})"
    elif status == 403:
        advice = f" (grant it write permission on {access.bucket!r})"
    elif missing:  # 1.8 answers 500 where a retention policy is missing
        advice = (
            f" (create {access.bucket!r}, or correct {access.bucket_keys})"
        )
    else:
        advice = ""
    return f"answered {status}{advice}"


def _answer(error: ApiException, access: InfluxDbAccess) -> str:
    """Return the server's own words, short and without the secret."""
    text = str(error.body or error.reason or "no reason given")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
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


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_points(report: Report) -> list[Point]:
    """Return a report as points: the tick's metrics, then each probe.

    Notes
    -----
    All metrics of one measurement with equal tags are fields of one point.
    Every field is a float: a server refuses a point whose field has another
    type than it had before, and whole seconds must not look like integers.
    """
    points: dict[tuple[str, tuple[tuple[str, str], ...]], Point] = {}
    for sample in samples(report):
        if isinstance(sample.value, Histogram):
            continue  # each probe is a point of its own, see below
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
    return [*points.values(), *probes]


def to_batch(report: Report) -> Batch:
    """Return the points of a report in line protocol."""
    lines = [point.to_line_protocol() for point in to_points(report)]
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


def _point(measurement: str, tags: dict[str, str], nanoseconds: int) -> Point:
    point = Point(measurement)
    point.time(nanoseconds)
    for tag, value in tags.items():
        point.tag(tag, value)
    return point


def _nanoseconds(at: datetime) -> int:
    # Whole numbers throughout: a float of seconds is exact to 200 ns only.
    return (at - EPOCH) // timedelta(microseconds=1) * 1000


class InfluxDbOutlet:
    """Sends points to one InfluxDB. `QueuedSink` makes a sink of it.

    Parameters
    ----------
    access
        Where it is and how to be let in.

    Notes
    -----
    The service below `write_api` is used, because only there a single write
    can be given a timeout. The library neither retries nor batches here:
    that is the business of `QueuedSink`, which also counts. Redirects are
    not followed, so the secret goes to the configured server only.
    """

    name = NAME

    def __init__(self, access: InfluxDbAccess) -> None:
        self._access = access
        self._client = open_client(access)
        self._service = WriteService(self._client.api_client)

    def send(self, batch: Batch, timeout: timedelta) -> None:
        try:
            self._service.post_write(
                org=self._access.org,
                bucket=self._access.bucket,
                body=batch.body,
                precision="ns",
                content_type="text/plain; charset=utf-8",
                _request_timeout=timeout / timedelta(milliseconds=1),
            )
        except (ApiException, HTTPError) as e:
            raise to_sink_error(e, self._access) from e

    def close(self) -> None:
        self._client.close()
