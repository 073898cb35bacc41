"""What an isolated sink keeps in the state file, and what it does not."""

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from mirrorwatch.exceptions import SinkError
from mirrorwatch.state import Database
from mirrorwatch.state.queue import (
    MOST_TRIES,
    Batch,
    DurableQueue,
    Rows,
)
from tests.support.isolation import Bench, kept_bytes
from tests.support.sink_process import FakeOutlet

AWAY = SinkError("cannot connect", sink="fake")


def test_a_point_is_in_the_state_file_from_its_tick_until_it_is_sent(
    tmp_path: Path,
) -> None:
    path = tmp_path / "state.db"
    bench = Bench(path=path)
    for _ in range(3):
        bench.publish()
        assert bench.queue.fresh_points == 0
        with closing(sqlite3.connect(path)) as other:
            rows = other.execute("SELECT count(*) FROM queue").fetchone()
        assert rows == (1,)
        bench.step()
        assert bench.sink.spooled_points == 0
    assert len(bench.outlet.sent) == 3
    bench.database.close()


def test_what_is_taken_while_it_is_spooled_is_not_sent_again() -> None:
    bench = Bench()
    bench.publish()
    assert bench.queue.take(1) is not None
    bench.publish()  # slow, but not away
    assert bench.sink.spooled_points == 2
    bench.queue.done()
    assert bench.sink.spooled_points == 1
    bench.drain()
    assert bench.outlet.sent == ["0001"]


def test_while_the_server_is_away_each_tick_is_spooled_at_once() -> None:
    bench = Bench()
    bench.outlet.error = AWAY
    bench.publish()
    bench.step()
    for _ in range(3):
        bench.publish()
        assert bench.queue.fresh_points == 0
    assert bench.sink.spooled_points == 4


def test_a_new_agent_sends_what_one_that_was_killed_had_spooled(
    tmp_path: Path,
) -> None:
    killed = Bench(path=tmp_path / "state.db", points=2)
    killed.outlet.error = AWAY
    killed.publish()
    killed.step()
    killed.publish(4)
    killed.database.close()  # a kill would let go of the lock as well
    after = Bench(path=tmp_path / "state.db", points=2)
    assert after.sink.spooled_points == 10
    after.drain()
    after.database.close()
    assert after.outlet.sent == [
        point for n in range(5) for point in (f"{n:04}", f"{n:04}.1")
    ]


def test_what_was_sent_before_a_kill_is_sent_again_if_it_was_not_removed(
    tmp_path: Path,
) -> None:
    killed = Bench(path=tmp_path / "state.db")
    killed.outlet.error = AWAY
    killed.publish()
    killed.step()
    killed.outlet.error = None
    assert killed.queue.take(1) is not None  # sent, and killed here
    killed.database.close()
    after = Bench(path=tmp_path / "state.db")
    after.drain()
    after.database.close()
    assert after.outlet.sent == ["0000"]


def test_when_the_spool_is_full_the_oldest_go_counted_and_said() -> None:
    bench = Bench(limit=2)
    bench.outlet.error = AWAY
    bench.publish()
    bench.step()
    with capture_logs() as logs:
        bench.publish(4)
    assert (bench.sink.spooled_points, bench.sink.lost_points) == (2, 3)
    assert [(log["log_level"], log["event"]) for log in logs] == [
        ("error", "Spool full, the oldest points are lost")
    ]
    bench.outlet.error = None
    bench.drain()
    assert sorted(bench.outlet.sent) == ["0003", "0004"]


def test_what_is_under_way_is_never_dropped_so_never_counted_wrongly() -> None:
    bench = Bench(limit=2)
    bench.outlet.error = AWAY
    bench.publish()
    bench.step()
    bench.publish()
    taken = bench.queue.take(1)
    bench.publish(3)  # the tick goes on
    assert taken is not None
    assert taken.body == b"0001"  # after a failure, the newest is tried
    assert (bench.sink.spooled_points, bench.sink.lost_points) == (2, 3)
    bench.queue.done()
    assert (bench.sink.spooled_points, bench.sink.lost_points) == (1, 3)


def test_while_the_state_file_fails_points_wait_in_memory() -> None:
    bench = Bench(most_fresh=3)
    bench.outlet.error = AWAY
    bench.publish()
    bench.step()
    bench.database.broken = True
    with capture_logs() as logs:
        bench.publish(4)
    assert [log["event"] for log in logs] == [
        "Spool unavailable",
        "Spool full, the oldest points are lost",
    ]
    assert (bench.sink.spooled_points, bench.sink.lost_points) == (4, 1)
    bench.database.broken = False
    bench.publish()
    assert (bench.queue.fresh_points, bench.sink.spooled_points) == (0, 5)
    bench.outlet.error = None
    bench.drain()
    assert sorted(bench.outlet.sent) == [
        "0000",
        *["0002", "0003", "0004", "0005"],
    ]


