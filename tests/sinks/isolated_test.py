"""A sink that harms no other, and loses nothing without saying so."""

import time
from datetime import timedelta
from pathlib import Path

import pytest
import structlog
from structlog.testing import capture_logs
from structlog.typing import EventDict

from mirrorwatch.exceptions import SinkError
from mirrorwatch.sinks.queue import PointQueue, Spool
from mirrorwatch.sinks.queued import QueuedSink
from mirrorwatch.state import Database
from tests.support.builders import NOON, a_report
from tests.support.isolation import Bench
from tests.support.outlets import HangingOutlet, stepping

AWAY = SinkError("cannot connect", sink="fake")


def events(logs: list[EventDict]) -> list[tuple[str, str]]:
    return [(entry["log_level"], entry["event"]) for entry in logs]


def test_reports_arrive_in_order() -> None:
    bench = Bench()
    for _ in range(3):
        bench.publish()
        bench.step()
    assert bench.outlet.sent == ["0000", "0001", "0002"]
    assert bench.sink.spooled_points == 0


def test_nothing_is_known_of_the_server_before_the_first_try() -> None:
    bench = Bench()
    bench.publish(2)
    seen = [bench.sink.up]
    for error in (None, AWAY):
        bench.outlet.error = error
        bench.publish()
        bench.step()
        seen.append(bench.sink.up)
    assert seen == [None, True, False]


def test_reports_wait_while_the_server_is_away() -> None:
    bench = Bench(points=4)
    bench.outlet.error = AWAY
    bench.publish(2)
    bench.step()
    bench.step()
    assert bench.sink.spooled_points == 8
    bench.outlet.error = None
    bench.drain()
    assert [point[:4] for point in bench.outlet.sent[::4]] == ["0000", "0001"]
    assert (bench.sink.spooled_points, bench.sink.lost_points) == (0, 0)


def test_fresh_points_are_written_while_the_past_is_drained() -> None:
    bench = Bench(points=100)
    bench.outlet.error = AWAY
    bench.publish(20)
    bench.step()
    bench.outlet.error = None
    bench.step()
    for tick in range(20, 23):
        bench.publish()
        bench.step()
        assert bench.outlet.sent[-1] == f"00{tick}.99"
        assert bench.sink.spooled_points > 0
        bench.step()
    bench.drain()
    spooled = [p for p in bench.outlet.sent[::100] if p < "0020"]
    assert spooled == [f"{tick:04}" for tick in range(20)]


def test_the_past_is_sent_in_growing_pieces() -> None:
    bench = Bench(points=100)
    bench.outlet.error = AWAY
    bench.publish(200)
    bench.step()
    bench.outlet.error = None
    bench.outlet.requests.clear()
    bench.drain()
    sizes = bench.outlet.requests
    assert sizes[:6] == [100, 200, 400, 800, 1600, 3200]
    bench.outlet.error = AWAY
    bench.publish(20)
    bench.step()
    bench.outlet.error = None
    bench.step()
    assert sizes[-1] == 100  # with care again
    assert max(sizes) <= 5000
    assert len(sizes) < 16


def test_nothing_is_tried_in_a_pause() -> None:
    bench = Bench()
    bench.outlet.error = AWAY
    bench.publish()
    bench.step()
    bench.clock.now += 0.74  # the first pause is 1 s x (0.5 + 0.5 / 2)
    bench.sink.step()
    assert len(bench.outlet.timeouts) == 1
    bench.clock.now += 0.02
    bench.sink.step()
    assert len(bench.outlet.timeouts) == 2


def test_a_server_that_asks_to_be_left_alone_is() -> None:
    bench = Bench()
    bench.outlet.error = SinkError(
        "busy", sink="fake", retry_after=timedelta(seconds=100)
    )
    bench.publish()
    bench.step()
    bench.clock.now += 99.9
    bench.sink.step()
    assert len(bench.outlet.timeouts) == 1
    bench.clock.now += 1.1
    bench.sink.step()
    assert len(bench.outlet.timeouts) == 2


