"""What an audit freezes, while a real mirror goes on copying."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from confluent_kafka import Producer

from mirrorwatch.audit import freeze, recheck
from mirrorwatch.clock import utc_now
from mirrorwatch.domain.audit.plan import (
    AuditedEnds,
    AuditSpan,
    Plan,
    Request,
    TimeWindow,
    ends_after,
)
from mirrorwatch.exceptions import SourceUnavailableError
from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from tests.support.audit import (
    at_rest,
    audited_up_to,
    both_sides,
    config_of,
    freeze_night,
    freeze_window,
    pairs_of,
)
from tests.support.lab import FLUSH_SECONDS, carry, copied, produce, values
from tests.support.watch import wait_until
from tests.support.writers import traffic, write_at, write_keys

IDLE = "audit.idle"
BUSY = "audit.busy"
COMPACTED = "audit.compacted"
APPENDED = "audit.appended"
TRANSACTIONS = "audit.transactions"
NOWHERE = "audit.nowhere"
EMPTY = "audit.empty"
TIMED = "audit.timed"
EXPIRING = "audit.expiring"

OURS = r"audit[.].*|mirrorwatch[.]canary"
"""Others, such as heartbeats, never rest."""

SINGLE = [CANARY_TOPIC, COMPACTED, APPENDED, TRANSACTIONS, NOWHERE]
SINGLE += [EMPTY, TIMED, EXPIRING]
TOPICS = dict.fromkeys(SINGLE, 1) | {IDLE: 2, BUSY: 3}

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    settings = LabSettings(
        intervals="fast",
        topics=TOPICS,
        topic_configs={COMPACTED: {"cleanup.policy": "compact"}},
        mirror_properties={
            "summit->ldf.topics.exclude": rf"{NOWHERE},mm2.*\.internal,__.*"
        },
        start_mirror=False,
    )
    with Lab(settings) as lab:
        lab.target.topics.create(
            APPENDED, 1, {"message.timestamp.type": "LogAppendTime"}
        )
        lab.mirror.start()
        yield lab


@pytest.fixture(scope="module")
def first(lab: Lab) -> Plan:
    """The first night, when everything rests."""
    for topic in (IDLE, APPENDED, EXPIRING):
        produce(lab, topic, [f"{topic} {n}" for n in range(50)])
    write_keys(lab, COMPACTED, 50, COMPACTED)
    produce(lab, NOWHERE, ["1", "2", "3"])
    producer = Producer(
        {"bootstrap.servers": lab.source.bootstrap, "transactional.id": "t"}
    )
    producer.init_transactions(FLUSH_SECONDS)
    for n in range(3):
        producer.begin_transaction()
        producer.produce(TRANSACTIONS, f"transaction {n}")
        producer.commit_transaction(FLUSH_SECONDS)
    for topic in (IDLE, COMPACTED, APPENDED, EXPIRING):
        copied(lab, topic, [f"{topic} {n}" for n in range(50)])
    copied(lab, TRANSACTIONS, ["transaction 2"])
    at_rest(lab, AuditedEnds(), OURS)
    return freeze_night(lab, AuditedEnds())


def test_every_carried_partition_is_a_pair_and_internal_topics_are_none(
    first: Plan,
) -> None:
    topics = {pair.target_topic for pair in first.pairs}
    assert topics >= TOPICS.keys() - {NOWHERE}
    assert not [t for t in topics if "internal" in t or t.startswith("__")]
    assert set(pairs_of(first, IDLE)) == {0, 1}
    assert set(pairs_of(first, BUSY)) == {0, 1, 2}


def test_a_topic_at_rest_is_compared_whole(first: Plan) -> None:
    pair = pairs_of(first, IDLE)[0]
    assert pair.cut == "idle"
    assert (pair.span, pair.sources[0].span) == (
        AuditSpan(0, 50),
        AuditSpan(0, 50),
    )
    assert pair.sources[0].position == 50
    assert pair.timestamps
    assert not pair.compacted
    assert not pair.sources[0].read_committed
    assert len(pairs_of(first, EMPTY)[0].span) == 0


def test_markers_at_the_end_are_no_records_in_flight(first: Plan) -> None:
    pair = pairs_of(first, TRANSACTIONS)[0]
    assert pair.sources[0].span == AuditSpan(0, 6)
    assert pair.span == AuditSpan(0, 3)
    assert pair.sources[0].position == 6
    assert TRANSACTIONS not in {stated.topic for stated in first.stated}


def test_compaction_and_the_brokers_own_timestamps_are_known(
    first: Plan,
) -> None:
    assert pairs_of(first, COMPACTED)[0].compacted
    assert not pairs_of(first, APPENDED)[0].timestamps
    assert pairs_of(first, COMPACTED)[0].timestamps


def test_records_without_a_target_topic_are_unverifiable(first: Plan) -> None:
    (gap,) = first.unverifiable
    assert (gap.topic, gap.partition, gap.records) == (NOWHERE, 0, 3)
    assert "not at the target" in gap.reason


@pytest.mark.long
def test_nights_join_without_a_gap_while_the_mirror_copies(
    lab: Lab, first: Plan
) -> None:
    ends, audited = ends_after(first, AuditedEnds()), dict[int, int]()
    with traffic(lab, BUSY, TOPICS[BUSY]):
        for _ in range(4):
            before = len(values(lab, "target", BUSY))
            wait_until(
                lambda: len(values(lab, "target", BUSY)) > before + 500,  # noqa: B023
                what=lambda: "nothing is copied",
            )
            plan = freeze_night(lab, ends, BUSY)
            assert plan.unverifiable == ()
            for partition, pair in pairs_of(plan, BUSY).items():
                source, target = both_sides(lab, pair)
                assert source == target
                print(partition, pair.cut, pair.span, pair.sources[0].position)
                assert pair.sources[0].span.start == audited.get(partition, 0)
                assert len(pair.span) > 0
                audited[partition] = pair.sources[0].span.end
            assert recheck(config_of(lab), plan) == (plan, ())
            ends = ends_after(plan, ends)


def test_what_the_mirror_has_not_read_is_in_flight(
    lab: Lab, first: Plan
) -> None:
    before = ends_after(first, AuditedEnds())
    carry(lab, IDLE, ["copied"])
    at_rest(lab, before, IDLE)
    lab.mirror.freeze()
    try:
        produce(lab, IDLE, ["waits"] * 7)
        plan = freeze_night(lab, before, IDLE)
        pair = pairs_of(plan, IDLE)[0]
        assert [s.count for s in plan.stated] == [7]
        assert pair.sources[0].span == AuditSpan(50, 51)
        assert both_sides(lab, pair) == ([b"copied"], [b"copied"])
        # On the next night nothing moved: that is no longer on its way.
        after = freeze_night(lab, ends_after(plan, before), IDLE)
        assert [gap.records for gap in after.unverifiable] == [7]
        assert "has not moved" in after.unverifiable[0].reason
    finally:
        lab.mirror.thaw()
    copied(lab, IDLE, ["waits"])


def test_records_that_nobody_had_time_to_copy_are_left(
    lab: Lab, first: Plan
) -> None:
    plan = freeze_night(lab, ends_after(first, AuditedEnds()), EXPIRING, "1h")
    pair = pairs_of(plan, EXPIRING)[0]
    assert len(pair.span) == len(pair.sources[0].span) == 0
    young = freeze_night(lab, AuditedEnds(), EXPIRING, "1h")
    pair = pairs_of(young, EXPIRING)[0]
    assert (len(pair.sources[0].span), len(pair.span)) == (0, 0)
    assert (young.stated, young.unverifiable) == ((), ())


def test_a_window_is_cut_by_the_times_of_records(lab: Lab) -> None:
    now = utc_now().replace(microsecond=0)
    times = [now + timedelta(minutes=n) for n in range(-600, -500)]
    # One is out of order by hours, and belongs to the window.
    times[80] = now - timedelta(minutes=585)
    write_at(lab, TIMED, times, "timed")
    copied(lab, TIMED, [f"timed {n}" for n in range(100)])
    window = TimeWindow(times[10], times[20])
    plan = freeze_window(lab, TIMED, window)
    (pair,) = plan.pairs
    assert (pair.cut, plan.window, plan.unverifiable) == ("window", window, ())
    assert pair.sources[0].span == pair.span == AuditSpan(10, 100)
    assert ends_after(plan, AuditedEnds()) == AuditedEnds()


def test_a_window_without_timestamps_lies_between_syncs(
    lab: Lab, first: Plan
) -> None:
    window = TimeWindow(first.at - timedelta(hours=1), first.at)
    plan = freeze_window(lab, APPENDED, window)
    assert [pair.span for pair in plan.pairs] == [AuditSpan(0, 50)]
    assert plan.unverifiable == ()


def test_what_expired_is_unverifiable_before_and_after_reading(
    lab: Lab, first: Plan
) -> None:
    before = freeze_night(lab, AuditedEnds(), EXPIRING)
    lab.delete_records(EXPIRING, {0: 10})
    rest, (gap,) = recheck(config_of(lab), before)
    assert rest is before
    assert (gap.topic, gap.partition) == (EXPIRING, 0)
    assert "expired at the source" in gap.reason

    early = audited_up_to(ends_after(first, AuditedEnds()), EXPIRING, 5)
    after = freeze_night(lab, early, EXPIRING)
    (gap,) = after.unverifiable
    assert gap.reason == "expired at the source before the audit"
    assert gap.records is not None
    assert gap.records >= 5
    for pair in after.pairs:
        source, target = both_sides(lab, pair)
        assert source == target

    window = TimeWindow(first.at - timedelta(days=1), first.at)
    adhoc = freeze_window(lab, EXPIRING, window)
    assert adhoc.pairs == ()
    assert "may have expired at the source" in adhoc.unverifiable[0].reason


def test_a_cluster_that_cannot_be_reached_is_named(lab: Lab) -> None:
    away = {"kafka": {"bootstrap.servers": "127.0.0.1:1"}}
    config = config_of(lab, ldf=away)
    with pytest.raises(SourceUnavailableError, match="ldf"):
        freeze(config, Request(), AuditedEnds(), clock=utc_now)
