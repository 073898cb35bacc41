"""Encoding of a probe's value: JSON or Avro.

Avro is in the wire format of schema registries: a zero byte, the schema id in
four, then the record.
"""

import json
import struct
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import resources
from io import BytesIO
from itertools import count
from typing import Any, Protocol

from pydantic_core import from_json

from ...domain.canary.model import ProbeMessage
from ...domain.offsets import LARGEST_INT, to_number

__all__ = ["SCHEMA", "Avro", "Encoding", "Json", "decode", "hashed_key"]
__all__ += ["is_same_schema", "murmur2"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Encoding(Protocol):
    """Writes the values of probes."""

    @property
    def ready(self) -> bool:
        """A probe can be encoded now."""
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
        body = {
            "run": message.run,
            "flow": message.flow,
            "partition": message.partition,
            "sequence": message.sequence,
            "sent_us": (message.sent_at - _EPOCH) // _MICROSECOND,
        }
        return json.dumps(body, separators=(",", ":")).encode().ljust(size)

    def note_arrival(self, value: bytes) -> None:
        """Do nothing: anyone who can read the record can read JSON."""


_FILE = resources.files(__package__) / "probe.avsc"

SCHEMA = json.dumps(json.loads(_FILE.read_text(encoding="utf-8")))
"""Schema of a probe, by which every probe in a topic is read."""

_MAGIC = b"\x00"
"""First byte of a value with a schema id. No JSON begins with it."""

_ID = struct.Struct(">I")
_HEAD_BYTES = len(_MAGIC) + _ID.size


@cache
def _library() -> tuple[Any, Any]:
    # 9 MB of memory, and most agents never see a probe in Avro.
    import fastavro  # noqa: PLC0415

    return fastavro, fastavro.parse_schema(json.loads(SCHEMA))


class Avro:
    """Writes probes as Avro, once their schema has an id.

    Notes
    -----
    One thread registers the schema, another one writes and reads probes.
    """

    def __init__(self) -> None:
        self.schema_id: int | None = None

        self.arrived_id: int | None = None
        """Schema id of the probe that arrived last."""

    @property
    def ready(self) -> bool:
        """The schema has an id."""
        return self.schema_id is not None

    def encode(self, message: ProbeMessage, size: int) -> bytes:
        """Return the record value, padded to a size in bytes.

        Raises
        ------
        RuntimeError
            Raised if the schema has no id: it must not be sent without one.
        """
        if self.schema_id is None:
            raise RuntimeError("No schema id yet")
        head = _MAGIC + _ID.pack(self.schema_id)
        room = size - len(head) - len(_write(message, 0))
        # Its length is written too, in one byte as long as it is zero.
        value = head + _write(message, max(0, room))
        excess = max(0, len(value) - size)
        if excess and room > excess:
            value = head + _write(message, room - excess)
        return value

    def note_arrival(self, value: bytes) -> None:
        """Remember by which schema a probe can be read."""
        if value.startswith(_MAGIC):
            (self.arrived_id,) = _ID.unpack_from(value, len(_MAGIC))


def decode(value: bytes | None) -> ProbeMessage | None:
    """Read a record value, `None` if it is not a probe.

    Both formats are always read: after a change of the format the topic
    holds the other one too.
    """
    if value is None or not value.startswith(_MAGIC):
        return _read_json(value or b"")
    fastavro, schema = _library()
    try:
        body: Any = fastavro.schemaless_reader(
            BytesIO(value[_HEAD_BYTES:]), schema, None
        )
        return ProbeMessage(
            run=body["run"],
            flow=body["flow"],
            partition=to_number(body["partition"], LARGEST_INT),
            sequence=to_number(body["sequence"]),
            sent_at=body["sent_at"],
        )
    except (EOFError, IndexError, OverflowError, ValueError):
        return None


def _read_json(value: bytes) -> ProbeMessage | None:
    try:
        body = from_json(value)
        return ProbeMessage(
            run=str(body["run"]),
            flow=str(body["flow"]),
            partition=to_number(body["partition"], LARGEST_INT),
            sequence=to_number(body["sequence"]),
            sent_at=_EPOCH + int(body["sent_us"]) * _MICROSECOND,
        )
    except (ValueError, KeyError, TypeError, OverflowError):
        return None


def is_same_schema(text: str) -> bool:
    """Return whether a schema reads a probe as `SCHEMA` does.

    Registries write a schema in their own way: white space, documentation
    and the order of attributes are of no account.
    """
    fastavro, _ = _library()
    canonical = fastavro.schema.to_parsing_canonical_form
    try:
        return bool(
            canonical(json.loads(text)) == canonical(json.loads(SCHEMA))
        )
    except (
        *(ValueError, KeyError, TypeError, RecursionError),
        fastavro.schema.SchemaParseException,
    ):
        return False


def hashed_key(message: ProbeMessage, partitions: int) -> bytes:
    """Return a key by which Kafka's producers choose the probe's partition.

    Parameters
    ----------
    message
        The probe.
    partitions
        Partitions of the topic at the target.

    Notes
    -----
    Producers of the Java client take ``murmur2`` of the key. Each try hits
    with a chance of one in so many partitions.
    """
    wanted = message.partition
    if wanted >= partitions:
        return message.key
    for number in count():
        key = message.key + f"/{number}".encode()
        if (murmur2(key) & 0x7FFFFFFF) % partitions == wanted:
            return key
    raise AssertionError


def murmur2(data: bytes) -> int:
    """Return the hash of ``org.apache.kafka.common.utils.Utils.murmur2``,
    without a sign.
    """
    size = len(data)
    found = 0x9747B28C ^ size
    whole = size - size % 4
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * _MIX & _MASK
        word = (word ^ word >> 24) * _MIX & _MASK
        found = found * _MIX & _MASK ^ word
    if size % 4:
        rest = int.from_bytes(data[whole:], "little")
        found = (found ^ rest) * _MIX & _MASK
    found = (found ^ found >> 13) * _MIX & _MASK
    return found ^ found >> 15


_MIX, _MASK = 0x5BD1E995, 0xFFFFFFFF


def _write(message: ProbeMessage, padding: int) -> bytes:
    fastavro, schema = _library()
    out = BytesIO()
    fastavro.schemaless_writer(
        out,
        schema,
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
