"""Writing to real InfluxDB servers, both versions."""

import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
import structlog
from structlog.testing import capture_logs

from mirrorwatch.exceptions import SinkError, SinkRejectedError
from mirrorwatch.sinks.influxdb import InfluxDbOutlet, to_batch
from mirrorwatch.sinks.prometheus import PrometheusSink
from mirrorwatch.sinks.queued import Backoff, QueuedSink, split_and_retry
from mirrorwatch.state import Database
from mirrorwatch.state.queue import Batch, DeliveryQueue, DurableQueue
from tests.support.builders import NOON, a_report
from tests.support.full_report import a_full_report
from tests.support.influx import InfluxServer, write
from tests.support.series import (
    influx_series,
    prometheus_series,
    without_events,
)
from tests.support.sink_process import stepping

pytestmark = pytest.mark.influx

PATIENCE = timedelta(seconds=60)


def send(server: InfluxServer, lines: str) -> None:
    write(server.access(), Batch(lines.encode(), len(lines.splitlines())))


def wait_until(holds: Callable[[], bool], seconds: float = 240) -> None:
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not holds():
        assert time.monotonic() < deadline, "it never came true"
        pause.wait(0.02)


def test_influxdb_and_prometheus_hold_the_same_figures(
    influx: InfluxServer,
) -> None:
    report = a_full_report(datetime(2026, 1, 2, 3, 4, 5, 678901, UTC))
    prometheus = PrometheusSink()
    prometheus.publish(report)
    write(influx.access(), to_batch(report))

    text = prometheus.exposition()[0].decode()
    scraped = without_events(prometheus_series(text))
    written = influx_series(influx.select_all(), report.at)
    assert written.keys() == scraped.keys()
    assert written == pytest.approx(scraped, rel=1e-12)
    assert len(written) > 100


def test_sending_a_batch_twice_changes_nothing(influx: InfluxServer) -> None:
    batch = to_batch(a_full_report())
    write(influx.access(), batch)
    once = influx.select_all()
    write(influx.access(), batch)
    assert influx.select_all() == once


def test_nothing_is_lost_when_the_server_is_killed_and_comes_back(
    influx: InfluxServer,
) -> None:
    prometheus = PrometheusSink()
    durable = DurableQueue(Database(None), "influxdb", most_bytes=10**6)
    sink = QueuedSink(
        InfluxDbOutlet(influx.access()),
        encode=to_batch,
        queue=DeliveryQueue(durable),
        backoff=Backoff(jitter=lambda: 0.0),
        logger=structlog.get_logger(),
    )
    times = [NOON + timedelta(seconds=5 * n) for n in range(60)]
    took: list[float] = []

    def tick(at: datetime) -> None:
        began = time.monotonic()
        sink.publish(a_report(at))
        prometheus.publish(a_report(at))
        took.append(time.monotonic() - began)

    with capture_logs() as logs, stepping(sink):
        for at in times[:20]:
            tick(at)
        wait_until(lambda: sink.up is True)
        influx.kill()
        for at in times[20:40]:
            tick(at)
        wait_until(lambda: sink.up is False)
        assert sink.spooled_points > 0
        assert last_tick(prometheus) == times[39].timestamp()
        influx.start()
        for at in times[40:]:
            tick(at)
        wait_until(lambda: sink.spooled_points == 0)

    sink.close()
    assert sink.lost_points == 0
    ticks = influx.select_all()["agent", ()]
    assert sorted(ticks) == [int(at.timestamp()) * 10**9 for at in times]
    # A tick that waited for a server would not be alone; one may be held up
    # by the machine.
    assert max(sorted(took)[:-3]) < 0.5
    # It may hang up on one batch and be out of reach for the next, and each
    # trouble is told once.
    *troubles, end = logs
    assert {log["event"] for log in troubles} == {"Sink unavailable"}
    errors = [log["error"] for log in troubles]
    assert all(a != b for a, b in pairwise(errors))
    assert len(errors) <= 6
    assert end["event"] == "Sink available again"