def test_what_can_neither_be_sent_nor_spooled_at_the_end_is_told() -> None:
    bench = Bench(points=3)
    bench.outlet.error = AWAY
    bench.database.broken = True
    with capture_logs() as logs:
        bench.publish()
        bench.sink.close()
    assert [log["event"] for log in logs] == [
        "Spool unavailable",
        "Points lost at the end",
    ]
    assert bench.sink.lost_points == 3


@given(
    st.lists(
        st.sampled_from(["publish", "sends", "away", "bad", "bug"]),
        max_size=60,
    ),
    st.integers(1, 4),
    st.booleans(),
)
def test_every_point_is_sent_or_lost_or_waits(
    steps: list[str],
    limit: int,
    strict: bool,
) -> None:
    bench = Bench(limit=limit)
    bench.outlet.strict = strict
    errors = {"away": AWAY, "bug": RuntimeError("bug")}
    for step in steps:
        if step == "publish":
            bench.publish()
            continue
        bench.outlet.error = errors.get(step)
        if step == "bad":
            bench.outlet.bad.add(f"{bench.published - 1:04}")
        if not bench.sink.spooled_points:
            continue  # a step would wait for work in real time
        if step == "bug":
            with pytest.raises(RuntimeError):
                bench.step()
        else:
            bench.step()
        sink = bench.sink
        settled = len(set(bench.outlet.sent)) + sink.lost_points
        assert settled + sink.spooled_points == bench.published
        # One in memory, and one that was kept though it found no room.
        assert sink.spooled_points <= limit + 2
    bench.outlet.error = None
    bench.drain()
    bench.sink.close()
    settled = len(set(bench.outlet.sent)) + bench.sink.lost_points
    assert settled == bench.published
    bench.database.close()


BODIES = st.text("abcdefgh", min_size=1, max_size=40)


def a_batch(body: str) -> Batch:
    return Batch(body.encode(), len(body))


def drain(spool: DurableQueue, most_points: int) -> list[str]:
    bodies = []
    while (found := spool.oldest(most_points)) is not None:
        rows, batch = found
        bodies += batch.body.decode().split("\n")
        spool.remove(rows)
    return bodies


@given(
    st.lists(st.lists(BODIES, min_size=1, max_size=3), max_size=20),
    st.integers(20, 300),
    st.integers(1, 100),
)
def test_what_is_kept_is_the_newest_within_the_limit_in_order(
    puts: list[list[str]], limit: int, most_points: int
) -> None:
    spool = DurableQueue(Database(None), "a", most_bytes=limit)
    model: list[str] = []
    for bodies in puts:
        dropped_before = spool.dropped_points
        spool.append([a_batch(body) for body in bodies])
        dropped = spool.dropped_points - dropped_before
        before, model = model, [*model, *bodies]
        oldest = len(before)
        lost = 0
        while sum(map(kept_bytes, model)) > limit and oldest:
            lost += len(model.pop(0))
            oldest -= 1
        assert dropped == lost
        assert spool.points == sum(map(len, model))
    assert drain(spool, most_points) == model
    assert spool.points == 0


@given(st.lists(BODIES, min_size=1, max_size=20), st.integers(1, 200))
def test_pieces_hold_as_much_as_was_asked_for_and_at_least_one(
    bodies: list[str], most_points: int
) -> None:
    spool = DurableQueue(Database(None), "a", most_bytes=10**6)
    spool.append([a_batch(body) for body in bodies])
    while (found := spool.oldest(most_points)) is not None:
        rows, piece = found
        alone = rows.first == rows.last
        assert alone or piece.points <= most_points
        assert piece.points == len(piece.body.replace(b"\n", b""))
        spool.remove(rows)


def test_rows_under_way_are_spared_wherever_they_stand() -> None:
    spool = DurableQueue(Database(None), "a", most_bytes=3 * kept_bytes("a"))
    spool.append([a_batch(body) for body in "abc"])
    spool.append([a_batch("d"), a_batch("e")], in_flight=Rows(2, 2))
    assert spool.dropped_points == 2
    assert "".join(drain(spool, 1)) == "bde"


def test_two_sinks_on_one_state_file_do_not_meet() -> None:
    database = Database(None)
    one, other = (
        DurableQueue(database, name, most_bytes=2 * kept_bytes("a"))
        for name in ("one", "other")
    )
    one.append([a_batch(body) for body in "ab"])
    other.append([a_batch("z")])
    one.append([a_batch("c")])
    assert (one.points, other.points) == (2, 1)
    assert drain(one, 100) == ["b", "c"]
    assert drain(other, 100) == ["z"]