def test_trouble_is_told_once_and_its_end_too() -> None:
    bench = Bench()
    bench.outlet.error = AWAY
    bench.publish(2)
    with capture_logs() as logs:
        for _ in range(3):
            bench.step()
        for error in (SinkError("wrong token", sink="fake"), AWAY):
            bench.outlet.error = error
            bench.step()
        bench.outlet.error = None
        bench.publish()
        bench.drain()
    assert events(logs) == [
        ("warning", "Sink unavailable"),
        ("warning", "Sink unavailable"),
        ("info", "Sink available again"),
    ]
    assert [log.get("error") for log in logs] == [
        "cannot connect",
        "wrong token",
        None,
    ]
    assert all(log["sink"] == "fake" for log in logs)


def test_a_bug_loses_its_own_batch_only() -> None:
    bench = Bench(points=2)
    bench.publish()
    bench.outlet.error = RuntimeError("bug")
    with pytest.raises(RuntimeError):
        bench.step()
    bench.outlet.error = None
    bench.publish()
    bench.step()
    assert bench.outlet.sent == ["0001", "0001.1"]
    assert (bench.sink.spooled_points, bench.sink.lost_points) == (0, 2)


def test_closing_sends_what_waits() -> None:
    bench = Bench()
    bench.outlet.error = AWAY
    bench.publish(2)
    bench.step()
    bench.outlet.error = None
    bench.sink.close()  # in the midst of a pause
    bench.sink.close()
    assert bench.outlet.sent == ["0000", "0001"]
    assert bench.outlet.closed == 1
    assert bench.sink.lost_points == 0
    assert bench.outlet.timeouts[-1] <= timedelta(seconds=5)


def test_what_cannot_be_sent_at_the_end_stays_in_the_spool(
    tmp_path: Path,
) -> None:
    bench = Bench(points=3, path=tmp_path / "state.db")
    bench.outlet.error = AWAY
    bench.publish(2)
    with capture_logs() as logs:
        bench.sink.close()
    assert len(bench.outlet.timeouts) == 1
    assert bench.sink.lost_points == 0
    assert events(logs) == [("info", "Points stay in the spool")]
    assert logs[0]["points"] == 6
    bench.publish()  # nobody would ever send it
    assert bench.sink.lost_points == 3
    bench.database.close()


def test_what_waits_in_memory_at_the_end_is_lost_and_said() -> None:
    """As of `mirrorwatch once`, which keeps its books in memory."""
    bench = Bench(points=3)
    bench.outlet.error = AWAY
    bench.publish(2)
    with capture_logs() as logs:
        bench.sink.close()
    assert bench.sink.lost_points == 6
    assert events(logs) == [("error", "Points lost at the end")]
    assert logs[0]["points"] == 6


def test_a_server_that_hangs_delays_neither_ticks_nor_the_end(
    tmp_path: Path,
) -> None:
    outlet = HangingOutlet()
    database = Database(tmp_path / "state.db")
    spool = Spool(database, "fake", limit_bytes=10**6)
    sink = QueuedSink(
        outlet,
        backlog=PointQueue(spool),
        flush_timeout=timedelta(milliseconds=200),
        logger=structlog.get_logger(),
    )
    with stepping(sink):
        sink.publish(a_report())
        assert outlet.entered.wait(120)
        started = time.monotonic()
        for second in range(100):
            sink.publish(a_report(NOON + timedelta(seconds=second)))
        published = time.monotonic()
        waiting = sink.spooled_points
        sink.close()
        closed = time.monotonic()
        outlet.release.set()
    # The server hangs for ever: whoever waited for it would still wait.
    assert published - started < 60
    assert 0.2 <= closed - published < 60
    assert waiting == 1 + 100  # the one under way is not forgotten
    assert (spool.points, sink.lost_points) == (101, 0)
    database.close()
