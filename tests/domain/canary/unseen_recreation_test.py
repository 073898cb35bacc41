"""A source topic that is made anew between two surveys."""

from dataclasses import replace
from datetime import timedelta

from mirrorwatch.domain.canary.model import MirrorPosition
from mirrorwatch.domain.canary.tracker import Arrival, arrive
from tests.domain.canary.tracker_test import SURVEY, books
from tests.domain.canary.world import DEADLINE, START

SECOND = timedelta(seconds=1)


def test_a_position_of_before_does_not_lose_the_first_of_a_new_topic() -> None:
    tracker = books()
    tracker.follow(SURVEY)
    ledger = tracker.ledgers[0]
    now = START
    for n in range(100):
        probe = ledger.send(now)
        ledger.ack(probe.sequence, 500 + n, now)
        seen = Arrival(
            sequence=probe.sequence,
            target_offset=10 + n,
            seen_at=now,
            absent_until=now,
        )
        arrive(ledger, seen, DEADLINE)
        now += SECOND
    # A sync that was written 26 s ago counts in 4 s.
    sync = MirrorPosition(
        origin="MirrorMaker's offset sync",
        position=590,
        seen_at=now - 26 * SECOND,
        counts_at=now + 4 * SECOND,
    )
    tracker.follow(
        replace(SURVEY, at=now, positions={0: (sync,)}, ends={0: 110, 1: 20})
    )
    # The source topic was recreated: this is its first record.
    # The next survey, a tick after the one before, will see it.
    probe = ledger.send(now + 2 * SECOND)
    ledger.ack(probe.sequence, 0, now + 2 * SECOND)
    assert tracker.settle(now + 4 * SECOND, 30 * SECOND) == []
