"""Consumer groups of a lab, at its source unless said otherwise."""

from collections.abc import Mapping, Sequence
from threading import Event, Thread
from typing import Self

from confluent_kafka import Consumer, KafkaException, TopicPartition

from mirrorwatch_lab import Lab

from .watch import wait_until

__all__ = ["GROUP", "Group", "commit", "open_group"]

GROUP = "efd-loader"


class Group:
    """One that reads on and on, so that checkpoints go on as well."""

    def __init__(
        self,
        lab: Lab,
        topics: Sequence[str],
        *,
        name: str = "readers",
        bootstrap: str | None = None,
    ) -> None:
        self._topics = list(topics)
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap or lab.source.bootstrap,
                "group.id": name,
                "auto.offset.reset": "earliest",
                "auto.commit.interval.ms": 1000,
                "log_level": 0,
            }
        )
        self._ended = Event()
        self._thread = Thread(target=self._run)

    def __enter__(self) -> Self:
        self._consumer.subscribe(self._topics)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._consumer.close()

    def _run(self) -> None:
        while not self._ended.is_set():
            self._consumer.consume(100, timeout=0.5)


def open_group(bootstrap: str, name: str) -> Consumer:
    """Return a consumer of a group; nothing is committed by itself."""
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": name,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "log_level": 0,
        }
    )


def commit(
    bootstrap: str, group: str, offsets: Mapping[tuple[str, int], int]
) -> None:
    """Let a group be this far, by topic and partition."""
    consumer = open_group(bootstrap, group)
    places = [TopicPartition(t, p, o) for (t, p), o in offsets.items()]

    def is_taken() -> bool:
        try:
            consumer.commit(offsets=places, asynchronous=False)
        except KafkaException as e:
            # The broker may be about to find out that it coordinates.
            print(f"Not committed: {e}")
            return False
        return True

    try:
        wait_until(is_taken)
    finally:
        consumer.close()
