"""What the mirror's internal topics said, kept for others."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest

from mirrorwatch.domain.heartbeats import HeartbeatsLimits, judge_heartbeats
from mirrorwatch.domain.mirror_records import (
    Committed,
    Companion,
    Connector,
    Heartbeat,
    MirrorFact,
    Sync,
)
from mirrorwatch.domain.report import Health
from mirrorwatch.domain.topics import Selection
from mirrorwatch.sources.heartbeats import HeartbeatsSource
from mirrorwatch.sources.mirror_state import MirrorState

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def a_sync(upstream: int) -> Sync:
    return Sync(
        topic="t",
        partition=0,
        upstream=upstream,
        downstream=upstream,
        written_at=NOON,
    )


def a_board() -> MirrorState:
    board = MirrorState()
    board.move("offsets", "o1")
    board.move("syncs", "y1")
    board.note(Committed(topic="t", partition=0, position=7, written_at=NOON))
    board.note(a_sync(6))
    return board


def test_every_sync_is_taken_once() -> None:
    board = MirrorState()
    board.note(a_sync(1))
    assert board.take_syncs() == ()
    board.keep_every_sync()
    board.note(a_sync(2))
    board.note(a_sync(3))
    assert [s.upstream for s in board.take_syncs()] == [2, 3]
    board.note(a_sync(4))
    assert [s.upstream for s in board.take_syncs()] == [4]
    assert board.take_syncs() == ()


def test_what_a_topic_that_is_no_more_said_is_forgotten() -> None:
    board = a_board()
    board.move("offsets", "o2")
    assert board.all_committed() == {}
    assert len(board.all_syncs()) == 1
    assert board.homes() == {"offsets": "o2", "syncs": "y1"}
    board = a_board()
    board.move("syncs", "y2")
    assert board.all_syncs() == {}
    assert len(board.all_committed()) == 1


def test_a_topic_that_is_looked_at_again_says_what_it_said() -> None:
    board = a_board()
    board.move("offsets", "o1")
    board.move("syncs", "y1")
    assert (len(board.all_committed()), len(board.all_syncs())) == (1, 1)


def test_a_topic_that_is_not_seen_for_a_while_says_what_it_said() -> None:
    board = a_board()
    board.move("offsets", None)
    assert board.homes() == {"offsets": None, "syncs": "y1"}
    assert len(board.all_committed()) == 1
    board.move("offsets", "o1")
    assert len(board.all_committed()) == 1
    board.move("offsets", None)
    board.move("offsets", "o2")
    assert board.all_committed() == {}


def commit(connector: str, minute: int, position: int | None) -> Committed:
    return Committed(
        topic="t",
        partition=0,
        position=position,
        written_at=NOON + timedelta(minutes=minute),
        connector=connector,
    )


def running(name: str) -> Connector:
    refresh = timedelta(minutes=10)
    return Connector(
        name=name, selection=Selection(), refresh=refresh, max_in_flight=1
    )


def position_by(facts: Iterable[MirrorFact]) -> int | None:
    board = MirrorState()
    for fact in facts:
        board.note(fact)
    (found,) = board.all_committed().values()
    assert board.committed("t") == {0: found}
    return found.position


OLD, NEW, GONE = (
    running("old"),
    running("new"),
    Companion(name="old", role="removed"),
)


@pytest.mark.parametrize(
    ("facts", "position"),
    [
        # A connector was renamed, and began again.
        ((commit("old", 0, 900), commit("new", 5, 40)), 40),
        ((GONE, NEW, commit("old", 0, 900), commit("new", 5, 40)), 40),
        # Offsets of the old one were deleted when the new one ran.
        ((OLD, NEW, commit("old", 6, None), commit("new", 5, 40)), 40),
        ((NEW, commit("old", 6, None), commit("new", 5, 40)), 40),
        # Those of the new one were deleted: what the old one had is no more.
        ((NEW, commit("old", 0, 900), commit("new", 5, None)), None),
        # The new one has copied nothing of it yet.
        ((NEW, commit("old", 0, 900)), 900),
        # Both are there: the topic went from one to the other.
        ((OLD, NEW, commit("old", 5, 900), commit("new", 0, 40)), 900),
    ],
)
def test_offsets_that_a_renamed_connector_left_do_not_count(
    facts: tuple[MirrorFact, ...], position: int | None
) -> None:
    # Partitions of Connect's topics are read in no order.
    for order in permutations(facts):
        assert position_by(order) == position


def test_heartbeats_that_nobody_could_read_are_not_missed() -> None:
    board, late = MirrorState(), NOON + timedelta(minutes=10)
    for kind in ("carried", "beats"):
        board.optional.miss(kind)
    board.optional.catch_up("heartbeats", 0)
    board.expect("tail ldf", NOON + timedelta(seconds=11))
    source = HeartbeatsSource("f", board, ("summit", "ldf"))
    assert source.observe(NOON)
    assert (board.behind(NOON), board.behind(late)) == (0, 1)
    assert source.observe(late) == []
    board.optional.read_again("heartbeats")
    board.expect("tail ldf", late + timedelta(seconds=11))
    assert source.observe(late) == []
    board.optional.catch_up("heartbeats", 1)
    assert source.observe(late) == []
    board.optional.catch_up("heartbeats", 0)
    assert source.observe(late)


def test_heartbeats_of_a_mirror_that_nobody_knows_are_unknown() -> None:
    board, limits = MirrorState(), HeartbeatsLimits()
    for kind in ("carried", "beats", "heartbeats"):
        board.optional.miss(kind)
    source = HeartbeatsSource("f", board, ("summit", "ldf"))

    def judge() -> Health:
        (seen,) = source.observe(NOON)
        return judge_heartbeats("f", seen, limits, NOON).health

    board.fail("mm2-configs", "MirrorMaker's configs topic does not exist")
    assert judge() is Health.UNKNOWN
    # Another topic says nothing of what is configured.
    board.note(Companion(name="c", role="checkpoints"))
    assert judge() is Health.OFF


@pytest.mark.parametrize(
    ("problem", "health"),
    [
        ("Mirrorwatch lacks READ", Health.UNKNOWN),
        # It may be read, and no copy comes.
        (None, Health.WARNING),
    ],
)
def test_copies_that_may_not_be_read_are_not_called_late(
    problem: str | None, health: Health
) -> None:
    board, limits = MirrorState(), HeartbeatsLimits()
    board.optional.miss("heartbeats")
    for kind in ("carried", "beats"):
        board.optional.catch_up(kind, 0)
    source = HeartbeatsSource("f", board, ("summit", "ldf"))
    for second in range(120):
        now = NOON + timedelta(seconds=second)
        beat = Heartbeat(
            source="ldf",
            target="summit",
            place="source",
            beat_at=now,
            written_at=now,
        )
        board.note(beat)
        if second < 10:
            board.note(replace(beat, place="carried"))
        if second == 10:
            board.optional.fail("carried", problem)
        (seen,) = source.observe(now)
    verdict = judge_heartbeats("f", seen, limits, now)
    assert verdict.health is health
    code = "heartbeats.unreadable" if problem else "heartbeats.late"
    assert verdict.code == code
