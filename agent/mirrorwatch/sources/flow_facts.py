"""Facts of one flow that its sources hand to each other."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..domain.cluster_view import PartitionView, TopicPartition
from ..domain.copies.pair import Beginning
from .copies import CopiesWorker
from .lag import LagWorker
from .parity import ParitySource
from .position import PositionSource

__all__ = ["FlowFacts"]


@dataclass(kw_only=True, slots=True)
class FlowFacts:
    """Sources of one flow that know what others need.

    Each is `None` where the mirror leaves no means for it: then it knows
    nothing.
    """

    copies: CopiesWorker | None = None
    lag: LagWorker | None = None
    parity: ParitySource | None = None
    resets: PositionSource | None = None

    def shared(self) -> AbstractSet[TopicPartition]:
        """Return the source partitions at whose copies others write, too."""
        return self.copies.shared() if self.copies else frozenset()

    def copied_position(
        self, place: TopicPartition, seen: PartitionView
    ) -> int | None:
        """Return the next source offset to copy as copies show it; `None` if
        it is not known.
        """
        return self.copies.position(place, seen) if self.copies else None

    def compares(self, topic: str) -> bool:
        """Return whether the copies of a topic are compared."""
        return self.copies is not None and self.copies.compares(topic)

    def beginnings(self) -> Mapping[TopicPartition, Beginning]:
        """Return where the mirror began in recreated topics."""
        return self.copies.beginnings() if self.copies else {}

    def copied_resets(self) -> Mapping[str, int]:
        """Return the number of position resets that copies show, by topic."""
        return self.copies.resets() if self.copies else {}

    def dropped(self) -> Mapping[TopicPartition, tuple[int, int]]:
        """Return the first offset and the end of tails that a transform drops
        on purpose.
        """
        return self.lag.dropped() if self.lag else {}

    def empty_until(self) -> Mapping[TopicPartition, int]:
        """Return the source offset up to which no data follows a position
        that is proved.
        """
        return self.lag.empty_until() if self.lag else {}

    def position(
        self, place: TopicPartition, seen: PartitionView
    ) -> tuple[int, bool] | None:
        """Return the next source offset to copy, and whether it is proved;
        `None` if it is not known.

        Nothing is counted back from a target end where others write, and what
        a new offset sync passed over is not copied before both sides were
        compared.
        """
        found = self.lag.position(place) if self.lag else None
        if found is None or self.copies is None:
            return found
        offset, is_proved = found
        if not is_proved and seen.proved and self.copies.is_shared(place):
            offset, is_proved = seen.proved.offset, True
        accounted = self.copies.accounted(place, seen)
        if accounted is not None and accounted < offset:
            return accounted, False
        return offset, is_proved

    def stopped(self, now: datetime) -> timedelta | None:
        """Return for how long the mirror has copied nothing while records
        waited, if that is longer than between two of its commits.
        """
        return self.lag.stopped(now) if self.lag else None

    def known_topics(self) -> AbstractSet[str]:
        """Return source topics that were listed before or have copies."""
        none = frozenset[str]()
        listed = self.resets.topics() if self.resets else none
        return listed | (self.parity.copied() if self.parity else none)
