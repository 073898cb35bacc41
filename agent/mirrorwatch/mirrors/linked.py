"""A mirror that says nowhere where it is: its copies have to show it.

Confluent Cluster Linking, Redpanda Shadowing, WarpStream Orbit: the end of a
topic at the target is the mirror's position in it. AWS MSK Replicator, Lenses
K2K: its newest copies are, once their records are found.
"""

from dataclasses import dataclass
from datetime import datetime

from ..domain.mirror_records import MirrorFact
from ..ports import InternalTopic, MirrorSettings

__all__ = ["LinkedMirror"]


@dataclass(frozen=True, slots=True)
class LinkedMirror:
    """One flow's mirror that keeps no topics of its own, and no group."""

    settings: MirrorSettings

    def internal_topics(self) -> tuple[InternalTopic, ...]:
        """Return none."""
        return ()

    @property
    def group(self) -> str | None:
        """No consumer group holds its positions."""
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
