"""Which probes count as delivered within the bound of the service level."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.domain.canary.model import Proof
from mirrorwatch.domain.canary.tracker import (
    CROWDED,
    Arrival,
    Ledger,
    arrive,
    prove,
    settle,
)
from mirrorwatch.domain.levels.model import WITHIN, LevelCounts
from tests.domain.canary.world import DEADLINE, START, World
from tests.support.examples import examples

SECOND = timedelta(seconds=1)


def sent(*, acked: bool = True, probes: int = 1) -> Ledger:
    ledger = Ledger(flow="f", partition=0)
    for offset in range(probes):
        probe = ledger.send(START)
        if acked:
            ledger.ack(probe.sequence, offset, START)
    return ledger


def see(ledger: Ledger, after: float, *, away: float = 0) -> None:
    at = START + timedelta(seconds=after)
    seen = Arrival(
        sequence=1,
        target_offset=0,
        seen_at=at,
        absent_until=at - timedelta(seconds=away),
    )
    arrive(ledger, seen, DEADLINE, WITHIN)


@pytest.mark.parametrize(
    ("after", "away", "expected"),
    [
        (4, 0, LevelCounts(good=1)),
        (6, 0, LevelCounts(bad=1)),
        # The agent was away, and it came at the latest then.
        (4, 4, LevelCounts(good=1)),
        # It may have come in time, while the agent was away.
        (60, 58, LevelCounts(unknown=1)),
        # It was not there when the agent went away, too late already.
        (60, 50, LevelCounts(bad=1)),
    ],
)
def test_an_arrival_counts_by_what_is_known_of_its_time(
    after: float, away: float, expected: LevelCounts
) -> None:
    ledger = sent()
    see(ledger, after, away=away)
    assert ledger.level == expected


def test_a_probe_is_bad_as_soon_as_its_bound_is_over_and_once() -> None:
    ledger = sent()
    ledger.note_overdue(START + WITHIN, WITHIN)
    assert ledger.level == LevelCounts()
    ledger.note_overdue(START + WITHIN + SECOND, WITHIN)
    ledger.note_overdue(START + WITHIN + 2 * SECOND, WITHIN)
    assert ledger.level == LevelCounts(bad=1)
    assert ledger.touched == {1}
    see(ledger, 20)
    assert ledger.level == LevelCounts(bad=1)


def test_a_source_that_does_not_answer_makes_nothing_good_or_bad() -> None:
    failed, settled = sent(acked=False), sent(acked=False)
    for ledger in (failed, settled):
        ledger.note_overdue(START + 60 * SECOND, WITHIN)
        assert ledger.level == LevelCounts()
    failed.fail(1, START + 60 * SECOND)
    assert failed.level == LevelCounts(unknown=1)
    # It was found at the source later: since when is not known.
    settled.doubt(1)
    settled.ack(1, 0, None)
    see(settled, 70)
    assert settled.level == LevelCounts(unknown=1)


def test_a_lost_probe_is_bad_and_one_that_nobody_knows_of_is_not() -> None:
    ledger = sent(probes=2)
    see(ledger, 1)
    prove(
        ledger,
        Proof(
            origin="Committed offset",
            position=2,
            seen_at=START + 60 * SECOND,
            counts_at=START,
            end=1,
            incarnation=1,
        ),
    )
    assert settle(ledger, START + 61 * SECOND, None)
    assert ledger.level == LevelCounts(good=1, bad=1)

    gone = sent()
    gone.skip_target(7)
    gone.note_overdue(START + 60 * SECOND, WITHIN)
    gone.give_up(1)
    assert gone.level == LevelCounts(unknown=1)


def test_probes_that_were_due_and_not_sent_are_unknown() -> None:
    ledger = Ledger(flow="f", partition=0)
    ledger.note_due(START, SECOND, sent=True)
    ledger.note_due(START + 1.2 * SECOND, SECOND, sent=True)
    ledger.note_due(START + 2 * SECOND, SECOND, sent=True)
    assert ledger.level == LevelCounts()
    # The agent was down for a minute.
    ledger.note_due(START + 62 * SECOND, SECOND, sent=True)
    assert ledger.level == LevelCounts(unknown=59)
    # The source does not answer.
    ledger.note_due(START + 63 * SECOND, SECOND, sent=False)
    assert ledger.level == LevelCounts(unknown=60)
    # A clock that was set back, and one that was years ahead.
    ledger.note_due(START, SECOND, sent=True)
    ledger.note_due(START + timedelta(days=900), SECOND, sent=True)
    assert ledger.level == LevelCounts(unknown=60 + 30 * 86_400 - 1)


def test_probes_that_a_stall_leaves_unsent_are_as_bad_as_those_sent() -> None:
    ledger = sent(probes=CROWDED)
    ledger.note_due(START, SECOND, sent=True)
    ledger.note_overdue(START + 6 * SECOND, WITHIN)
    ledger.note_due(START + 5 * SECOND, SECOND, sent=False)
    assert ledger.level == LevelCounts(bad=CROWDED + 5)


ACTIONS = [
    "send",
    "ack",
    "copy",
    "drop",
    "rewind",
    "consume",
    "commit",
    "wait",
    "judge",
    "lose_acks",
    "read_source",
    "send_into_the_void",
    "look",
]


@examples(300)
@given(st.lists(st.sampled_from(ACTIONS), max_size=80))
def test_every_probe_counts_once_or_is_still_awaited(
    actions: list[str],
) -> None:
    world = World()
    for action in actions:
        if action == "look":
            world.consume()
            world.ledger.note_overdue(world.now, WITHIN)
        else:
            world.do(action)
        level, under_way = world.ledger.level, world.ledger.outstanding
        awaited = sum(not probe.overdue for probe in under_way.values())
        counted = level.good + level.bad + level.unknown
        assert counted + awaited == world.ledger.counts.sent
