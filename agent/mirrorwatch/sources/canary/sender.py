"""Puts probes into the source topic and hears what became of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from confluent_kafka import KafkaError, Producer
from confluent_kafka import Message as KafkaMessage

from ...domain.canary import PROBE_BYTES, Message
from ..kafka import QUIET
from .settings import CanarySettings

__all__ = ["SEND_TIMEOUT_AT_LEAST", "Outcome", "Sender", "send_timeout"]

SEND_TIMEOUT_AT_LEAST = timedelta(seconds=10)
"""A broker that restarts is back within this; a shorter deadline must not
make each of its restarts a row of doubtful sends."""

NEVER_WRITTEN = {
    KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001 - how the library names it
    KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001 - how the library names it
    KafkaError._PURGE_QUEUE,  # noqa: SLF001 - how the library names it
    KafkaError._QUEUE_FULL,  # noqa: SLF001 - how the library names it
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.MSG_SIZE_TOO_LARGE,
    KafkaError.INVALID_RECORD,
    KafkaError.POLICY_VIOLATION,
}
"""Errors with which the broker, or the client before it, refused the record.
After any other one nobody knows whether it was written."""


def send_timeout(deadline: timedelta) -> timedelta:
    """Return how long the producer tries to send a probe."""
    return max(deadline, SEND_TIMEOUT_AT_LEAST)


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What became of a send."""

    message: Message
    """The probe."""

    source_offset: int | None = None
    """Where it was stored; `None` if it is not known to be."""

    took: timedelta = timedelta()
    """From send to acknowledgement."""

    refused: str | None = None
    """Why it was certainly not stored."""

    error: str | None = None
    """Why nobody knows whether it was stored."""


class Sender:
    """Sends probes to explicit partitions, idempotently.

    Parameters
    ----------
    properties
        librdkafka properties of the source cluster.
    settings
        What the canary was told.
    on_outcome
        Called for each probe, from within `poll`.
    """

    def __init__(
        self,
        properties: Mapping[str, str],
        settings: CanarySettings,
        on_outcome: Callable[[Outcome], None],
    ) -> None:
        timeout = send_timeout(settings.deadline)
        self._properties: dict[str, Any] = {
            **properties,
            **QUIET,
            "enable.idempotence": "true",
            "linger.ms": 0,
            "message.timeout.ms": int(timeout.total_seconds() * 1000),
        }
        # Not known to producers: they create what they name. The topic is
        # named only after it was seen to exist.
        del self._properties["allow.auto.create.topics"]
        self._settings = settings
        self._on_outcome = on_outcome
        self._producer = Producer(self._properties)

    def send(self, message: Message, size: int = PROBE_BYTES) -> None:
        """Hand a probe to the producer."""

        def report(error: KafkaError | None, sent: KafkaMessage) -> None:
            self._report(message, error, sent)

        try:
            self._producer.produce(
                self._settings.topic,
                partition=message.partition,
                key=message.key,
                value=message.encode(size),
                headers=self._settings.headers(message),
                timestamp=int(message.sent_at.timestamp() * 1000),
                on_delivery=report,
            )
        except BufferError:
            self._on_outcome(
                Outcome(message=message, refused="The send queue is full")
            )

    def poll(self) -> None:
        """Hear what became of sends so far. Does not wait."""
        self._producer.poll(0)

    def close(self, patience: float) -> None:
        """Wait some seconds for outcomes, then drop what is not sent."""
        self._producer.flush(patience)
        self._producer.purge(in_queue=True, in_flight=False)
        self._producer.poll(0)

    def _report(
        self, message: Message, error: KafkaError | None, sent: KafkaMessage
    ) -> None:
        if error is None:
            # The library's own stopwatch: exact however late we hear of it.
            took = timedelta(seconds=sent.latency() or 0.0)
            outcome = Outcome(
                message=message, source_offset=sent.offset(), took=took
            )
        elif error.code() in NEVER_WRITTEN:
            outcome = Outcome(message=message, refused=error.str())
        else:
            outcome = Outcome(message=message, error=error.str())
        self._on_outcome(outcome)
        if error is not None and error.fatal():
            # An idempotent producer never recovers from a fatal error.
            self._producer = Producer(self._properties)
