"""Mirrors: for each, one file of its internal topics and one of its JMX."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from ..domain.mirror_kinds import KINDS
from ..domain.mirror_records import MirrorFact
from ..domain.mirror_traits import MirrorTraits
from ..ports import InternalTopic, Mirror, MirrorJmx, MirrorSettings
from .mirrormaker2 import MirrorMaker2
from .mirrormaker2_jmx import MirrorMaker2Jmx
from .mirus import Mirus
from .replicator import Replicator

__all__ = ["MIRRORS", "MirrorAdapter"]


@dataclass(frozen=True, kw_only=True, slots=True)
class MirrorAdapter:
    """Adapter that reads one kind of mirror."""

    topics: Callable[[MirrorSettings], Mirror]
    jmx: Callable[[MirrorSettings], MirrorJmx] | None = None
    """Makes what reads its JMX metrics; `None` if nothing does."""


@dataclass(frozen=True, slots=True)
class MirrorWithoutTopics:
    """Mirror of one flow that keeps no internal topics of its own.

    Its positions are offsets of a consumer group at the source, or elsewhere
    (ends at the target, znodes), or nowhere.
    """

    group: str | None

    @classmethod
    def in_group(cls, settings: MirrorSettings) -> Mirror:
        """Return one whose positions a group holds."""
        return cls(settings.group)

    @classmethod
    def elsewhere(cls, _: MirrorSettings) -> Mirror:
        """Return one whose positions no group of Kafka holds."""
        return cls(None)

    def internal_topics(self) -> tuple[InternalTopic, ...]:
        """Return none."""
        return ()

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


def _without_topics(traits: MirrorTraits) -> MirrorAdapter:
    return MirrorAdapter(
        topics=MirrorWithoutTopics.in_group
        if traits.in_group
        else MirrorWithoutTopics.elsewhere
    )


WITH_TOPICS: Mapping[str, MirrorAdapter] = {
    "mirrormaker2": MirrorAdapter(
        topics=MirrorMaker2.of, jmx=MirrorMaker2Jmx.of
    ),
    "mirus": MirrorAdapter(topics=Mirus),
    "replicator": MirrorAdapter(topics=Replicator),
}

MIRRORS: Mapping[str, MirrorAdapter] = {
    kind: WITH_TOPICS.get(kind) or _without_topics(traits)
    for kind, traits in KINDS.items()
}
