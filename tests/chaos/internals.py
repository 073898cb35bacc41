"""Keeps what the mirror writes of its positions, for a run that fails.

Nothing is graded by it: an engineer reads it beside the agent's looks.
"""

import json
import struct
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Any, Self

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

__all__ = ["InternalTopics", "to_words"]

POLL_SECONDS = 0.5


class InternalTopics(AbstractContextManager["InternalTopics"]):
    """Writes each record of internal topics to a file, one JSON object a line.

    Parameters
    ----------
    path
        The file.
    topics
        Topics, by the address of the side that has them.
    now
        Returns the seconds since the start of the run.
    """

    def __init__(
        self,
        path: Path,
        topics: Mapping[str, str],
        now: Callable[[], float],
    ) -> None:
        self._path = path
        self._topics = topics
        self._now = now
        self._stopping = Event()
        self._threads = [
            Thread(target=self._run, args=(*item,), daemon=True)
            for item in topics.items()
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _run(self, bootstrap: str, topic: str) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "chaos-internals",
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "allow.auto.create.topics": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_uncommitted",
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )
        try:
            if not self._assign(consumer, topic):
                return
            # Each thread appends whole lines: no lock is needed.
            with self._path.open("a", buffering=1) as file:
                while not self._stopping.is_set():
                    for message in consumer.consume(500, POLL_SECONDS):
                        if message.error() is None:
                            file.write(self._line(message))
        finally:
            consumer.close()

    def _assign(self, consumer: Consumer, topic: str) -> bool:
        while not self._stopping.is_set():
            # The mirror makes them a moment after its start.
            with suppress(KafkaException):
                found = consumer.list_topics(timeout=1).topics.get(topic)
                if found is not None and found.partitions:
                    consumer.assign(
                        [TopicPartition(topic, p, 0) for p in found.partitions]
                    )
                    return True
            self._stopping.wait(POLL_SECONDS)
        return False

    def _line(self, message: Message) -> str:
        return (
            json.dumps(
                {
                    "at": round(self._now(), 2),
                    "written": message.timestamp()[1],
                    "topic": message.topic(),
                    "partition": message.partition(),
                    "offset": message.offset(),
                    "says": to_words(message.key(), message.value()),
                }
            )
            + "\n"
        )


def to_words(key: bytes | None, value: bytes | None) -> Any:
    """Return an offset-sync or a record of Connect in a form to read.

    Offset-syncs as in OffsetSync.java: ``topic`` and ``partition`` in the key,
    the offsets of both sides in the value.
    """
    if key is None or value is None or key[:1] == b"[":
        return [_text(key), _text(value)]
    try:
        (length,) = struct.unpack_from(">h", key)
        topic = key[2 : 2 + length].decode()
        (partition,) = struct.unpack_from(">i", key, 2 + length)
        return [f"{topic}-{partition}", *struct.unpack(">qq", value)]
    except (struct.error, UnicodeDecodeError):
        return [_text(key), _text(value)]


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="backslashreplace")
