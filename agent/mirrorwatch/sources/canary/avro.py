"""Probes as Avro, in the wire format of schema registries."""

import json
import struct
from importlib import resources
from io import BytesIO
from typing import Any

from fastavro import parse_schema, schemaless_reader, schemaless_writer
from fastavro.schema import SchemaParseException, to_parsing_canonical_form

from ...domain.canary import Message
from .encoding import AVRO_MAGIC

__all__ = ["SCHEMA", "Avro", "decode_avro", "is_same_schema"]

_FILE = resources.files(__package__) / "probe.avsc"

SCHEMA = json.dumps(json.loads(_FILE.read_text(encoding="utf-8")))
"""Schema of a probe. Every probe in a topic is read by it, so a new version
must go on reading what this one wrote."""

_PARSED = parse_schema(json.loads(SCHEMA))
_CANONICAL = to_parsing_canonical_form(json.loads(SCHEMA))
_ID = struct.Struct(">I")
_HEAD_BYTES = len(AVRO_MAGIC) + _ID.size


class Avro:
    """Writes probes as Avro, once their schema has an id.

    Notes
    -----
    One thread registers the schema, another one writes and reads probes.
    """

    def __init__(self) -> None:
        self.schema_id: int | None = None
        """What the source's registry calls the schema, once that is known."""

        self.arrived_id: int | None = None
        """Schema id of the probe that arrived last."""

    @property
    def ready(self) -> bool:
        """Whether the schema has an id."""
        return self.schema_id is not None

    def encode(self, message: Message, size: int) -> bytes:
        """Return the record value, padded to a size in bytes.

        Raises
        ------
        RuntimeError
            Raised if the schema has no id: it must not be sent without one.
        """
        if self.schema_id is None:
            raise RuntimeError("No schema id yet")
        head = AVRO_MAGIC + _ID.pack(self.schema_id)
        room = size - len(head) - len(_write(message, 0))
        # Its length is written too, in one byte as long as it is zero.
        value = head + _write(message, max(0, room))
        excess = max(0, len(value) - size)
        if excess and room > excess:
            value = head + _write(message, room - excess)
        return value

    def note_arrival(self, value: bytes) -> None:
        """Remember by which schema a probe can be read."""
        if value.startswith(AVRO_MAGIC):
            (self.arrived_id,) = _ID.unpack_from(value, len(AVRO_MAGIC))


def decode_avro(value: bytes) -> Message | None:
    """Read a record value, `None` if it is not a probe."""
    try:
        body: Any = schemaless_reader(
            BytesIO(value[_HEAD_BYTES:]), _PARSED, None
        )
    except (EOFError, IndexError, OverflowError, ValueError):
        return None
    return Message(
        run=body["run"],
        flow=body["flow"],
        partition=body["partition"],
        sequence=body["sequence"],
        sent_at=body["sent_at"],
    )


def is_same_schema(text: str) -> bool:
    """Whether a schema reads a probe as `SCHEMA` does.

    Registries write a schema in their own way: white space, documentation
    and the order of attributes are of no account.
    """
    try:
        return to_parsing_canonical_form(json.loads(text)) == _CANONICAL
    except (ValueError, KeyError, TypeError, SchemaParseException):
        return False


def _write(message: Message, padding: int) -> bytes:
    out = BytesIO()
    schemaless_writer(
        out,
        _PARSED,
        {
            "run": message.run,
            "flow": message.flow,
            "partition": message.partition,
            "sequence": message.sequence,
            "sent_at": message.sent_at,
            "padding": bytes(padding),
        },
    )
    return out.getvalue()
