"""Probes of which no position and no order says anything any more."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from mirrorwatch.domain.canary.check import CanaryLimits, judge_canary
from mirrorwatch.domain.canary.model import (
    CanaryObservation,
    MirrorPosition,
    TopicState,
)
from mirrorwatch.domain.canary.tracker import (
    Arrival,
    CanaryTracker,
    Ledger,
    arrive,
    settle,
)
from mirrorwatch.domain.report import Health, Verdict
from tests.domain.canary.tracker_test import SURVEY, TWO, books
from tests.domain.canary.world import DEADLINE, START

SECOND = timedelta(seconds=1)
HOUR = 3600


def copy(
    ledger: Ledger,
    now: datetime,
    source: int,
    target: int,
    *,
    absent_until: datetime | None = None,
) -> None:
    """Send a probe that arrives at once."""
    probe = ledger.send(now)
    ledger.ack(probe.sequence, source, now)
    seen = Arrival(
        sequence=probe.sequence,
        target_offset=target,
        seen_at=now,
        absent_until=absent_until or now,
    )
    arrive(ledger, seen, DEADLINE)


def judged(ledger: Ledger, now: datetime) -> Verdict:
    seen = CanaryObservation(
        flow="f",
        at=now,
        topic="c",
        remote_topic="c",
        partitions=(ledger.snapshot(warming=False),),
    )
    return judge_canary("f", seen, CanaryLimits(), now)


def test_a_probe_that_may_have_come_and_gone_is_not_overdue_for_ever() -> None:
    """`opaque`, `msk-replicator`, `k2k`: no positions, and no known order."""
    ledger = Ledger(flow="f", partition=0)
    probe = ledger.send(START)
    ledger.ack(probe.sequence, 0, START)
    # The agent was down for two days, and the target keeps one.
    ledger.skip_target(86_400)
    begin = START + timedelta(days=2)
    for n in range(HOUR):
        copy(ledger, begin + n * SECOND, n + 1, 86_400 + n)
        settle(ledger, begin + n * SECOND, None)
    verdict = judged(ledger, begin + HOUR * SECOND)
    assert verdict.health is not Health.CRITICAL, verdict.reason


def test_a_probe_of_a_deleted_source_is_not_overdue_for_ever() -> None:
    """Any mirror whose order is not known: `mirrormaker1`, `mirus`, ..."""
    tracker = books()
    survey = replace(SURVEY, ordered=False)
    tracker.follow(survey)
    ledger = tracker.ledgers[0]
    copy(ledger, START, 0, 10)
    under_way = ledger.send(START)
    ledger.ack(under_way.sequence, 1, START)
    # The topic is made anew at the source. All that is sent to it arrives,
    # and the mirror commits.
    anew = TopicState(id="s2", partitions=TWO)
    for n in range(HOUR):
        now = START + n * SECOND
        copy(ledger, now, n, 11 + n)
        if n % 5 == 0:
            position = MirrorPosition(
                origin="committed", position=n, seen_at=now, counts_at=now
            )
            tracker.follow(
                replace(
                    survey,
                    at=now,
                    source=anew,
                    positions={0: (position,)},
                    ends={0: 12 + n, 1: 20},
                )
            )
        tracker.settle(now, None)
    verdict = judged(ledger, START + HOUR * SECOND)
    assert "canary.overdue" not in verdict.codes, verdict.reason


def test_a_mirror_that_stopped_stays_critical_in_a_new_target_topic() -> None:
    ledger = Ledger(flow="f", partition=0)
    copy(ledger, START, 0, 0)
    under_way = ledger.send(START)
    ledger.ack(under_way.sequence, 1, START)
    # The topic is made anew at the target, and nothing arrives any more.
    ledger.skip_target(0)
    for n in range(1, HOUR):
        now = START + n * SECOND
        sent = ledger.send(now)
        ledger.ack(sent.sequence, 1 + n, now)
        assert settle(ledger, now, None) == []
        if n * SECOND > DEADLINE and n % 60 == 0:
            assert judged(ledger, now).health is Health.CRITICAL
    assert ledger.counts.unverifiable == 0


def test_what_may_be_in_a_backlog_is_not_given_up() -> None:
    ledger = Ledger(flow="f", partition=0)
    probe = ledger.send(START)
    ledger.ack(probe.sequence, 0, START)
    ledger.skip_target(100)
    now = START + HOUR * SECOND
    copy(ledger, now, 1, 100, absent_until=START)
    assert ledger.counts.unverifiable == 0
    # Nor one that is not overdue yet.
    young = ledger.send(now)
    ledger.ack(young.sequence, 2, now)
    young.unseen = True
    copy(ledger, now + SECOND, 3, 101)
    assert ledger.counts.unverifiable == 1
    assert list(ledger.outstanding) == [young.sequence]


def in_flight_when_the_source_goes(*, ordered: bool) -> CanaryTracker:
    """Return books with a probe of a source topic that was deleted."""
    tracker = books()
    survey = replace(SURVEY, ordered=ordered)
    tracker.follow(survey)
    ledger = tracker.ledgers[0]
    ledger.ack(ledger.send(START).sequence, 0, START)
    anew = TopicState(id="s2", partitions=TWO)
    tracker.follow(replace(survey, source=anew))
    return tracker


def test_a_probe_of_a_deleted_source_stays_until_the_new_one_is_read() -> None:
    tracker = in_flight_when_the_source_goes(ordered=False)
    ledger, now = tracker.ledgers[0], START + HOUR * SECOND
    assert tracker.settle(now, None) == []
    assert judged(ledger, now).health is Health.CRITICAL
    # A mirror of which it is not known may still send it for a while,
    copy(ledger, now, 0, 10)
    tracker.settle(now + 60 * SECOND, None)
    assert ledger.counts.unverifiable == 0
    # and it may be there, where not all has been read.
    tracker.settle(now + 600 * SECOND, None, {0})
    assert ledger.counts.unverifiable == 0
    tracker.settle(now + 600 * SECOND, None, {1})
    assert (ledger.counts.lost, ledger.counts.unverifiable) == (0, 1)


@pytest.mark.parametrize("restarted", [False, True])
def test_a_probe_of_a_deleted_source_is_lost_where_order_is_known(
    *, restarted: bool
) -> None:
    tracker = in_flight_when_the_source_goes(ordered=True)
    ledger, now = tracker.ledgers[0], START + HOUR * SECOND
    copy(ledger, now, 0, 10)
    # While another partition is read, being overtaken proves nothing.
    now += HOUR * SECOND
    assert tracker.settle(now, None, {1}) == []
    if restarted:
        # What the connectors are is not known at once.
        tracker.follow(replace(SURVEY, at=now, source=None, ordered=False))
        assert tracker.settle(now + 5 * SECOND, None) == []
        tracker.follow(replace(SURVEY, at=now, source=None))
        now += HOUR * SECOND
        assert tracker.settle(now, None) == []
    (loss,) = tracker.settle(now, 30 * SECOND)
    assert loss.sequence == 1
    assert ledger.counts.unverifiable == 0
