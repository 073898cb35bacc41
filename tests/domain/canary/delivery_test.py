"""Which probes count as delivered within the bound of the service level."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.domain.canary.model import (
    WITHIN,
    CanarySurvey,
    Proof,
    TopicState,
)
from mirrorwatch.domain.canary.tracker import (
    CROWDED,
    Arrival,
    CanaryTracker,
    Identity,
    Ledger,
    arrive,
    prove,
    settle,
)
from tests.domain.canary.world import DEADLINE, START, World
from tests.support.builders import FLOW
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
        (4, 0, (1, 0)),
        (6, 0, (0, 1)),
        # The agent was away, and it came at the latest then.
        (4, 4, (1, 0)),
        # It may have come in time, while the agent was away.
        (60, 58, (0, 0)),
        # It was not there when the agent went away, too late already.
        (60, 50, (0, 1)),
    ],
)
def test_an_arrival_counts_by_what_is_known_of_its_time(
    after: float, away: float, expected: tuple[int, int]
) -> None:
    ledger = sent()
    see(ledger, after, away=away)
    assert (ledger.good, ledger.bad) == expected


def test_a_probe_is_bad_as_soon_as_its_bound_is_over_and_once() -> None:
    ledger = sent()
    ledger.note_overdue(START + WITHIN, WITHIN)
    assert (ledger.good, ledger.bad) == (0, 0)
    ledger.note_overdue(START + WITHIN + SECOND, WITHIN)
    ledger.note_overdue(START + WITHIN + 2 * SECOND, WITHIN)
    assert (ledger.good, ledger.bad) == (0, 1)
    assert ledger.touched == {1}
    see(ledger, 20)
    assert (ledger.good, ledger.bad) == (0, 1)


def test_a_source_that_does_not_answer_makes_nothing_good_or_bad() -> None:
    failed, settled = sent(acked=False), sent(acked=False)
    for ledger in (failed, settled):
        ledger.note_overdue(START + 60 * SECOND, WITHIN)
        assert (ledger.good, ledger.bad) == (0, 0)
    failed.fail(1, START + 60 * SECOND)
    assert (failed.good, failed.bad) == (0, 0)
    # It was found at the source later: since when is not known.
    settled.doubt(1)
    settled.ack(1, 0, None)
    see(settled, 70)
    assert (settled.good, settled.bad) == (0, 0)


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
    assert (ledger.good, ledger.bad) == (1, 1)

    gone = sent()
    gone.skip_target(7)
    gone.note_overdue(START + 60 * SECOND, WITHIN)
    gone.give_up(1)
    assert (gone.good, gone.bad) == (0, 0)


def test_probes_that_a_stall_holds_back_are_as_bad_as_those_sent() -> None:
    ledger = sent(probes=CROWDED)
    tracker = CanaryTracker(
        flow=FLOW,
        identity=Identity(),
        ledgers={0: ledger},
        warmup=timedelta(),
    )
    survey = CanarySurvey(
        at=START, source=TopicState(id="s", partitions=frozenset({0}))
    )
    assert tracker.due(survey, START + SECOND) == []
    assert ledger.bad == 0
    ledger.note_overdue(START + WITHIN + SECOND, WITHIN)
    assert tracker.due(survey, START + 7 * SECOND) == []
    assert ledger.bad == CROWDED + 1


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
def test_no_probe_counts_twice(
    actions: list[str],
) -> None:
    world = World()
    for action in actions:
        if action == "look":
            world.consume()
            world.ledger.note_overdue(world.now, WITHIN)
        else:
            world.do(action)
        under_way = world.ledger.outstanding.values()
        awaited = sum(not probe.overdue for probe in under_way)
        counted = world.ledger.good + world.ledger.bad
        assert counted + awaited <= world.ledger.counts.sent
