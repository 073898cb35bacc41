"""One canary record: on the wire, and while it is under way."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

__all__ = ["PROBE_BYTES", "Message", "Probe"]

PROBE_BYTES = 256
"""Size of a probe's value. Small enough never to trouble a mirror, and below
every sensible ``max.message.bytes``."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """What a probe carries."""

    run: str
    """Identity of the state file that numbered the probe. Sequences continue
    from the state file, so another run's numbers mean nothing here."""

    flow: str
    """Name of the flow: several may share one canary topic."""

    partition: int
    """Partition that it was sent to."""

    sequence: int
    """Number on that partition, from 1, without gaps."""

    sent_at: datetime
    """T0, in whole microseconds (UTC)."""

    @property
    def key(self) -> bytes:
        """Record key. Unique, so that a compacted topic keeps every probe."""
        return f"{self.flow}/{self.partition}/{self.sequence}".encode()

    def encode(self, size: int = PROBE_BYTES) -> bytes:
        """Return the record value: JSON, padded to a size in bytes."""
        body = {
            "run": self.run,
            "flow": self.flow,
            "partition": self.partition,
            "sequence": self.sequence,
            "sent_us": (self.sent_at - _EPOCH) // _MICROSECOND,
        }
        return json.dumps(body, separators=(",", ":")).encode().ljust(size)

    @classmethod
    def decode(cls, value: bytes | None) -> "Message | None":
        """Read a record value, `None` if it is not a probe."""
        try:
            body = json.loads(value or b"")
            return cls(
                run=str(body["run"]),
                flow=str(body["flow"]),
                partition=int(body["partition"]),
                sequence=int(body["sequence"]),
                sent_at=_EPOCH + int(body["sent_us"]) * _MICROSECOND,
            )
        except (ValueError, KeyError, TypeError, OverflowError):
            return None


@dataclass(kw_only=True, slots=True)
class Probe:
    """A probe that is under way: sent, and neither arrived nor given up."""

    sequence: int
    """Number on its partition."""

    sent_at: datetime
    """T0."""

    incarnation: int
    """Which incarnation of the source topic it was sent to; topics can be
    re-created, and offsets of two incarnations cannot be compared."""

    warming: bool = False
    """Sent before the mirror had the time to find the partition, so it has no
    deadline."""

    floor: int = 0
    """Lowest source offset that it can have."""

    doubtful: bool = False
    """The producer does not know whether it was written."""

    source_offset: int | None = None
    """Where it was written at the source, once that is known."""

    acked_at: datetime | None = None
    """T1: when the source acknowledged it."""

    passed_at: datetime | None = None
    """When a probe with a higher source offset first arrived before it."""

    unseen: bool = False
    """It may have arrived and gone before the agent could read it, so that
    its absence at the target proves nothing."""

    @property
    def due_from(self) -> datetime:
        """When the mirror could first read it: its deadline starts here. A
        source that was slow to store it does not make the mirror late.
        """
        return self.acked_at or self.sent_at
