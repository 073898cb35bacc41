"""What groups leave at a source that is lost, and read at the target."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Producer, TopicPartition

from mirrorwatch_lab import Lab
from mirrorwatch_lab.faults import MARK

from .group import open_group
from .lab import FLUSH_SECONDS, carry, copied, numbered, produce
from .watch import wait_until

__all__ = ["OFTEN", "Log", "fill_with_gaps", "is_as_announced", "read_on"]

OFTEN = {
    "emit.checkpoints.interval.seconds": "5",
    "refresh.groups.interval.seconds": "5",
}
"""Checkpoints, and looking for groups, at other intervals than by default."""


@dataclass(frozen=True)
class Log:
    """Offsets and values of one partition."""

    records: Sequence[tuple[int, str]]

    @classmethod
    def read(cls, lab: Lab, side: str, topic: str, partition: int) -> "Log":
        site = lab.source if side == "source" else lab.target
        return cls(
            [
                (record.offset() or 0, (record.value() or b"").decode())
                for record in site.topics.read(topic)
                if record.partition() == partition
            ]
        )

    def values(self, first: int = 0) -> list[str]:
        return [value for offset, value in self.records if offset >= first]


def fill_with_gaps(lab: Lab) -> None:
    """Write 240 records to ``dropped``, with 7 and 5 between them that are
    dropped, at 120 and 217, and three transactions of 40 to ``marked``.
    """
    carry(lab, "dropped", numbered("d", 0, 120))
    produce(lab, "dropped", numbered("x", 0, 7), headers={MARK: b""})
    carry(lab, "dropped", numbered("d", 120, 210))
    produce(lab, "dropped", numbered("y", 0, 5), headers={MARK: b""})
    carry(lab, "dropped", numbered("d", 210, 240))
    producer = Producer(
        {"bootstrap.servers": lab.source.bootstrap, "transactional.id": "t"}
    )
    producer.init_transactions(FLUSH_SECONDS)
    for first in (0, 40, 80):
        producer.begin_transaction()
        for value in numbered("m", first, first + 40):
            producer.produce("marked", value, partition=0)
        producer.commit_transaction(FLUSH_SECONDS)
    copied(lab, "marked", ["m 119"])


def read_on(
    lab: Lab, name: str, places: Sequence[tuple[str, int]]
) -> dict[tuple[str, int], list[str]]:
    """Return what a group reads at the target from its committed offsets."""
    consumer = open_group(lab.target.bootstrap, name)
    found: dict[tuple[str, int], list[str]] = {p: [] for p in places}
    ended: set[tuple[str, int]] = set()
    consumer.assign([TopicPartition(*place) for place in places])

    def has_ended() -> bool:
        for message in consumer.consume(500, timeout=1):
            place = message.topic() or "", message.partition() or 0
            if message.error():
                ended.add(place)
            else:
                found[place].append((message.value() or b"").decode())
        return len(ended) == len(places)

    wait_until(has_ended)
    consumer.close()
    return found


def is_as_announced(start: Mapping[str, Any], repeated: int) -> bool:
    if start["exact"]:
        return bool(repeated == start["repeated"])
    return bool(repeated <= start["repeated"])
