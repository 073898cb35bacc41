"""How a probe's value is written."""

from typing import Protocol

from ...domain.canary.model import ProbeMessage

__all__ = ["AVRO_MAGIC", "Encoding", "Json", "decode"]


AVRO_MAGIC = b"\x00"
"""First byte of a value with a schema id. No JSON begins with it."""


class Encoding(Protocol):
    """Writes the values of probes."""

    @property
    def ready(self) -> bool:
        """Whether a probe can be written now."""
        ...

    def encode(self, message: ProbeMessage, size: int) -> bytes:
        """Return the record value, padded to a size in bytes."""
        ...

    def note_arrival(self, value: bytes) -> None:
        """Take note of the value of a probe of ours that has arrived."""
        ...


class Json:
    """Writes probes as JSON, for which nothing is needed."""

    ready = True

    def encode(self, message: ProbeMessage, size: int) -> bytes:
        """Return the record value, padded to a size in bytes."""
        return message.encode(size)

    def note_arrival(self, value: bytes) -> None:
        """Do nothing: whoever can read the record can read JSON."""


def decode(value: bytes | None) -> ProbeMessage | None:
    """Read a record value, `None` if it is not a probe.

    Both formats are always read: after a change of the format the topic
    holds the other one too.
    """
    if value is None or not value.startswith(AVRO_MAGIC):
        return ProbeMessage.decode(value)
    # Loaded by the first record that needs it: most agents never see one.
    from .avro import decode_avro  # noqa: PLC0415

    return decode_avro(value)
