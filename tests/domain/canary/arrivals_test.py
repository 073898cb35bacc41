"""What an arrival is counted as."""

from datetime import timedelta

from mirrorwatch.domain.canary.tracker import Ledger
from tests.domain.canary.ledgers import see, warmed
from tests.domain.canary.world import START


def test_an_arrival_after_the_deadline_is_late_and_not_lost() -> None:
    ledger = warmed()
    see(ledger, 2, at=1, after=31)
    assert (ledger.counts.late, ledger.counts.delivered) == (1, 1)


def test_what_arrived_while_the_agent_was_away_is_not_called_late() -> None:
    ledger = warmed()
    assert see(ledger, 2, at=1, after=600, away=599) is None
    assert (ledger.counts.late, ledger.counts.delivered) == (0, 2)
    assert sum(ledger.latency.counts) == 1


def test_what_was_overdue_before_the_agent_went_away_is_late() -> None:
    ledger = warmed()
    assert see(ledger, 2, at=1, after=600, away=560) is None
    assert (ledger.counts.late, ledger.counts.delivered) == (1, 1)


def test_the_same_target_record_read_twice_counts_once() -> None:
    ledger = warmed()
    see(ledger, 1, at=0)
    assert ledger.counts.duplicates == 0
    see(ledger, 1, at=1)
    assert ledger.counts.duplicates == 1


def test_a_probe_behind_a_later_one_is_reordered_not_lost() -> None:
    ledger = warmed(sent=3)
    see(ledger, 3, at=1)
    see(ledger, 2, at=2)
    counts = ledger.counts
    assert (counts.reordered, counts.delivered, counts.lost) == (1, 3, 0)


def test_intervals_below_zero_are_counted_and_not_clamped() -> None:
    ledger = Ledger(flow="f", partition=0)
    ledger.send(START)
    ledger.ack(1, 0, START + timedelta(seconds=2))
    see(ledger, 1, at=0, after=1)
    assert ledger.counts.negative == 1
    assert ledger.replication.total == timedelta(seconds=-1)


def test_a_new_target_is_read_from_its_start() -> None:
    ledger = warmed()
    ledger.skip_target(0)
    see(ledger, 2, at=0)
    assert ledger.counts.delivered == 2


def test_a_source_slow_to_store_does_not_make_the_mirror_late() -> None:
    ledger = Ledger(flow="f", partition=0)
    ledger.send(START)
    ledger.ack(1, 0, START + timedelta(seconds=29))
    see(ledger, 1, at=0, after=31)
    assert (ledger.counts.late, ledger.counts.delivered) == (0, 1)
