"""Schema ids in records, and what the registries of both sides say of them."""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal
from uuid import UUID

__all__ = [
    "BAD",
    "STALE",
    "IdKind",
    "LateSchema",
    "RecordPart",
    "RegistryTopic",
    "Resolution",
    "SampledId",
    "SchemaId",
    "SchemaProblem",
    "SchemaUse",
    "SchemasObservation",
    "SchemasState",
    "SubjectMode",
    "read_schema_ids",
]


STALE = timedelta(minutes=2)
"""Oldest round of samples that is still believed: there is one every ten
seconds, and one that waits for a registry and a broker takes seconds more."""


class IdKind(StrEnum):
    """Kind of schema identifier in a record."""

    ID = "id"
    """Id of Confluent's API: four bytes behind the magic byte 0."""

    GLOBAL_ID = "globalId"
    """Apicurio's id of one version of one artifact: eight bytes behind the
    magic byte 0, or in a header."""

    CONTENT_ID = "contentId"

    GUID = "guid"


RecordPart = Literal["key", "value"]
"""Part of a record that a schema describes."""

PARTS: tuple[RecordPart, ...] = ("key", "value")


@dataclass(frozen=True, order=True, slots=True)
class SchemaId:
    """Schema identifier in a record."""

    kind: IdKind
    value: str

    def __str__(self) -> str:
        word = "id" if self.kind is IdKind.ID else self.kind.value
        return f"schema {word} {self.value}"


@dataclass(frozen=True, slots=True)
class SampledId:
    """A schema id as it was found in one part of one record."""

    part: RecordPart
    schema: SchemaId

    doubtful: bool = False
    """Identifier may as well be a number: `LongSerializer` writes eight bytes,
    and those of a large one look like a schema id and three more."""


_MAGIC = 0
_ID = struct.Struct(">xI")
_LONG_ID = struct.Struct(">xQ")
_NUMBER_BYTES = 8

_GUID_MAGIC = 1
_GUID_BYTES = 17


def read_schema_ids(
    key: bytes | None,
    value: bytes | None,
    headers: Iterable[tuple[str, bytes | None]],
) -> Iterator[SampledId]:
    """Yield the schema ids of a record, of each part at most one.

    Notes
    -----
    Headers go before the payload, as in the readers of both registries:
    ``__key_schema_id`` and ``__value_schema_id`` of Confluent hold the byte 1
    and a GUID, or what a payload would begin with, ``apicurio.value.globalId``
    and its like eight bytes.
    """
    named = {name: data for name, data in headers if data is not None}
    for part, payload in zip(PARTS, (key, value), strict=True):
        if payload is None:
            continue
        found = _of_headers(part, named)
        if found is None:
            found = _of_payload(payload)
        if found is not None:
            doubtful = (
                found.kind is IdKind.ID and len(payload) == _NUMBER_BYTES
            )
            yield SampledId(part, found, doubtful)


def _of_headers(part: RecordPart, named: dict[str, bytes]) -> SchemaId | None:
    own = named.get(f"__{part}_schema_id")
    if own is not None:
        if len(own) == _GUID_BYTES and own[0] == _GUID_MAGIC:
            return SchemaId(IdKind.GUID, str(UUID(bytes=own[1:])))
        return _of_payload(own)
    for kind in (IdKind.GLOBAL_ID, IdKind.CONTENT_ID):
        data = named.get(f"apicurio.{part}.{kind}")
        if data is not None and len(data) == struct.calcsize(">Q"):
            return SchemaId(kind, str(int.from_bytes(data)))
    return None


def _of_payload(payload: bytes) -> SchemaId | None:
    if len(payload) < _ID.size or payload[0] != _MAGIC:
        return None
    (number,) = _ID.unpack_from(payload)
    if number:
        return SchemaId(IdKind.ID, str(number))
    # No registry gives the id 0, so these are the upper half of eight bytes.
    if len(payload) < _LONG_ID.size:
        return None
    (number,) = _LONG_ID.unpack_from(payload)
    return SchemaId(IdKind.GLOBAL_ID, str(number)) if number else None


