"""Which committed positions are believed."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field

from ..positions import Committed
from ..view import TopicPartition
from .epoch import Epoch
from .inquiry import Point

__all__ = ["Commits"]


@dataclass(slots=True)
class Commits:
    """Committed positions beyond what the pairs tell.

    Notes
    -----
    Positions and pairs come by different topics: a position is believed when
    it and the books are the same as in the survey before.
    """

    believed: dict[TopicPartition, int] = field(default_factory=dict)
    _seen: dict[TopicPartition, tuple[int, Point | None]] = field(
        default_factory=dict
    )

    def look(
        self,
        committed: Mapping[TopicPartition, Committed],
        epochs: Mapping[TopicPartition, Epoch],
        moving: Container[TopicPartition],
    ) -> None:
        """Compare what was committed with the survey before.

        Parameters
        ----------
        committed
            Committed positions.
        epochs
            Books of the partitions.
        moving
            Partitions with pairs that are not yet in the books.
        """
        before, self._seen, self.believed = self._seen, {}, {}
        for key, told in committed.items():
            epoch, position = epochs.get(key), told.position
            if epoch is None or position is None or epoch.ahead:
                continue
            if position - 1 <= epoch.frontier:
                continue
            if epoch.since is not None and told.written_at <= epoch.since:
                continue  # of topics that were there before
            found = (position, epoch.cursor)
            self._seen[key] = found
            if key not in moving and before.get(key) == found:
                self.believed[key] = position
