"""How often a mirror commits, learned from its commits."""

from collections import deque
from datetime import timedelta

from .cluster_view import TopicPartition
from .mirror_records import FLUSH, Committed

__all__ = ["LONGEST", "CommitCadence"]

LONGEST = timedelta(minutes=10)
"""Longest interval that is learned: of a site where records come more seldom,
commits show when they came and not how often they are written."""

BUSY = 5
"""Records between two commits of a partition from which these come as often
as they can."""

GAPS = 3
"""Last gaps of a partition, of which the middle one counts: one that is too
long had an outage in it, one that is too short a restart."""


class CommitCadence:
    """Learns ``offset.flush.interval.ms`` where no configuration says it: a
    Connect worker does not tell.
    """

    def __init__(self) -> None:
        self._gaps: dict[TopicPartition, deque[timedelta]] = {}
        self._found: dict[TopicPartition, timedelta] = {}

    def see(self, before: Committed | None, now: Committed) -> None:
        """Take a commit, and the one before it of the same partition."""
        if (
            before is None
            or before.position is None
            or now.position is None
            or now.position - before.position < BUSY
        ):
            return
        gaps = self._gaps.setdefault(now.key, deque(maxlen=GAPS))
        gaps.append(now.written_at - before.written_at)
        self._found[now.key] = sorted(gaps)[(len(gaps) - 1) // 2]

    def interval(self) -> timedelta | None:
        """Return how often positions are committed; `None` if that is not
        known yet. Never less than Connect's default.
        """
        found = min(self._found.values(), default=None)
        return None if found is None else min(max(found, FLUSH), LONGEST)
