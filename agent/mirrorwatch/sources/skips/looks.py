"""How records look: what a mirror leaves alone of them, as numbers."""

from dataclasses import dataclass
from hashlib import blake2b

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Message

__all__ = ["Look", "look_of"]


@dataclass(frozen=True, slots=True)
class Look:
    """One record."""

    content: int
    """Of key and value."""

    timestamp: int
    """Milliseconds; a copy has that of its record."""

    by_broker: bool
    """Whether the broker set it when it stored the record."""

    def number(self, *, timed: bool) -> int:
        """Return one number; two records are alike if theirs are equal.

        Parameters
        ----------
        timed
            Whether the timestamp counts.
        """
        return hash((self.content, self.timestamp if timed else None))


def look_of(message: Message) -> Look:
    """Return how a record looks.

    Headers are left out: transforms add and remove them, and nothing else
    of a record that MirrorMaker 2 copies can be altered by Connect's own.
    """
    digest = blake2b(digest_size=8)
    for part in (message.key(), message.value()):
        content = b"" if part is None else bytes(part)
        digest.update(b"-" if part is None else b"%d:" % len(content))
        digest.update(content)
    kind, milliseconds = message.timestamp()
    return Look(
        content=int.from_bytes(digest.digest(), "big"),
        timestamp=int(milliseconds),
        by_broker=kind == TIMESTAMP_LOG_APPEND_TIME,
    )