class Resolution(StrEnum):
    """Resolution of one schema id by both registries."""

    SAME = "same"

    MISSING = "missing"
    """Only the source's has it."""

    DIFFERENT = "different"

    INCOMPARABLE = "incomparable"

    TARGET_ONLY = "target_only"
    """Only the target's has it: there is nothing to compare it with, and
    readers there resolve it."""

    NEITHER = "neither"
    """None has it. As long as nothing else in this part of the topic's
    records is a schema id, this is none either."""


BAD = frozenset({Resolution.MISSING, Resolution.DIFFERENT, Resolution.NEITHER})
"""With these, readers at the target fail, or misread."""


@dataclass(frozen=True, order=True, slots=True)
class SchemaUse:
    """A schema id in one part of a topic's records."""

    topic: str
    part: RecordPart
    schema: SchemaId


@dataclass(frozen=True, kw_only=True, slots=True)
class SchemaProblem:
    """A schema that readers at the target do not get."""

    use: SchemaUse
    resolution: Resolution
    since: datetime
    """Since when, by the first record with it that was sampled; or when it
    ceased to be readable."""

    arrived: datetime | None
    """Time at which the first record with it was sampled at the target; `None`
    for not yet."""

    topic_id: str
    at: tuple[str, int, int]
    """Side, partition and offset of the newest record that was sampled, of
    those at the target if there are any."""

    copy_id: str = ""
    was_readable: bool = False
    """Consumers could resolve the schema before: it was deleted, not late."""

    @property
    def unreadable_since(self) -> datetime | None:
        """Since when records at the target cannot be decoded; `None` as long
        as none was sampled there.
        """
        return None if self.arrived is None else max(self.since, self.arrived)


@dataclass(frozen=True, kw_only=True, slots=True)
class LateSchema:
    """A schema that could be read only after its records."""

    use: SchemaUse
    delay: timedelta
    """From its first record at the target that was sampled until it could be
    read: the most, if that was while no agent ran."""

    readable_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class SchemasState:
    """State of schemas that must outlive the agent."""

    problems: tuple[SchemaProblem, ...] = ()
    late: tuple[LateSchema, ...] = ()

    carriers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class RegistryTopic:
    """The topic in which a registry keeps its schemas."""

    source: str = "_schemas"
    exists: bool = False
    remote: str | None = None
    """Name of the topic at the target; `None` if the flow does not carry
    it."""

    wanted: str | None = None
    """The topic that the target's registry reads, if that is configured."""

    @property
    def misses(self) -> bool:
        """Return whether the target's registry is known to read elsewhere."""
        return self.wanted is not None and self.remote != self.wanted

    @property
    def feeds_target(self) -> bool:
        """Return whether the target's registry is assumed to read the flow's
        copy of it: then nobody has to write schemas there.
        """
        return self.remote is not None and self.remote in {
            self.wanted,
            self.source,
        }


@dataclass(frozen=True, order=True, kw_only=True, slots=True)
class SubjectMode:
    """A subject whose mode is not that of its registry."""

    alias: str
    subject: str
    mode: str
    other: str | None = None
    """Mode in which the same subject is at the other cluster, its own or that
    of the registry there; `None` if unknown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SchemasObservation:
    """Observation of the schemas of one flow's records."""

    flow: str
    at: datetime
    """End of the last round of samples."""

    source: str = ""
    target: str = ""
    topics: int = 0
    unsampled: int = 0
    carriers: int = 0
    resolved: int = 0
    unresolved: int = 0
    """Schema ids of which a registry has not said yet what they are."""

    incomparable: tuple[SchemaUse, ...] = ()
    bad: tuple[SchemaProblem, ...] = ()
    """Schemas that consumers at the target cannot read, the oldest first."""

    late: tuple[LateSchema, ...] = ()
    """Schemas that were readable only after their records."""

    missing_subjects: tuple[str, ...] = ()
    """Subjects that the target's registry should have and has not."""

    modes: dict[str, str] = field(default_factory=dict)
    """Mode of each registry, by alias; absent where it does not say."""

    subject_modes: tuple[SubjectMode, ...] = ()
    registry_topic: RegistryTopic = field(default_factory=RegistryTopic)

    known: bool = True
    """Observation is this agent's own: if not, it is that of a former one."""

    problems: tuple[str, ...] = ()
