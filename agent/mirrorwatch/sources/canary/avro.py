"""Probes as Avro, in the wire format of schema registries."""

import json
import struct
import time
from collections.abc import Callable
from datetime import timedelta
from importlib import resources
from io import BytesIO
from typing import Any

from fastavro import parse_schema, schemaless_reader, schemaless_writer
from fastavro.schema import SchemaParseException, to_parsing_canonical_form

from ...domain.canary.model import ProbeMessage
from ...domain.observations import Problem
from ...domain.report import Health
from ...exceptions import SourceError
from ..registry import Registry
from .encoding import AVRO_MAGIC
from .source import CanarySettings, CanaryState

__all__ = ["SCHEMA", "Avro", "Registrar", "decode_avro", "is_same_schema"]


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

    def encode(self, message: ProbeMessage, size: int) -> bytes:
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


def decode_avro(value: bytes) -> ProbeMessage | None:
    """Read a record value, `None` if it is not a probe."""
    try:
        body: Any = schemaless_reader(
            BytesIO(value[_HEAD_BYTES:]), _PARSED, None
        )
    except (EOFError, IndexError, OverflowError, ValueError):
        return None
    return ProbeMessage(
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


def _write(message: ProbeMessage, padding: int) -> bytes:
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


WAITING = 5.0
"""Seconds to the next try as long as no probe can be sent."""

AGAIN = 60.0
"""Seconds to the next look at what works, or is not for the agent to mend:
soon enough for a person, and nothing to a registry."""

PROVED = 600.0
"""Seconds that a schema which readers can resolve counts as resolved. It
would have to be deleted to change."""


class Registrar:
    """Registers the probe's schema at the source, and looks at the target.

    Parameters
    ----------
    settings
        What the canary was told.
    encoding
        Gets the id, and knows the ids that arrive.
    source
        Registry of the source.
    target
        Registry of the target; `None` if readers there have none of their
        own.
    board
        Where others see what is wrong.
    clock
        A clock that only goes forward, in seconds.

    Notes
    -----
    The id is not kept in the state file: registering again gives the same
    one, and an id that nobody has verified is never sent.
    """

    interval = timedelta(seconds=1)

    def __init__(
        self,
        *,
        settings: CanarySettings,
        encoding: Avro,
        source: Registry,
        target: Registry | None,
        board: CanaryState,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = f"registrar {settings.flow.name}"
        # As Confluent's serializers name it, by default.
        self._subject = f"{settings.topic}-value"
        self._encoding = encoding
        self._source = source
        self._target = target
        self._board = board
        self._clock = clock
        self._register_at = self._look_at = clock()
        self._looked_for: int | None = None
        self._at_source: Problem | None = None
        self._at_target: Problem | None = None

    def step(self) -> None:
        if self._clock() >= self._register_at:
            self._at_source = self._register()
            waiting = not self._encoding.ready
            pause = WAITING if waiting else AGAIN
            self._register_at = self._clock() + pause
            self._tell()
        arrived, target = self._encoding.arrived_id, self._target
        if target is None or arrived is None:
            return
        if arrived != self._looked_for or self._clock() >= self._look_at:
            self._at_target = self._look(target, arrived)
            self._looked_for = arrived
            pause = AGAIN if self._at_target else PROVED
            self._look_at = self._clock() + pause
            self._tell()

    def close(self) -> None:
        self._source.close()
        if self._target is not None:
            self._target.close()

    def _tell(self) -> None:
        found = (self._at_source, self._at_target)
        self._board.note_schemas([p for p in found if p is not None])

    def _register(self) -> Problem | None:
        try:
            # Found first: that needs no right to write, where somebody else
            # has registered it.
            found = self._source.find(self._subject, SCHEMA)
            if found is None:
                found = self._source.register(self._subject, SCHEMA)
        except SourceError as e:
            known = self._encoding.schema_id
            then = (
                "No probe is sent until the registry has the schema "
                f"{self._subject}"
                if known is None
                else f"Probes continue with schema id {known}"
            )
            return Problem.unknown(f"{e}. {then}")
        self._encoding.schema_id = found
        return None

    def _look(self, target: Registry, schema_id: int) -> Problem | None:
        try:
            found = target.schema(schema_id)
        except SourceError as e:
            return Problem.unknown(
                f"{e}. Whether consumers at {target.cluster} can decode "
                "probes is unknown"
            )
        if found is not None and is_same_schema(found):
            return None
        wrong = "unknown" if found is None else "a different schema"
        return Problem(
            Health.WARNING,
            f"Probes arrive, but consumers at {target.cluster} cannot decode "
            f"them: schema id {schema_id} is {wrong} in its schema registry. "
            f"Copy the schemas of {self._source.cluster} there with their ids",
        )
