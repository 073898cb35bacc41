"""Of a batch with bad points, only these are lost."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from mirrorwatch.exceptions import SinkError, SinkRejectedError
from mirrorwatch.sinks.queue import Batch
from mirrorwatch.sinks.queued import MOST_SPLITS, split_and_retry
from tests.support.isolation import Bench
from tests.support.outlets import FakeOutlet

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
    refused = split_and_retry(outlet, a_batch(size), SECOND)
    lost = sum(refusal.points for refusal in refused)
    taken = set(outlet.sent)
    assert len(taken) + lost == size
    assert not taken & outlet.bad
    if len(outlet.bad) <= 8:  # each is found by 8 splits
        assert lost == len(outlet.bad)
    assert len(outlet.requests) <= 1 + 2 * MOST_SPLITS


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
    refused = split_and_retry(outlet, a_batch(5000), SECOND)
    assert sum(refusal.points for refusal in refused) == 5000
    assert len(outlet.requests) == 1 + 2 * MOST_SPLITS


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
