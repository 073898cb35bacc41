"""The traffic of the demo."""

import json
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from itertools import takewhile

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from mirrorwatch.clock import utc_now
from mirrorwatch_lab.traffic import TRAFFIC_TOPICS, Signal, Traffic, plan
from mirrorwatch_lab.waiting import wait_until

pytestmark = pytest.mark.slow

MINUTES = 30


def first(seconds: float, seed: int = 1) -> list[Signal]:
    return list(takewhile(lambda s: s.at < seconds, plan(seed)))


@pytest.fixture(scope="module")
def signals() -> tuple[Signal, ...]:
    """Plan half an hour, for all who only look at it."""
    return tuple(first(MINUTES * 60))


def kind(topic: str) -> str:
    for part in ("command", "logevent"):
        if f".{part}_" in topic:
            return part
    return "telemetry"


@pytest.fixture
def bootstrap() -> Iterator[str]:
    cluster = Producer({"test.mock.num.brokers": 1})
    broker = next(iter(cluster.list_topics(timeout=60).brokers.values()))
    yield f"{broker.host}:{broker.port}"
    cluster.flush(1)


def test_there_are_topics_of_every_class() -> None:
    classes = Counter(kind(topic) for topic in TRAFFIC_TOPICS)
    assert classes == {"telemetry": 12, "command": 8, "logevent": 12}


def test_the_same_seed_makes_the_same_traffic() -> None:
    assert first(20) == first(20)
    assert first(20) != first(20, seed=2)


def test_time_never_goes_back(signals: tuple[Signal, ...]) -> None:
    times = [signal.at for signal in signals]
    assert times == sorted(times)
    assert times[0] >= 0


def test_every_topic_gets_records_and_no_other(
    signals: tuple[Signal, ...],
) -> None:
    assert {s.topic for s in signals} == set(TRAFFIC_TOPICS)


def test_telemetry_is_steady_commands_are_rare_and_events_burst(
    signals: tuple[Signal, ...],
) -> None:
    rates = Counter(kind(signal.topic) for signal in signals)
    assert 26 < rates["telemetry"] / (MINUTES * 60) < 28
    assert 0.15 < rates["command"] / (MINUTES * 60) < 0.4
    assert 0.8 < rates["logevent"] / (MINUTES * 60) < 2

    def busiest_second(what: str) -> float:
        counts = Counter(int(s.at) for s in signals if kind(s.topic) == what)
        return max(counts.values()) / (rates[what] / (MINUTES * 60))

    assert busiest_second("telemetry") < 1.5
    assert busiest_second("logevent") > 5


def test_records_are_json_of_100_to_600_bytes() -> None:
    for signal in first(60):
        value = signal.to_json(12, 1_700_000_000.123)
        assert 100 <= len(value) <= 600
        assert json.loads(value)["private_sndStamp"] == 1_700_000_000.123


def test_a_cluster_gets_what_was_counted_with_our_timestamps(
    bootstrap: str,
) -> None:
    before = utc_now()
    with Traffic({"bootstrap.servers": bootstrap}) as traffic:
        wait_until(
            lambda: sum(traffic.acked.values()) >= 40,
            limit=timedelta(seconds=240),
            what="The cluster took no 40 records",
        )
    after = utc_now()
    assert traffic.failed == 0
    acked = traffic.acked
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused"})
    try:
        for topic, count in acked.items():
            found = consumer.list_topics(topic, timeout=60).topics[topic]
            ends = [
                consumer.get_watermark_offsets(TopicPartition(topic, p))
                for p in found.partitions
            ]
            assert sum(high - low for low, high in ends) == count
        topic = next(iter(acked))
        consumer.assign(
            [
                TopicPartition(topic, p, 0)
                for p in consumer.list_topics(topic, timeout=60)
                .topics[topic]
                .partitions
            ]
        )
        message = consumer.poll(60)
        assert message is not None
        assert message.error() is None
        _, milliseconds = message.timestamp()
        assert before.timestamp() <= milliseconds / 1000 + 0.001
        assert milliseconds / 1000 <= after.timestamp() + 0.001
        value = json.loads(message.value() or b"")
        assert value["private_sndStamp"] * 1000 == pytest.approx(
            milliseconds, abs=1
        )
    finally:
        consumer.close()
