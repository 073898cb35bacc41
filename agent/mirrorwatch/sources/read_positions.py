"""Positions that are read whole, again and again, and say not what changed."""

from collections.abc import Callable, Mapping
from datetime import datetime

from ..domain.cluster_view import TopicPartition
from ..domain.mirror_records import Committed
from .mirror_state import MirrorState

__all__ = ["ReadPositions"]


class ReadPositions:
    """Notes what changed from one reading to the next.

    Parameters
    ----------
    positions
        State that receives the positions.
    """

    def __init__(self, positions: MirrorState) -> None:
        self._positions = positions
        self._absent: dict[TopicPartition, datetime] = {}
        """Time when each missing position was first absent."""

    def note(
        self,
        found: Mapping[TopicPartition, int],
        at: datetime,
        *,
        deletes: bool = True,
        is_there: Callable[[str, datetime], bool] = lambda *_: True,
    ) -> int:
        """Note a reading.

        Parameters
        ----------
        found
            All positions that there are.
        at
            Time of the reading.
        deletes
            A position that is gone was deleted; else the last known one is
            kept.
        is_there
            Returns whether a topic was seen since a time. The positions of
            one that is not are not shown, either.

        Returns
        -------
        int
            Number of known positions that are gone.
        """
        known = self._positions.all_committed()
        for key, offset in found.items():
            before = known.get(key)
            if before is None or before.position != offset:
                self._commit(key, offset, at)
        gone = {
            key
            for key, fact in known.items()
            if fact.position is not None and key not in found
        }
        absent = self._absent
        self._absent = (
            {key: absent.get(key, at) for key in gone} if deletes else {}
        )
        # In two readings, as the topic itself may be about to go.
        for key in self._absent.keys() & absent.keys():
            if is_there(key[0], absent[key]):
                self._commit(key, None, at)
        return len(gone)

    def _commit(
        self, key: TopicPartition, position: int | None, at: datetime
    ) -> None:
        topic, partition = key
        self._positions.note(
            Committed(
                topic=topic,
                partition=partition,
                position=position,
                written_at=at,
            )
        )
