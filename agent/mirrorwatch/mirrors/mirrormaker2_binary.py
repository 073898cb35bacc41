"""Records that MirrorMaker 2 writes by itself: binary, big-endian.

Layouts are those of ``OffsetSync``, ``Checkpoint`` and ``Heartbeat``,
unchanged from Kafka 2.4 to 4.3.
"""

import struct
from datetime import UTC, datetime
from typing import Literal

from ..domain.positions import Checkpoint, Heartbeat, Sync

__all__ = ["to_checkpoint", "to_heartbeat", "to_sync"]


def to_sync(
    key: bytes | None, value: bytes | None, written_at: datetime
) -> Sync | None:
    """Read an offset sync; `None` if it was deleted."""
    if key is None or value is None:
        return None
    topic, at = _string(key, 0)
    (partition,) = struct.unpack_from(">i", key, at)
    upstream, downstream = struct.unpack(">qq", value)
    return Sync(
        topic=topic,
        partition=partition,
        upstream=upstream,
        downstream=downstream,
        written_at=written_at,
    )


def to_checkpoint(
    key: bytes | None, value: bytes | None, written_at: datetime
) -> Checkpoint | None:
    """Read a checkpoint of a consumer group; `None` if it was deleted."""
    if key is None or value is None:
        return None
    group, at = _string(key, 0)
    topic, at = _string(key, at)
    (partition,) = struct.unpack_from(">i", key, at)
    version, upstream, downstream = struct.unpack_from(">hqq", value)
    _check(version)
    return Checkpoint(
        group=group,
        topic=topic,
        partition=partition,
        upstream=upstream,
        downstream=downstream,
        written_at=written_at,
    )


def to_heartbeat(
    key: bytes | None,
    value: bytes | None,
    written_at: datetime,
    place: Literal["source", "carried", "target"],
) -> Heartbeat | None:
    """Read a heartbeat; `None` if it was deleted."""
    if key is None or value is None:
        return None
    source, at = _string(key, 0)
    target, _ = _string(key, at)
    version, milliseconds = struct.unpack(">hq", value)
    _check(version)
    return Heartbeat(
        source=source,
        target=target,
        place=place,
        beat_at=datetime.fromtimestamp(milliseconds / 1000, UTC),
        written_at=written_at,
    )


def _string(data: bytes, at: int) -> tuple[str, int]:
    """Return a string of Kafka's protocol, and where it ends."""
    (length,) = struct.unpack_from(">h", data, at)
    end = at + 2 + length
    if length < 0 or end > len(data):
        raise ValueError(f"a string of {length} bytes in {len(data)}")
    return data[at + 2 : end].decode(), end


def _check(version: int) -> None:
    if version != 0:
        raise ValueError(f"version {version} of the layout is unknown")
