"""A sink that harms no other, and loses nothing without saying so."""

import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs
from structlog.typing import EventDict

from mirrorwatch.exceptions import SinkError, SinkRejectedError
from mirrorwatch.sinks.queued import (
    LEAST_POINTS,
    LONGEST_ASKED,
    MOST_POINTS,
    MOST_SPLITS,
    QUICK,
    Backoff,
    BatchSize,
    QueuedSink,
    split_and_retry,
)
from mirrorwatch.state import Database
from mirrorwatch.state.queue import (
    MOST_TRIES,
    Batch,
    DeliveryQueue,
    DurableQueue,
)
from tests.support.builders import NOON, a_report
from tests.support.isolation import Bench, FakeClock
from tests.support.sink_process import FakeOutlet, HangingOutlet, stepping

AWAY = SinkError("cannot connect", sink="fake")


def events(logs: list[EventDict]) -> list[tuple[str, str]]:
    return [(entry["log_level"], entry["event"]) for entry in logs]


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


def test_a_crash_keeps_its_batch_until_it_crashed_too_often() -> None:
    bench = Bench(points=2)
    bench.publish()
    bench.outlet.error = RuntimeError("bug")
    for _ in range(MOST_TRIES - 1):
        with pytest.raises(RuntimeError):
            bench.step()
        assert (bench.sink.spooled_points, bench.sink.lost_points) == (2, 0)
    bench.publish()
    with pytest.raises(RuntimeError), capture_logs() as logs:
        bench.step()
    assert events(logs) == [("error", "Points skipped, as only they fail")]
    bench.outlet.error = None
    bench.drain()
    assert bench.outlet.sent[0][:4] in {"0000", "0001"}
    assert (bench.sink.spooled_points, bench.sink.lost_points) == (0, 2)


