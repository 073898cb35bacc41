"""Topics of every kind for an audit, and many records for them."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from confluent_kafka import Producer

from mirrorwatch.clock import utc_now
from mirrorwatch_lab import Lab
from tests.support.lab import FLUSH_SECONDS

__all__ = ["CONFIGS", "KEYS", "PARTITIONS", "SHARES", "fill"]

PARTITIONS = {
    "nights.telemetry": 3,
    "nights.headers": 2,
    "nights.nulls": 1,
    "nights.compacted": 1,
    "nights.transactions": 1,
    "nights.large": 1,
    "nights.stamped": 1,
    "nights.unordered": 1,
}
"""Partitions of each topic."""

CONFIGS = {
    "nights.compacted": {"cleanup.policy": "compact"},
    "nights.stamped": {"message.timestamp.type": "LogAppendTime"},
}
"""How two of them are configured."""

SHARES = {
    "nights.telemetry": 600,
    "nights.headers": 100,
    "nights.nulls": 50,
    "nights.compacted": 50,
    "nights.transactions": 40,
    "nights.large": 5,
    "nights.stamped": 55,
    "nights.unordered": 100,
}
"""Records of each topic, of a thousand."""

KEYS = 1000
"""Keys of the compacted topic."""

BATCH = 500
"""Records of a transaction; one in four is aborted."""

SPREAD = timedelta(hours=6)
"""How far out of time order records are."""

Make = Callable[[int], dict[str, Any]]


def telemetry(n: int) -> dict[str, Any]:
    return {"key": b"%d" % (n % 97), "value": b"%0200d" % n}


def with_headers(n: int) -> dict[str, Any]:
    headers = [("unit", b"deg"), ("seq", b"%d" % n), ("none", None)]
    return {"value": b"%050d" % n, "headers": headers}


def nulls(n: int) -> dict[str, Any]:
    keys, values = (None, b"", b"k"), (None, b"", b"%d" % n)
    return {"key": keys[n % 3], "value": values[n // 3 % 3]}


def compacted(n: int) -> dict[str, Any]:
    # Every tenth record of a key is its tombstone.
    value = None if n // KEYS % 10 == 9 else b"%040d" % n
    return {"key": b"%d" % (n % KEYS), "value": value}


def large(n: int) -> dict[str, Any]:
    return {"value": b"%010d" % n * 1000}


def unordered(n: int) -> dict[str, Any]:
    back = SPREAD * ((n * 7919) % 1000) / 1000
    at = round((utc_now() - back).timestamp() * 1000)
    return {"value": b"%060d" % n, "timestamp": at}


MAKERS: Mapping[str, Make] = {
    "nights.telemetry": telemetry,
    "nights.headers": with_headers,
    "nights.nulls": nulls,
    "nights.compacted": compacted,
    "nights.large": large,
    "nights.stamped": telemetry,
    "nights.unordered": unordered,
}


def fill(lab: Lab, topic: str, first: int, last: int) -> None:
    """Write records of one kind, numbered, in order."""
    properties: dict[str, Any] = {
        "bootstrap.servers": lab.source.bootstrap,
        "log_level": 0,
        "linger.ms": 20,
        "queue.buffering.max.messages": 200_000,
    }
    if topic == "nights.transactions":
        _fill_in_transactions(properties, topic, first, last)
        return
    make, partitions = MAKERS[topic], PARTITIONS[topic]
    producer = Producer(properties)
    for n in range(first, last):
        record = {"partition": n % partitions, **make(n)}
        while True:
            try:
                producer.produce(topic, **record)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(FLUSH_SECONDS) == 0


def _fill_in_transactions(
    properties: dict[str, Any], topic: str, first: int, last: int
) -> None:
    producer = Producer({**properties, "transactional.id": f"{topic}-{first}"})
    producer.init_transactions(FLUSH_SECONDS)
    for number, begin in enumerate(range(first, last, BATCH)):
        producer.begin_transaction()
        for n in range(begin, min(begin + BATCH, last)):
            producer.produce(topic, b"%050d" % n, partition=0)
        if number % 4 == 3:
            # Sent, so that it is in the log: MirrorMaker 2 copies it.
            producer.flush(FLUSH_SECONDS)
            producer.abort_transaction(FLUSH_SECONDS)
        else:
            producer.commit_transaction(FLUSH_SECONDS)
