"""A mirror whose positions are offsets of a consumer group at the source.

MirrorMaker 1, Brooklin, Redpanda Migrator, and most copiers that are made by
a consumer and a producer.
"""

from dataclasses import dataclass
from datetime import datetime

from ..domain.mirror_records import MirrorFact
from ..ports import InternalTopic, MirrorSettings

__all__ = ["GroupMirror"]


@dataclass(frozen=True, slots=True)
class GroupMirror:
    """One flow's mirror that keeps no topics of its own."""

    settings: MirrorSettings

    def internal_topics(self) -> tuple[InternalTopic, ...]:
        """Return none."""
        return ()

    @property
    def group(self) -> str | None:
        """Consumer group at the source that holds its positions."""
        return self.settings.group

    def decode(
        self,
        kind: str,
        key: bytes | None,
        value: bytes | None,
        written_at: datetime,
    ) -> MirrorFact | None:
        """Read no record: there is no topic to read."""
        del kind, key, value, written_at
        return None
