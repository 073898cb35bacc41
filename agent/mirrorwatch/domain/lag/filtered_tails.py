"""Tails of filtered topics: records that a transform drops on purpose wait
like others, until a later record of their partition is copied.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..cluster_view import TopicPartition
from .partition import PartitionLag

__all__ = ["FilteredTails"]


@dataclass(frozen=True, slots=True)
class _Tail:
    position: int
    since: datetime
    """First sight of the end while the task copied newer records."""

    end: int
    dropped_until: int = 0


@dataclass(slots=True)
class FilteredTails:
    """Partitions that wait while their task copies newer records of others.

    A task polls all its partitions by one consumer, in turn. A mirror that is
    stalled, or that copies a backlog, copies nothing newer.
    """

    _tails: dict[TopicPartition, _Tail] = field(default_factory=dict)

    def look(
        self,
        tracks: Mapping[TopicPartition, PartitionLag],
        filtered: Mapping[TopicPartition, PartitionLag],
        tasks: Mapping[TopicPartition, Hashable],
        at: datetime,
        patience: timedelta,
    ) -> None:
        """Take a survey.

        Parameters
        ----------
        tracks
            Lag of all partitions.
        filtered
            Lag of the partitions of filtered topics.
        tasks
            Task of each partition, as far as known.
        at
            Time of the survey.
        patience
            Time for which the task must have gone on.
        """
        before, self._tails = self._tails, {}
        waiting = {
            place: (track, since)
            for place, track in filtered.items()
            if (since := track.seen_since()) is not None
        }
        if not waiting:
            return
        newest: dict[Hashable, float] = {}
        for place, track in tracks.items():
            task, copied = tasks.get(place), track.newest_copied()
            if task is not None and copied is not None:
                newest[task] = max(newest.get(task, copied), copied)
        for place, (track, since) in waiting.items():
            if newest.get(tasks.get(place), since) <= since:
                continue
            tail = before.get(place)
            if tail is None or tail.position != track.next_offset:
                tail = _Tail(track.next_offset, at, track.end)
            elif at - tail.since >= patience:
                tail = _Tail(tail.position, at, track.end, tail.end)
            self._tails[place] = tail

    def is_passed_over(self, place: TopicPartition) -> bool:
        """Return whether the task of a partition copies newer records."""
        return place in self._tails

    def dropped(self) -> dict[TopicPartition, tuple[int, int]]:
        """Return the first offset and the end of tails that were dropped."""
        return {
            place: (tail.position, tail.dropped_until)
            for place, tail in list(self._tails.items())
            if tail.dropped_until
        }
