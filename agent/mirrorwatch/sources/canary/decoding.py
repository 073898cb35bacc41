"""Reads a probe's value, whichever way it was written."""

from ...domain.canary import Message
from .encoding import AVRO_MAGIC

__all__ = ["decode"]


def decode(value: bytes | None) -> Message | None:
    """Read a record value, `None` if it is not a probe.

    Both formats are always read: after a change of the format the topic
    holds the other one too.
    """
    if value is None or not value.startswith(AVRO_MAGIC):
        return Message.decode(value)
    # Loaded by the first record that needs it: most agents never see one.
    from .avro import decode_avro  # noqa: PLC0415

    return decode_avro(value)
