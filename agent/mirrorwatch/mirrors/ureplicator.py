"""uReplicator, whose positions are offsets in ZooKeeper."""

from dataclasses import dataclass
from datetime import datetime

from ..domain.mirror_records import MirrorFact
from ..ports import InternalTopic, MirrorSettings

__all__ = ["UReplicatorMirror"]


@dataclass(frozen=True, slots=True)
class UReplicatorMirror:
    """One flow's mirror that keeps no topics of its own."""

    settings: MirrorSettings

    def internal_topics(self) -> tuple[InternalTopic, ...]:
        """Return none."""
        return ()

    @property
    def group(self) -> str | None:
        """No consumer group of Kafka holds its positions."""
        return None

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