def last_tick(prometheus: PrometheusSink) -> float:
    series = prometheus_series(prometheus.exposition()[0].decode())
    return series["mirrorwatch_last_tick_timestamp_seconds", ()]


@pytest.mark.parametrize("secret", ["wrong-s3cret", "fälsch & long"])
def test_a_wrong_secret_says_what_to_mend_and_is_not_shown(
    influx: InfluxServer, secret: str
) -> None:
    access = influx.access(secret=secret)
    with pytest.raises(SinkError, match="answered 401 ") as caught:
        write(access, to_batch(a_report()))
    assert f"correct {access.login_keys}" in str(caught.value)
    shown = [
        *(str(e) for e in chain(caught.value)),
        *(repr(e) for e in chain(caught.value)),
        repr(access),
        str(caught.value.to_logging_context()),
    ]
    assert not any(secret in text for text in shown)


def chain(error: BaseException | None) -> list[BaseException]:
    return [] if error is None else [error, *chain(error.__cause__)]


def test_a_missing_place_says_what_to_create_or_mend(
    influx: InfluxServer,
) -> None:
    for bucket in ("nowhere", "mirrorwatch/nothing"):
        access = replace(influx.access(), bucket=bucket)
        with pytest.raises(SinkError, match=f"create '{bucket}', or correct"):
            write(access, to_batch(a_report()))


def test_one_point_of_a_wrong_type_does_not_take_the_others_along(
    influx: InfluxServer,
) -> None:
    send(influx, "health,flow=a health=0 1")
    with pytest.raises(SinkRejectedError, match="type") as caught:
        send(influx, 'health,flow=a health="x" 2\nhealth,flow=b health=1 2')
    assert caught.value.points == 1
    assert influx.select_all() == {
        ("health", (("flow", "a"),)): {1: {"health": 0}},
        ("health", (("flow", "b"),)): {2: {"health": 1}},
    }


def test_one_line_that_is_none_does_not_take_the_others_along(
    influx: InfluxServer,
) -> None:
    """2.x takes nothing of it; 1.8 does, and says that it dropped none."""
    good = [f"health,flow={n} health=0 1" for n in range(50)]
    lines = [*good[:20], "health,flow=bad", *good[20:]]
    batch = Batch("\n".join(lines).encode(), len(lines))
    with closing(InfluxDbOutlet(influx.access())) as outlet:
        (refusal,) = split_and_retry(outlet, batch, PATIENCE)
    assert (refusal.points, refusal.name) == (1, "health,flow=bad")
    assert "missing fields" in str(refusal.error)
    assert len(influx.select_all()) == len(good)


def test_a_point_of_a_wrong_type_is_named(influx: InfluxServer) -> None:
    send(influx, "health,flow=a health=0 1")
    lines = [f"health,flow=a health={n} {n}" for n in range(2, 200)]
    bad = 'health,flow=a health="x" 77'
    lines[75] = bad
    batch = Batch("\n".join(lines).encode(), len(lines))
    with closing(InfluxDbOutlet(influx.access())) as outlet:
        (refusal,) = split_and_retry(outlet, batch, PATIENCE)
    assert (refusal.points, refusal.name) == (1, bad)
    (rows,) = influx.select_all().values()
    assert len(rows) == 1 + len(lines) - 1


def test_what_is_no_line_protocol_is_refused_for_good(
    influx: InfluxServer,
) -> None:
    with pytest.raises(SinkRejectedError):
        send(influx, "health,flow=a")


def test_a_write_of_nothing_shows_login_and_bucket(
    influx: InfluxServer,
) -> None:
    """So `mirrorwatch doctor` asks what a write needs."""
    nothing, access = Batch(b"", 0), influx.access()
    write(access, nothing)
    secret = "nobody:wrong" if access.basic else "wrong"
    with pytest.raises(SinkError, match="401"):
        write(influx.access(secret=secret), nothing)
    other = "other/" if access.basic else "other"
    with pytest.raises(SinkError, match="404"):
        write(replace(access, bucket=other), nothing)
