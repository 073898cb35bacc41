"""A sink that harms no other, and loses nothing without saying so."""

import time
from datetime import timedelta

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs
from structlog.typing import EventDict

from mirrorwatch.exceptions import SinkError, SinkRejectedError
from mirrorwatch.sinks.backlog import Backlog
from mirrorwatch.sinks.batch import Batch
from mirrorwatch.sinks.isolated import IsolatedSink
from tests.support.builders import NOON, a_report
from tests.support.isolation import Bench
from tests.support.outlets import FakeOutlet, HangingOutlet, stepping

AWAY = SinkError("cannot connect", sink="fake")
REFUSED = SinkRejectedError("wrong type", sink="fake")


def events(logs: list[EventDict]) -> list[tuple[str, str]]:
    return [(entry["log_level"], entry["event"]) for entry in logs]


def test_reports_arrive_in_order() -> None:
    bench = Bench()
    bench.publish(3)
    for _ in range(3):
        bench.step()
    assert bench.outlet.sent == ["00", "01", "02"]
    assert bench.sink.spooled_points == 0


def test_nothing_is_known_of_the_server_before_the_first_try() -> None:
    bench = Bench()
    bench.publish(2)
    seen = [bench.sink.up]
    for error in (None, AWAY):
        bench.outlet.error = error
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
    bench.step()
    bench.step()
    assert bench.outlet.sent == ["00", "01"]
    assert (bench.sink.spooled_points, bench.sink.lost_points) == (0, 0)


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


def test_the_oldest_go_when_there_is_no_room_and_are_counted() -> None:
    bench = Bench(limit=2, points=5)
    with capture_logs() as logs:
        bench.publish(5)
    assert (bench.sink.spooled_points, bench.sink.lost_points) == (10, 15)
    assert events(logs) == [
        ("warning", "Backlog full, the oldest points are lost")
    ]
    bench.step()
    bench.step()
    assert bench.outlet.sent == ["03", "04"]


def test_a_batch_under_way_is_lost_once_if_its_room_was_taken() -> None:
    class Meanwhile(FakeOutlet):
        def send(self, batch: Batch, timeout: timedelta) -> None:
            sink.publish(a_report())  # the tick goes on
            raise AWAY

    sink = IsolatedSink(
        Meanwhile(), backlog=Backlog(1), logger=structlog.get_logger()
    )
    sink.publish(a_report())
    sink.step()
    assert (sink.spooled_points, sink.lost_points) == (1, 1)


def test_refused_data_is_given_up_and_does_not_block_the_next() -> None:
    bench = Bench(points=5)
    bench.publish(3)
    bench.outlet.error = REFUSED
    bench.step()
    bench.outlet.error = SinkRejectedError("1 old", sink="fake", points=1)
    bench.sink.step()  # at once: the server is there
    bench.outlet.error = None
    bench.sink.step()
    assert bench.outlet.sent == ["02"]
    assert bench.sink.lost_points == 5 + 1


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
        bench.step()
        bench.step()
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
    bench.publish(2)
    bench.outlet.error = RuntimeError("bug")
    with pytest.raises(RuntimeError):
        bench.step()
    bench.outlet.error = None
    bench.step()
    assert bench.outlet.sent == ["01"]
    assert (bench.sink.spooled_points, bench.sink.lost_points) == (0, 2)


def test_closing_sends_what_waits() -> None:
    bench = Bench()
    bench.outlet.error = AWAY
    bench.publish(2)
    bench.step()
    bench.outlet.error = None
    bench.sink.close()  # in the midst of a pause
    bench.sink.close()
    assert bench.outlet.sent == ["00", "01"]
    assert bench.outlet.closed == 1
    assert bench.sink.lost_points == 0
    assert bench.outlet.timeouts[-1] <= timedelta(seconds=5)


def test_what_cannot_be_sent_at_the_end_is_counted_and_told() -> None:
    bench = Bench(points=3)
    bench.outlet.error = AWAY
    bench.publish(2)
    with capture_logs() as logs:
        bench.sink.close()
    assert len(bench.outlet.timeouts) == 1
    assert bench.sink.lost_points == 6
    assert events(logs)[-1] == ("warning", "Gave up points at the end")
    bench.publish()
    assert bench.sink.lost_points == 9


def test_a_server_that_hangs_delays_neither_ticks_nor_the_end() -> None:
    outlet = HangingOutlet()
    sink = IsolatedSink(
        outlet,
        flush_timeout=timedelta(milliseconds=200),
        logger=structlog.get_logger(),
    )
    with stepping(sink):
        sink.publish(a_report())
        assert outlet.entered.wait(10)
        started = time.monotonic()
        for second in range(100):
            sink.publish(a_report(NOON + timedelta(seconds=second)))
        published = time.monotonic()
        waiting = sink.spooled_points
        sink.close()
        closed = time.monotonic()
        outlet.release.set()
    assert published - started < 0.5
    assert 0.2 <= closed - published < 2
    assert waiting == 1 + 100  # the one under way is not forgotten
    assert sink.lost_points == 100


@given(
    st.lists(
        st.sampled_from(["publish", "sends", "away", "refuses", "bug"]),
        max_size=40,
    ),
    st.integers(1, 4),
)
def test_every_point_is_sent_or_lost_or_waits(
    steps: list[str], limit: int
) -> None:
    bench = Bench(limit=limit)
    errors = {"away": AWAY, "refuses": REFUSED, "bug": RuntimeError("bug")}
    for step in steps:
        if step == "publish":
            bench.publish()
            continue
        bench.outlet.error = errors.get(step)
        if not bench.sink.spooled_points:
            continue  # a step would wait for work in real time
        if step == "bug":
            with pytest.raises(RuntimeError):
                bench.step()
        else:
            bench.step()
        sink = bench.sink
        settled = len(bench.outlet.sent) + sink.lost_points
        assert settled + sink.spooled_points == bench.published
    assert bench.outlet.sent == sorted(set(bench.outlet.sent))
    bench.outlet.error = None
    bench.sink.close()
    settled = len(bench.outlet.sent) + bench.sink.lost_points
    assert settled == bench.published
