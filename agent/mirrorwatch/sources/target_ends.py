"""Takes positions from the target's ends, where a mirror keeps offsets."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from ..domain.cluster_view import STALE_END, ClusterView, TopicPartition
from ..domain.mirror_records import Committed
from .mirror_state import MirrorState

__all__ = ["TargetEnds"]


class TargetEnds:
    """Notes the ends at the target as positions of a mirror.

    Parameters
    ----------
    positions
        State that receives the positions.
    patience
        Debounce time of a lower end: a new leader tells an old one for some
        seconds.

    Notes
    -----
    An end of 0 is no position: the mirror has copied nothing yet, and may
    begin where the log of the source does.
    """

    def __init__(
        self, positions: MirrorState, patience: timedelta = STALE_END
    ) -> None:
        self._positions = positions
        self._patience = patience
        self._ids: dict[TopicPartition, str] = {}
        self._lower: dict[TopicPartition, datetime] = {}
        # Until the target was read, no position is known.
        positions.catch_up(ENDS, 1)

    def take(
        self, names: Mapping[str, str], target: ClusterView | None
    ) -> None:
        """Learn from what the target answered; nothing if it did not.

        Parameters
        ----------
        names
            Names at the target of the topics that the flow carries.
        target
            The answer.
        """
        if target is None:
            return
        known = self._positions.all_committed()
        for topic, remote in names.items():
            facts = target.topics.get(remote)
            for partition in range(facts.partitions if facts else 0):
                end = target.ends.get((remote, partition))
                if facts is None or end is None:
                    continue
                key = (topic, partition)
                fact = known.get(key)
                before = None if fact is None else fact.position
                if self._believes(key, facts.id, end, before, target.at):
                    self._positions.note(
                        Committed(
                            topic=topic,
                            partition=partition,
                            position=end,
                            written_at=target.at,
                        )
                    )
        self._positions.catch_up(ENDS, 0)

    def _believes(
        self,
        key: TopicPartition,
        topic_id: str,
        end: int,
        before: int | None,
        at: datetime,
    ) -> bool:
        replaced = self._ids.setdefault(key, topic_id) != topic_id
        self._ids[key] = topic_id
        if before is None:
            return end > 0
        if end >= before or replaced:
            self._lower.pop(key, None)
            return end != before
        since = self._lower.setdefault(key, at)
        if at - since < self._patience:
            return False
        del self._lower[key]
        return True


ENDS = "ends at the target"