def test_a_crash_that_ends_loses_nothing() -> None:
    bench = Bench()
    bench.publish()
    bench.outlet.error = UnicodeDecodeError("utf-8", b"\xe4", 0, 1, "Latin-1")
    with pytest.raises(UnicodeDecodeError):
        bench.step()
    bench.outlet.error = None
    bench.drain()
    assert bench.outlet.sent == ["0000"]
    assert bench.sink.lost_points == 0


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
    durable = DurableQueue(database, "fake", most_bytes=10**6)
    sink = QueuedSink(
        outlet,
        encode=outlet.encode,
        queue=DeliveryQueue(durable),
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
    assert (durable.points, sink.lost_points) == (101, 0)
    database.close()


JITTER = st.floats(0, 1, exclude_max=True)


def always(value: float) -> Callable[[], float]:
    return lambda: value


def test_pauses_double_up_to_a_limit_and_vary() -> None:
    clock = FakeClock()
    for share in (0.5, 1.0):
        backoff = Backoff(clock=clock, jitter=always(share * 2 - 1))
        assert backoff.remaining_seconds == 0
        pauses = []
        for _ in range(7):
            backoff.fail()
            pauses.append(backoff.remaining_seconds / share)
        assert pauses == [1, 2, 4, 8, 16, 30, 30]
        backoff.succeed()
        assert backoff.remaining_seconds == 0


@given(st.lists(JITTER, min_size=1, max_size=50))
def test_a_pause_is_never_longer_than_half_a_minute(
    jitters: list[float],
) -> None:
    clock, rest = FakeClock(), iter(jitters)
    backoff = Backoff(clock=clock, jitter=lambda: next(rest))
    for count in range(len(jitters)):
        backoff.fail()
        full = min(2**count, 30)
        assert full / 2 <= backoff.remaining_seconds + 1e-6
        assert backoff.remaining_seconds <= full


@given(JITTER, st.integers(0, 10**6), st.integers(1, 10))
def test_what_the_server_asks_for_is_granted_within_reason(
    jitter: float, asked_seconds: int, failures: int
) -> None:
    backoff = Backoff(clock=FakeClock(), jitter=always(jitter))
    for _ in range(failures):
        backoff.fail(timedelta(seconds=asked_seconds))
    granted = min(asked_seconds, LONGEST_ASKED.total_seconds())
    pause = backoff.remaining_seconds + 1e-6
    assert granted <= pause <= max(granted + 1, 30) + 1e-3


@given(
    st.lists(
        st.none()
        | st.tuples(
            st.integers(1, 10_000),
            st.timedeltas(timedelta(), timedelta(seconds=10)),
        )
    )
)
def test_the_pace_stays_within_its_bounds(
    requests: list[tuple[int, timedelta] | None],
) -> None:
    pace = BatchSize()
    for request in requests:
        before = pace.points
        if request is None:
            pace.fail()
            assert pace.points == LEAST_POINTS
            continue
        pace.adapt(*request)
        assert LEAST_POINTS <= pace.points <= MOST_POINTS
        if request[1] > QUICK:
            assert pace.points <= before
        else:
            assert pace.points >= before


def test_a_quick_request_with_few_points_proves_nothing() -> None:
    pace = BatchSize()
    pace.adapt(LEAST_POINTS, timedelta())
    pace.adapt(1, timedelta())
    assert pace.points == 2 * LEAST_POINTS


SECOND = timedelta(seconds=1)


def a_batch(size: int) -> Batch:
    lines = [f"{n:04}" for n in range(size)]
    return Batch("\n".join(lines).encode(), size)


@given(st.integers(1, 200), st.sets(st.integers(0, 199)), st.booleans())
def test_all_good_points_are_taken_and_all_bad_ones_counted(
    size: int, bad: set[int], strict: bool
) -> None:
    outlet = FakeOutlet()
    outlet.strict = strict
    outlet.bad = {f"{n:04}" for n in bad if n < size}
    try:
        refused = split_and_retry(outlet, a_batch(size), SECOND)
    except SinkRejectedError:
        raise
    except SinkError:  # it took nothing of so many
        assert strict
        assert len(outlet.bad) > MOST_SPLITS / 2
        return
    lost = sum(refusal.points for refusal in refused)
    taken = set(outlet.sent)
    assert len(taken) + lost == size
    assert not taken & outlet.bad
    assert lost == len(outlet.bad)
    assert len(outlet.requests) <= 2 * size


@pytest.mark.parametrize("strict", [True, False])
def test_the_bad_point_is_named(strict: bool) -> None:
    outlet = FakeOutlet()
    outlet.strict = strict
    outlet.bad = {"0777"}
    (refusal,) = split_and_retry(outlet, a_batch(5000), SECOND)
    assert (refusal.points, refusal.name) == (1, "0777")
    assert len(outlet.requests) < 30


def test_a_batch_that_is_refused_as_a_whole_is_not_taken_apart() -> None:
    """As one that is older than the retention policy keeps."""
    outlet = FakeOutlet()
    outlet.bad = {f"{n:04}" for n in range(5000)}
    (refusal,) = split_and_retry(outlet, a_batch(5000), SECOND)
    assert (refusal.points, refusal.name) == (5000, "0000")
    assert outlet.requests == [5000]


def test_a_server_that_refuses_whatever_it_gets_is_left_alone() -> None:
    outlet = FakeOutlet()
    outlet.strict = True
    outlet.bad = {f"{n:04}" for n in range(5000)}
    with pytest.raises(SinkError) as caught:
        split_and_retry(outlet, a_batch(5000), SECOND)
    assert not isinstance(caught.value, SinkRejectedError)  # it is kept
    assert len(outlet.requests) <= 1 + 2 * MOST_SPLITS


def test_a_server_that_goes_away_meanwhile_gets_all_of_it_again() -> None:
    class GoesAway(FakeOutlet):
        def send(self, batch: Batch, timeout: timedelta) -> None:
            if self.requests:
                self.error = SinkError("cannot connect", sink=self.name)
            super().send(batch, timeout)

    outlet = GoesAway()
    outlet.bad = {"0003"}
    with pytest.raises(SinkError) as caught:
        split_and_retry(outlet, a_batch(10), SECOND)
    assert not isinstance(caught.value, SinkRejectedError)


def test_a_bad_point_of_every_tick_is_named_once_and_all_are_counted() -> None:
    bench = Bench(points=3)
    with capture_logs() as logs:
        for tick in range(3):
            bench.outlet.bad.add(f"{tick:04}.1")
            bench.publish()
            bench.step()
            assert bench.sink.up is True
    names = [log["first"] for log in logs]
    assert names == ["0000.1", "0001.1", "0002.1"]  # three points of a name
    assert all(log["event"] == "Points refused for good" for log in logs)
    assert bench.sink.lost_points == 3
    assert len(set(bench.outlet.sent)) == 6


def test_a_server_that_refuses_everything_is_not_up_but_not_away() -> None:
    bench = Bench(points=3)
    for tick in range(2):
        bench.outlet.bad |= {f"{tick:04}", f"{tick:04}.1", f"{tick:04}.2"}
        bench.publish()
        bench.sink.step()  # at once: there is no pause
        assert bench.sink.up is False
    assert bench.sink.lost_points == 6
    bench.publish()
    bench.sink.step()
    assert bench.sink.up is True


TICK = 5.0


class Limited(FakeOutlet):
    """Takes one request in a time, and may say when the next one may come."""

    def __init__(self, seconds: float, *, says_when: bool = True) -> None:
        super().__init__(points=150)  # of a tick, as a small site has
        self.seconds = seconds
        self.says_when = says_when
        self.now: Callable[[], float] = lambda: 0.0
        self.free_at = 0.0
        self.poison = ""

    def send(self, batch: Batch, timeout: timedelta) -> None:
        left = self.free_at - self.now()
        if left > 0:
            asked = timedelta(seconds=left) if self.says_when else None
            raise SinkError(
                "429",
                sink=self.name,
                retry_after=asked,
                busy=not self.says_when,
            )
        self.free_at = self.now() + self.seconds
        if self.poison in batch.body.decode().split("\n"):
            raise SinkError("500", sink=self.name)
        super().send(batch, timeout)


def a_limited_bench(outlet: Limited) -> Bench:
    """Return a bench whose server is back after an outage of five minutes."""
    bench = Bench(limit=10**5, outlet=outlet)
    outlet.now = bench.clock
    outlet.error = AWAY
    bench.publish(60)
    bench.sink.step()
    outlet.error = None
    bench.clock.now += 60
    return bench


def tick(bench: Bench, ticks: int) -> None:
    """Publish every 5 s, and send what waits as soon as the sink may."""
    for _ in range(ticks):
        bench.publish()
        end = bench.clock.now + TICK
        while bench.sink.spooled_points:
            due = bench.clock.now + bench.backoff.remaining_seconds
            if due >= end:
                break
            bench.clock.now = due
            bench.sink.step()
            bench.clock.now += 0.02
        bench.clock.now = max(bench.clock.now, end)


@pytest.mark.parametrize("seconds", [0.3, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("says_when", [True, False])
def test_a_server_that_limits_requests_loses_nothing(
    seconds: float, *, says_when: bool
) -> None:
    bench = a_limited_bench(Limited(seconds, says_when=says_when))
    tick(bench, 200)
    assert bench.sink.spooled_points == 0
    assert bench.sink.lost_points == 0


def test_a_server_that_takes_few_requests_gets_large_ones() -> None:
    bench = a_limited_bench(Limited(30))
    tick(bench, 200)
    waiting = bench.sink.spooled_points / bench.outlet.points
    assert waiting <= 2 * 30 / TICK
    assert bench.sink.lost_points == 0


def test_a_bad_batch_is_skipped_where_requests_are_limited() -> None:
    outlet = Limited(2)
    outlet.poison = "0007.3"
    bench = a_limited_bench(outlet)
    tick(bench, 200)
    assert bench.sink.spooled_points == 0
    assert bench.sink.lost_points == outlet.points
    assert len(set(outlet.sent)) == (bench.published - 1) * outlet.points


def test_a_refused_point_blocks_nothing_where_requests_are_limited() -> None:
    outlet = Limited(2)
    outlet.strict, outlet.bad = True, {"0007.3"}
    bench = a_limited_bench(outlet)
    tick(bench, 200)
    assert bench.sink.spooled_points == 0
    assert bench.sink.lost_points == outlet.points


def test_a_server_that_is_busy_with_one_batch_takes_the_newest() -> None:
    class Busy(FakeOutlet):
        def send(self, batch: Batch, timeout: timedelta) -> None:
            if "0001" in batch.body.decode().split("\n"):
                raise SinkError("503", sink=self.name, busy=True)
            super().send(batch, timeout)

    bench = Bench(outlet=Busy())
    for _ in range(400):
        bench.publish()
        bench.step()
    assert bench.sink.lost_points == 0
    newest = NOON + timedelta(seconds=400 - 2 * MOST_TRIES)
    assert bench.outlet.sent[-1] > f"{newest:%M%S}"


def test_a_limit_on_size_gets_small_requests_again() -> None:
    class Narrow(FakeOutlet):
        def send(self, batch: Batch, timeout: timedelta) -> None:
            if batch.points > 500:
                raise SinkError("429", sink=self.name, busy=True)
            super().send(batch, timeout)

    bench = Bench(limit=10**5, outlet=Narrow(points=100))
    bench.outlet.error = AWAY
    bench.publish(50)
    bench.step()
    bench.outlet.error = None
    bench.drain()
    assert len(bench.outlet.sent) == 50 * 100
    assert bench.sink.lost_points == 0


def test_in_order_a_server_that_asks_to_be_left_alone_is() -> None:
    class Refusing(FakeOutlet):
        def send(self, batch: Batch, timeout: timedelta) -> None:
            if batch.points > 1:
                raise SinkRejectedError("bad point", sink=self.name)
            asked = timedelta(seconds=100)
            raise SinkError("429", sink=self.name, retry_after=asked)

    bench = Bench(outlet=Refusing(points=2), in_order=True)
    bench.publish(3)
    for _ in range(2 * MOST_TRIES):
        bench.step()
        assert bench.backoff.remaining_seconds >= 100


def test_who_asked_to_be_left_alone_is_after_a_success_too() -> None:
    clock = FakeClock()
    backoff = Backoff(clock=clock, jitter=always(0.5))
    for asked, granted in [(2, 2), (600, 30)]:
        backoff.fail(timedelta(seconds=asked))
        clock.now += 1000
        backoff.succeed()
        assert backoff.remaining_seconds == granted
        clock.now += 1000
        backoff.succeed()
        assert backoff.remaining_seconds == 0
