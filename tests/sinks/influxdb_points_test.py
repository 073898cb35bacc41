"""A report as InfluxDB points."""

import time
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from influxdb_client.client.write.point import Point

from mirrorwatch.domain.canary.model import ProbeArrival
from mirrorwatch.exceptions import ConfigError, SinkError, SinkRejectedError
from mirrorwatch.ports import Report
from mirrorwatch.sinks.influxdb import (
    InfluxDbAccess,
    InfluxDbOutlet,
    password_access,
    to_batch,
    to_points,
    token_access,
)
from mirrorwatch.state.queue import Batch
from tests.support.builders import NOON, a_canary, a_report, an_arrival
from tests.support.full_report import a_full_report
from tests.support.http import Answer, answering, certified
from tests.support.influx import write
from tests.support.reports import reports


def lines(report: Report) -> list[str]:
    return [point.to_line_protocol() for point in to_points(report)]


def identity(line: str) -> tuple[str, str]:
    """Return what makes two points one: the series and the time."""
    fields_begin, _, at = line.rpartition(" ")
    return fields_begin.rpartition(" ")[0], at


def probes(*arrivals: ProbeArrival) -> list[str]:
    report = a_report(observations=[a_canary(arrivals=arrivals)])
    return [line for line in lines(report) if "latency_seconds" in line]


def test_a_probe_is_a_point_at_the_time_of_its_arrival() -> None:
    arrived = NOON + timedelta(microseconds=1)
    arrival = an_arrival(arrived, timedelta(milliseconds=12), sequence=7)
    (line,) = probes(arrival)
    assert line == (
        "canary,flow=summit->ldf,partition=0 latency_seconds=0.012,"
        "produce_seconds=0.002,replication_seconds=0.01 1767355200000001007"
    )


def test_probes_that_arrived_together_stay_apart() -> None:
    latency = timedelta(milliseconds=12)
    together = [
        an_arrival(NOON, latency, sequence=n) for n in range(995, 1500)
    ]
    written = probes(*together)
    assert len({identity(line) for line in written}) == len(together)


def test_the_same_probe_told_twice_is_one_point() -> None:
    arrival = an_arrival(NOON, timedelta(milliseconds=12), sequence=7)
    first, second = probes(arrival, arrival)
    assert identity(first) == identity(second)


@given(reports)
def test_no_two_points_of_a_tick_are_one(report: Report) -> None:
    written = Counter(identity(line) for line in lines(report))
    assert all(count == 1 for count in written.values())


@given(reports)
def test_no_field_is_an_integer(report: Report) -> None:
    points: list[Point] = to_points(report)
    for point in points:
        line = point.to_line_protocol()
        fields = line.split(" ")[-2].split(",")
        assert not any(field.endswith("i") for field in fields)


SECRET = "s3cret-of-the-test"  # noqa: S105
BATCH = Batch(b"health,flow=a health=0 1", 1)


def at(url: str) -> InfluxDbAccess:
    return token_access(url=url, org="efd", bucket="mirrorwatch", token=SECRET)


def send_batch(url: str, seconds: float = 60) -> None:
    write(at(url), BATCH, seconds)


def test_a_server_that_never_answers_is_given_up_in_time() -> None:
    with answering(Answer(never=True)) as server:
        began = time.monotonic()
        with pytest.raises(SinkError, match="no answer in time"):
            send_batch(server.url, seconds=0.2)
        assert 0.2 <= time.monotonic() - began < 60
        assert len(server.asked) == 1


def test_a_server_that_is_not_there_is_said_to_be_out_of_reach() -> None:
    with answering(Answer()) as server:
        url = server.url
    with pytest.raises(SinkError, match="cannot connect") as caught:
        send_batch(url)
    assert not isinstance(caught.value, SinkRejectedError)
    assert url in str(caught.value)


def test_an_address_that_speaks_no_tls_is_said_so() -> None:
    with (
        answering(Answer()) as server,
        pytest.raises(SinkError, match="cannot be reached over TLS"),
    ):
        send_batch(server.url.replace("http:", "https:"))


def test_the_secret_never_follows_a_redirect() -> None:
    with answering(Answer()) as elsewhere:
        moved = Answer(307, headers={"Location": elsewhere.url})
        with (
            answering(moved) as server,
            pytest.raises(SinkError, match="answered 307"),
        ):
            send_batch(server.url)
        assert elsewhere.asked == []


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, SinkRejectedError),
        (413, SinkRejectedError),
        (422, SinkRejectedError),
        (401, SinkError),
        (403, SinkError),
        (404, SinkError),
        (429, SinkError),
        (500, SinkError),
        (503, SinkError),
    ],
)
@pytest.mark.parametrize(
    "body", [b'{"error": "no"}', b'{"code": "invalid", "message": "no"}']
)
def test_only_data_that_is_refused_for_good_is_given_up(
    status: int, kind: type[SinkError], body: bytes
) -> None:
    with (
        answering(Answer(status, body)) as server,
        pytest.raises(SinkError, match=f"answered {status}.*: no$") as caught,
    ):
        send_batch(server.url)
    assert type(caught.value) is kind


