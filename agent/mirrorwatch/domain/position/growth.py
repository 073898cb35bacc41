"""Growth of the copies that no commit and no sync follows."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..cluster_view import TopicPartition
from ..mirror_records import FLUSH
from .model import PartitionPosition

__all__ = ["UnprovedGrowth"]


SLACK = timedelta(seconds=30)
"""Beyond the flush interval, until a commit was written and read."""

PROOF_FLUSHES = 3
"""Flushes within which growth must be proved: one to come, one to be written,
one to spare."""

Written = tuple[datetime | None, datetime | None]
"""Times at which the last commit and the last offset sync were written."""


@dataclass(slots=True)
class UnprovedGrowth:
    """Finds records at the target that the mirror does not answer for.

    Notes
    -----
    A mirror that copies commits within its flush interval. When that has
    passed without a commit or a sync, the target holds all that it copied.
    What comes there afterwards, and is not proved in time either, is of
    others, such as the producers of a site that failed over; or of a mirror
    that cannot commit. Its copies cannot be counted then.
    """

    flush: timedelta = FLUSH
    """Longest commit interval of the mirror."""

    found: set[TopicPartition] = field(default_factory=set)
    _proofs: dict[TopicPartition, tuple[Written, datetime]] = field(
        default_factory=dict
    )
    """Last commit and sync that were written, and since when they are
    known."""

    _grew: dict[TopicPartition, datetime] = field(default_factory=dict)

    def look(
        self,
        key: TopicPartition,
        place: PartitionPosition,
        end: int | None,
        at: datetime,
    ) -> bool:
        """Take an end of the target.

        Returns
        -------
        bool
            `True` if the partition's state has changed and must be persisted.
        """
        if end is None or end == place.copies_end:
            return False  # nearly all of them, at every tick
        if place.copies_end is not None:
            if end > place.copies_end:
                since = self._grew.setdefault(key, at)
                if at - since > PROOF_FLUSHES * self.flush:
                    self.found.add(key)
            return False
        self._grew.pop(key, None)
        self.found.discard(key)
        written = (place.committed_at, place.synced_at)
        last, since = self._proofs.get(key, (None, at))
        if last != written:
            self._proofs[key] = (written, at)
        elif at - since >= self.flush + SLACK:
            del self._proofs[key]
            place.copies_end = end
            return True
        return False
