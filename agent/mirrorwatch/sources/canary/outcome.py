"""What became of a send."""

from dataclasses import dataclass
from datetime import timedelta

from confluent_kafka import KafkaError

from ...domain.canary import Message

__all__ = ["NEVER_WRITTEN", "Outcome"]

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