class Poisoned(FakeOutlet):
    """Fails on one point, and is down meanwhile if it is told to be."""

    poison = "0001"
    down = False

    def send(self, batch: Batch, timeout: timedelta) -> None:
        if self.down or self.poison in batch.body.decode().split("\n"):
            self.requests.append(batch.points)
            raise SinkError("500", sink=self.name)
        super().send(batch, timeout)


def test_a_batch_on_which_the_server_fails_is_skipped_and_counted() -> None:
    outlet = Poisoned()
    bench = Bench(outlet=outlet)
    with capture_logs() as logs:
        for _ in range(40):
            bench.publish()
            bench.step()
            if bench.sink.spooled_points:  # or it would wait for more
                bench.step()
    bench.drain()
    assert sorted(outlet.sent) == [f"{n:04}" for n in range(40) if n != 1]
    assert (bench.sink.spooled_points, bench.sink.lost_points) == (0, 1)
    assert bench.database.set_aside == {"queue": 1}
    skipped = [e for e in logs if "skipped" in e["event"]]
    assert [(e["event"], e["points"]) for e in skipped] == [
        ("Points skipped, as only they fail", 1)
    ]


def test_one_among_many_that_wait_is_skipped_alone() -> None:
    outlet = Poisoned()
    bench = Bench(outlet=outlet)
    outlet.down = True
    bench.publish(300)
    bench.step()
    outlet.down = False
    for _ in range(100):
        bench.publish()
        bench.step()
    bench.drain()
    assert len(set(outlet.sent)) == 399
    assert bench.sink.lost_points == 1


def test_a_server_that_fails_on_all_loses_none_however_long() -> None:
    outlet = Poisoned()
    bench = Bench(outlet=outlet)
    outlet.down = True
    for _ in range(500):
        bench.publish()
        bench.step()
    assert (bench.sink.spooled_points, bench.sink.lost_points) == (500, 0)
    assert outlet.sent == []


@given(st.lists(st.booleans(), min_size=50, max_size=300))
def test_a_server_that_fails_by_chance_loses_none(fails: list[bool]) -> None:
    outlet = Poisoned()
    bench = Bench(outlet=outlet)
    outlet.poison = ""
    for down in fails:
        outlet.down = down
        bench.publish()
        bench.step()
    outlet.down = False
    bench.drain()
    if "1010" * 4 not in "".join(str(int(down)) for down in fails):
        assert bench.sink.lost_points == 0
    assert len(set(outlet.sent)) + bench.sink.lost_points == len(fails)


def test_only_failures_without_a_break_skip_a_batch() -> None:
    outlet = Poisoned()
    bench = Bench(outlet=outlet)
    outlet.poison = ""
    for down in [True, False, True, True, True] * 25:
        outlet.down = down
        bench.publish()
        bench.step()
    assert bench.sink.lost_points == 0


@pytest.mark.parametrize("poison", ["0001", "0007", "0010", "0049"])
def test_in_order_one_among_many_that_wait_is_skipped_alone(
    poison: str,
) -> None:
    outlet = Poisoned()
    outlet.poison = poison
    bench = Bench(outlet=outlet, in_order=True)
    outlet.down = True
    bench.publish(50)
    bench.step()
    outlet.down = False
    for _ in range(10):
        bench.publish()
        bench.step()
    bench.drain()
    published = [f"{n:04}" for n in range(60)]
    assert outlet.sent == [name for name in published if name != poison]
    assert bench.sink.lost_points == 1


@pytest.mark.parametrize("failures", range(1, 4 * MOST_TRIES))
def test_in_order_an_outage_of_any_length_changes_no_order(
    failures: int,
) -> None:
    outlet = Poisoned()
    outlet.poison = ""
    outlet.down = True
    bench = Bench(outlet=outlet, in_order=True)
    bench.publish(3)
    for _ in range(failures):
        bench.publish()
        bench.step()
    while not bench.backoff.remaining_seconds:
        bench.sink.step()
    outlet.down = False  # in a pause
    bench.drain()
    assert outlet.sent == [f"{n:04}" for n in range(bench.published)]
    assert bench.sink.lost_points == 0


def test_in_order_what_waits_alone_is_not_overtaken_later() -> None:
    outlet = Poisoned()
    outlet.poison = ""
    outlet.down = True
    bench = Bench(outlet=outlet, in_order=True)
    bench.publish()
    for _ in range(3 * MOST_TRIES):
        bench.step()
    bench.publish()
    outlet.down = False
    bench.drain()
    assert outlet.sent == ["0000", "0001"]


def test_in_order_a_server_that_is_busy_skips_none() -> None:
    outlet = Poisoned()
    bench = Bench(outlet=outlet, in_order=True)
    outlet.error = SinkError("429", sink="fake", busy=True)
    bench.publish(3)
    for _ in range(10 * MOST_TRIES):
        bench.step()
    assert outlet.sent == []
    outlet.error, outlet.poison = None, ""
    bench.drain()
    assert outlet.sent == ["0000", "0001", "0002"]
