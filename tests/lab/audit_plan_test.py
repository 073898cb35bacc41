"""What an audit freezes, while a real mirror goes on copying."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from threading import Event, Thread

import pytest
from confluent_kafka import Message, Producer

from mirrorwatch.audit import freeze, recheck
from mirrorwatch.cli.demo import describe_agent
from mirrorwatch.clock import utc_now
from mirrorwatch.config import Config
from mirrorwatch.domain.audit import (
    Ends,
    Lane,
    Plan,
    Request,
    Span,
    Window,
    ends_after,
)
from mirrorwatch.exceptions import SourceUnavailableError
from mirrorwatch.lab import CANARY_TOPIC, Lab, LabSettings
from tests.support.lab import FLUSH_SECONDS, copied, produce, values
from tests.support.watch import wait_until

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

TOPICS = {
    CANARY_TOPIC: 1,
    IDLE: 2,
    BUSY: 3,
    COMPACTED: 1,
    APPENDED: 1,
    TRANSACTIONS: 1,
    NOWHERE: 1,
    EMPTY: 1,
    TIMED: 1,
    EXPIRING: 1,
}

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


def a_config(lab: Lab, settle: str = "0s", **clusters: object) -> Config:
    data = describe_agent(lab)
    data["flows"][0]["topics"] = {"exclude": [r"mm2.*\.internal", "__.*"]}
    data["audit"] = {"settle": settle}
    data["clusters"] |= clusters
    return Config.from_mapping(data)


def freeze_night(
    lab: Lab, ends: Ends, topics: str | None = None, settle: str = "0s"
) -> Plan:
    return freeze(
        a_config(lab, settle), Request(topics=topics), ends, clock=utc_now
    )


def lanes_of(plan: Plan, topic: str) -> dict[int, Lane]:
    return {x.partition: x for x in plan.lanes if x.target_topic == topic}


def write(
    lab: Lab, topic: str, partition: int, sent: Sequence[int], text: str
) -> None:
    """Write records with these timestamps, in milliseconds."""
    client = {"bootstrap.servers": lab.source.bootstrap, "log_level": 0}
    producer = Producer(client)
    for number, time in enumerate(sent):
        producer.produce(
            topic,
            f"{text} {number}",
            key=str(number % 5),
            partition=partition,
            timestamp=time,
        )
    assert producer.flush(FLUSH_SECONDS) == 0


def contents(records: Sequence[Message], span: Span) -> list[bytes | None]:
    return [
        record.value()
        for record in records
        if span.start <= (record.offset() or 0) < span.end
    ]


def both_sides(lab: Lab, lane: Lane) -> tuple[list[object], list[object]]:
    """Return what a lane holds on both sides, by plain consumers."""
    (source,) = lane.sources
    records = {
        side: [
            record
            for record in site.topics.read(lane.target_topic)
            if record.partition() == lane.partition
        ]
        for side, site in (("source", lab.source), ("target", lab.target))
    }
    return (
        [*contents(records["source"], source.span)],
        [*contents(records["target"], lane.span)],
    )


@contextmanager
def traffic(lab: Lab) -> Iterator[None]:
    """Write to all partitions of the busy topic, some hundred a second."""
    stopping = Event()

    def run() -> None:
        client = {"bootstrap.servers": lab.source.bootstrap, "linger.ms": 5}
        producer = Producer(client)
        number = 0
        while not stopping.wait(0.02):
            for partition in range(TOPICS[BUSY]):
                for _ in range(partition * 3 + 1):
                    producer.produce(
                        BUSY, f"{partition} {number}", partition=partition
                    )
                    number += 1
            producer.poll(0)
        producer.flush(FLUSH_SECONDS)

    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


@pytest.fixture(scope="module")
def first(lab: Lab) -> Plan:
    """The first night, when everything rests."""
    for topic in (IDLE, APPENDED, EXPIRING):
        produce(lab, topic, [f"{topic} {n}" for n in range(50)])
    now = int(utc_now().timestamp() * 1000)
    write(lab, COMPACTED, 0, [now] * 50, COMPACTED)
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
    positions: dict[str, int | None] = {}

    def settled() -> bool:
        plan = freeze_night(lab, Ends(), OURS)
        positions.update(
            (lane.topic, lane.sources[0].position) for lane in plan.lanes
        )
        return all(lane.cut == "idle" for lane in plan.lanes)

    wait_until(settled, what=lambda: f"not all rest: {positions}")
    return freeze_night(lab, Ends())


def test_every_carried_partition_is_a_lane_and_internal_topics_are_none(
    first: Plan,
) -> None:
    topics = {lane.target_topic for lane in first.lanes}
    assert topics >= TOPICS.keys() - {NOWHERE}
    assert not [t for t in topics if "internal" in t or t.startswith("__")]
    assert set(lanes_of(first, IDLE)) == {0, 1}
    assert set(lanes_of(first, BUSY)) == {0, 1, 2}


def test_a_topic_at_rest_is_compared_whole(first: Plan) -> None:
    lane = lanes_of(first, IDLE)[0]
    assert lane.cut == "idle"
    assert (lane.span, lane.sources[0].span) == (Span(0, 50), Span(0, 50))
    assert lane.sources[0].position == 50
    assert lane.timestamps
    assert not lane.compacted
    assert not lane.read_committed
    assert len(lanes_of(first, EMPTY)[0].span) == 0


def test_markers_at_the_end_are_no_records_in_flight(first: Plan) -> None:
    lane = lanes_of(first, TRANSACTIONS)[0]
    assert lane.sources[0].span == Span(0, 6)
    assert lane.span == Span(0, 3)
    assert lane.sources[0].position == 6
    assert TRANSACTIONS not in {stated.topic for stated in first.stated}


def test_compaction_and_the_brokers_own_timestamps_are_known(
    first: Plan,
) -> None:
    assert lanes_of(first, COMPACTED)[0].compacted
    assert not lanes_of(first, APPENDED)[0].timestamps
    assert lanes_of(first, COMPACTED)[0].timestamps


def test_records_without_a_target_topic_are_unverifiable(first: Plan) -> None:
    (gap,) = first.unverifiable
    assert (gap.topic, gap.partition, gap.records) == (NOWHERE, 0, 3)
    assert "not at the target" in gap.reason


def test_nights_join_without_a_gap_while_the_mirror_copies(
    lab: Lab, first: Plan
) -> None:
    ends, audited = ends_after(first, Ends()), dict[int, int]()
    with traffic(lab):
        for _ in range(4):
            before = len(values(lab, "target", BUSY))
            wait_until(
                lambda: len(values(lab, "target", BUSY)) > before + 500,  # noqa: B023
                what=lambda: "nothing is copied",
            )
            plan = freeze_night(lab, ends, BUSY)
            assert plan.unverifiable == ()
            for partition, lane in lanes_of(plan, BUSY).items():
                source, target = both_sides(lab, lane)
                assert source == target
                print(partition, lane.cut, lane.span, lane.sources[0].position)
                assert lane.sources[0].span.start == audited.get(partition, 0)
                assert len(lane.span) > 0
                audited[partition] = lane.sources[0].span.end
            assert recheck(a_config(lab), plan) == ()
            ends = ends_after(plan, ends)


def test_what_the_mirror_has_not_read_is_in_flight(
    lab: Lab, first: Plan
) -> None:
    before = ends_after(first, Ends())
    produce(lab, IDLE, ["copied"])
    copied(lab, IDLE, ["copied"])
    at_rest(lab, before, IDLE)
    lab.mirror.freeze()
    try:
        produce(lab, IDLE, ["waits"] * 7)
        plan = freeze_night(lab, before, IDLE)
        lane = lanes_of(plan, IDLE)[0]
        assert [s.count for s in plan.stated] == [7]
        assert lane.sources[0].span == Span(50, 51)
        assert both_sides(lab, lane) == ([b"copied"], [b"copied"])
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
    plan = freeze_night(lab, ends_after(first, Ends()), EXPIRING, "1h")
    lane = lanes_of(plan, EXPIRING)[0]
    assert len(lane.span) == len(lane.sources[0].span) == 0
    young = freeze_night(lab, Ends(), EXPIRING, "1h")
    lane = lanes_of(young, EXPIRING)[0]
    assert (len(lane.sources[0].span), len(lane.span)) == (0, 0)
    assert (young.stated, young.unverifiable) == ((), ())


def test_a_window_is_cut_by_the_times_of_records(lab: Lab) -> None:
    now = utc_now().replace(microsecond=0)
    times = [now + timedelta(minutes=n) for n in range(-600, -500)]
    # One is out of order by hours, and belongs to the window.
    times[80] = now - timedelta(minutes=585)
    write(lab, TIMED, 0, [int(t.timestamp() * 1000) for t in times], "timed")
    copied(lab, TIMED, [f"timed {n}" for n in range(100)])
    window = Window(times[10], times[20])
    plan = freeze(
        a_config(lab),
        Request(window=window, topics=TIMED),
        Ends(),
        clock=utc_now,
    )
    (lane,) = plan.lanes
    assert (lane.cut, plan.window, plan.unverifiable) == ("window", window, ())
    assert lane.sources[0].span == lane.span == Span(10, 100)
    assert ends_after(plan, Ends()) == Ends()


def test_a_window_without_timestamps_lies_between_syncs(
    lab: Lab, first: Plan
) -> None:
    window = Window(first.at - timedelta(hours=1), first.at)
    plan = freeze(
        a_config(lab),
        Request(window=window, topics=APPENDED),
        Ends(),
        clock=utc_now,
    )
    assert [lane.span for lane in plan.lanes] == [Span(0, 50)]
    assert plan.unverifiable == ()


def test_what_expired_is_unverifiable_before_and_after_reading(
    lab: Lab, first: Plan
) -> None:
    before = freeze_night(lab, Ends(), EXPIRING)
    lab.delete_records(EXPIRING, {0: 10})
    (gap,) = recheck(a_config(lab), before)
    assert (gap.topic, gap.partition) == (EXPIRING, 0)
    assert "expired at the source" in gap.reason

    early = ends_after(first, Ends())
    early = replace(
        early,
        ends=tuple(
            replace(end, source_end=5, target_end=5)
            if end.topic == EXPIRING
            else end
            for end in early.ends
        ),
    )
    after = freeze_night(lab, early, EXPIRING)
    (gap,) = after.unverifiable
    assert gap.reason == "expired at the source before it was audited"
    assert gap.records is not None
    assert gap.records >= 5
    for lane in after.lanes:
        source, target = both_sides(lab, lane)
        assert source == target

    window = Window(first.at - timedelta(days=1), first.at)
    adhoc = freeze(
        a_config(lab),
        Request(window=window, topics=EXPIRING),
        Ends(),
        clock=utc_now,
    )
    assert adhoc.lanes == ()
    assert "may have expired at the source" in adhoc.unverifiable[0].reason


def test_a_cluster_that_cannot_be_reached_is_named(lab: Lab) -> None:
    away: Mapping[str, object] = {
        "kafka": {"bootstrap.servers": "127.0.0.1:1"}
    }
    config = a_config(lab, ldf=away)
    with pytest.raises(SourceUnavailableError, match="ldf"):
        freeze(config, Request(), Ends(), clock=utc_now)


def at_rest(lab: Lab, ends: Ends, topic: str) -> None:
    """Wait until the mirror says that it copied all of a topic."""
    wait_until(
        lambda: all(
            lane.cut == "idle" for lane in freeze_night(lab, ends, topic).lanes
        ),
        what=lambda: f"{topic} does not rest",
    )