@pytest.mark.parametrize(
    ("status", "headers", "busy"),
    [
        (429, {}, True),
        (503, {}, True),
        (500, {"Retry-After": "1"}, True),
        (500, {}, False),
        (404, {}, False),
    ],
)
def test_a_server_that_is_busy_is_told_from_one_that_fails(
    status: int, headers: dict[str, str], *, busy: bool
) -> None:
    with (
        answering(Answer(status, headers=headers)) as server,
        pytest.raises(SinkError) as caught,
    ):
        send_batch(server.url)
    assert caught.value.busy is busy


PROXIES = [
    b"<html><h1>400 Bad Request</h1>nginx</html>",
    b'{"message": "Bad Request"}',  # AWS API Gateway, Kong
    b'{"code": 400, "message": "no"}',
    b'{"code": "internal error", "message": "x"}',
    b"[" * 10**5,
    b'["error"]',
    "Übertragung zurückgewiesen".encode("latin-1"),
    b"",
]


@pytest.mark.slow
@pytest.mark.parametrize("body", PROXIES, ids=range(len(PROXIES)))
@pytest.mark.parametrize("status", [200, 201, 202, 302, 400, 413, 422, 503])
def test_what_a_proxy_says_refuses_no_point(status: int, body: bytes) -> None:
    with (
        answering(Answer(status, body)) as server,
        pytest.raises(SinkError, match=f"answered {status}") as caught,
    ):
        send_batch(server.url)
    assert type(caught.value) is SinkError


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7),
        ("0", 0),
        ("Fri, 02 Jan 1970 00:00:00 GMT", 0),
        ("soon", None),
        ("9" * 30, None),
        ("9" * 5000, None),
        ("-5", None),
        ("Fri, 31 Dec 9999 23:59:59 -0000", None),
        (None, None),
    ],
)
def test_a_server_that_asks_to_be_left_alone_is_heard(
    header: str | None, seconds: int | None
) -> None:
    headers = {} if header is None else {"Retry-After": header}
    with (
        answering(Answer(503, headers=headers)) as server,
        pytest.raises(SinkError) as caught,
    ):
        send_batch(server.url)
    asked = caught.value.retry_after
    assert asked == (None if seconds is None else timedelta(seconds=seconds))


def test_the_configured_authority_is_trusted_and_no_other(
    tmp_path: Path,
) -> None:
    ca = tmp_path / "ca.pem"
    with answering(Answer(), tls=certified(ca)) as server:
        trusting = replace(at(server.url), ca=ca)
        write(trusting, BATCH)
        with pytest.raises(SinkError, match="cannot be reached over TLS"):
            send_batch(server.url)


def test_an_authority_that_cannot_be_read_is_said_at_the_start(
    tmp_path: Path,
) -> None:
    access = replace(at("https://influxdb"), ca=tmp_path / "no.pem")
    with pytest.raises(ConfigError, match=r"sinks\.influxdb\.ca .*no\.pem"):
        InfluxDbOutlet(access)


def test_a_server_that_echoes_the_secret_cannot_make_it_seen() -> None:
    body = f"bad token {SECRET}\n {'x' * 1000}".encode()
    with (
        answering(Answer(401, body)) as server,
        pytest.raises(SinkError) as caught,
    ):
        send_batch(server.url)
    assert SECRET not in str(caught.value)
    assert "bad token *** xxx" in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_password_alone_is_not_shown_either() -> None:
    with answering(Answer(401, f"no: {SECRET}".encode())) as server:
        access = password_access(
            url=server.url, database="efd", username="me", password=SECRET
        )
        with pytest.raises(SinkError) as caught:
            write(access, BATCH)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\x00"])
def test_a_secret_that_no_header_can_carry_is_refused_unseen(
    end: str,
) -> None:
    with pytest.raises(ConfigError, match="line break") as caught:
        token_access(url="http://x", org="o", bucket="b", token=SECRET + end)
    assert SECRET not in str(caught.value)


def test_a_secret_in_the_address_is_refused_unseen() -> None:
    with pytest.raises(ConfigError, match="own keys") as caught:
        at(f"http://me:{SECRET}@influxdb:8086")
    assert SECRET not in str(caught.value)


def test_a_server_without_users_is_asked_without_credentials() -> None:
    access = password_access(url="http://influxdb:8086", database="efd")
    assert (access.secret, access.basic, access.bucket) == ("", False, "efd/")


def test_a_batch_counts_its_points() -> None:
    batch = to_batch(a_full_report())
    points = to_points(a_full_report())
    assert batch.points == len(batch.body.splitlines()) == len(points)
