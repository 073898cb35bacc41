"""Positions of partitions by the mirror's commits, where copies show none, and
commits that were set back or deleted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from ..cluster_view import FlowView, PartitionView, TopicPartition
from ..copies.journal import ONE_REWIND
from ..mirror_records import Committed
from .model import PartitionPosition, PositionState, Reset, ResetKind

__all__ = ["CommittedPositions", "take_empty"]

UNSURE_AFTER = timedelta(minutes=3)
"""Time for which a committed position must be below the log start: a commit
comes with the flush interval, 60 s by default."""

BEYOND_AFTER = timedelta(minutes=2)
"""Time for which a committed position must be beyond the log end: a new leader
may report an old end, and a mirror that runs resets its position."""

Spot = tuple[ResetKind, TopicPartition]


@dataclass(slots=True)
class CommittedPositions:
    """Resets that commits show.

    Parameters
    ----------
    state
        The state.
    keeps_offsets
        Commits are log ends at the target, where records have their source
        offsets: an exact position.
    """

    state: PositionState
    keeps_offsets: bool = False
    _since: dict[Spot, datetime] = field(default_factory=dict)
    """Time since which positions are out of range."""

    _unsure: set[TopicPartition] = field(default_factory=set)
    """Partitions of which a position out of range was old: a target that did
    not answer is read again first."""

    def take(self, fact: Committed, view: FlowView, *, is_alone: bool) -> bool:
        """Take a commit; return whether it deletes the commit before.

        Parameters
        ----------
        fact
            The commit.
        view
            A survey that began after it was read.
        is_alone
            No copies show the position of the partition.
        """
        key, position = fact.key, fact.position
        place = self.state.places.setdefault(key, PartitionPosition())
        if (
            place.committed_at is not None
            and fact.written_at <= place.committed_at
        ):
            return False
        before, place.committed = place.committed, position
        place.committed_at = fact.written_at
        self.state.touched.add(key)
        if position is None:
            return before is not None
        waiting = self.state.open(ResetKind.SOURCE_RECREATED, *key)
        if waiting is not None:
            place.committed = None
            if is_alone:
                self._resume(waiting, place, position, view)
            return False
        if before is not None and position < before:
            self._rewind(key, position, before, view.at)
        rewound = self.state.open(ResetKind.REWIND, *key)
        if rewound is not None and (rewound.end or 0) <= position:
            self.state.change(rewound, settled=view.at)
        seen = view.partitions.get(key)
        if is_alone and seen is not None:
            self._go_on(key, place, seen, position, view.at)
        if is_alone:
            place.reached = position
        return False

    def _resume(
        self,
        waiting: Reset,
        place: PartitionPosition,
        position: int,
        view: FlowView,
    ) -> None:
        """Settle a recreated topic by where the mirror is in it.

        A commit does not say where it began: below the old position, it
        restarted from the beginning.
        """
        seen = view.partitions.get((waiting.topic, waiting.partition or 0))
        old = waiting.end or 0
        if seen is None or position > seen.source_end:
            return  # of the log that is no more
        place.reached = place.committed = position
        skipped = old if position > old else 0
        self.state.change(
            waiting,
            end=skipped,
            settled=view.at,
            at_most=skipped > 0,
            harmless=not skipped,
        )

    def _rewind(
        self, key: TopicPartition, first: int, end: int, at: datetime
    ) -> None:
        known = self.state.newest(ResetKind.REWIND, *key)
        if known is not None and (
            known.settled is None
            # Not one that lies apart: what is between was not copied again.
            or (at - known.settled < ONE_REWIND and first <= (known.end or 0))
        ):
            self.state.change(
                known,
                first=min(first, known.first or 0),
                end=max(end, known.end or 0),
                settled=None,
            )
            return
        self._begin(ResetKind.REWIND, key, at, first, end)

    def _begin(
        self,
        kind: ResetKind,
        key: TopicPartition,
        at: datetime,
        first: int,
        end: int,
        **more: Any,
    ) -> None:
        topic, partition = key
        self.state.begin(
            kind, topic, at, partition=partition, first=first, end=end, **more
        )

    def _go_on(
        self,
        key: TopicPartition,
        place: PartitionPosition,
        seen: PartitionView,
        position: int,
        at: datetime,
    ) -> None:
        """Settle what the position was out of range for."""
        beyond = self.state.open(ResetKind.BEYOND, *key)
        if beyond is not None and position <= seen.source_end:
            end = max(beyond.first or 0, min(position, beyond.end or 0))
            self.state.change(
                beyond,
                settled=at,
                end=end,
                at_most=True,
                harmless=end == beyond.first,
            )
            return
        first, start = place.next_offset, min(seen.log_start, position)
        expired = self.state.open(ResetKind.EXPIRED, *key)
        if expired is not None and position >= (expired.end or 0):
            self.state.change(expired, settled=at)
        elif expired is None and place.reached is not None and first < start:
            self._begin(
                ResetKind.EXPIRED,
                key,
                at,
                first,
                start,
                at_most=True,
                is_unseen=True,
                settled=at,
            )

    def look(
        self, key: TopicPartition, seen: PartitionView, at: datetime
    ) -> None:
        """Compare the position of a partition with the source's log."""
        place = self.state.places.setdefault(key, PartitionPosition())
        if place.reached is None and seen.has_no_copies:
            # What expires from now on was never read.
            place.reached = seen.log_start
            self.state.touched.add(key)
        if place.reached is None:
            return
        start, end = seen.log_start, seen.source_end
        if place.reached > end:
            self._look_beyond(key, place.reached, end, at)
        elif start > place.next_offset:
            self._look_expired(key, place.next_offset, seen, at)
        else:
            self._forget(key)
            beyond = self.state.open(ResetKind.BEYOND, *key)
            if beyond is not None:
                self.state.change(beyond, log_end=end)

    def _forget(self, key: TopicPartition) -> None:
        for kind in (ResetKind.BEYOND, ResetKind.EXPIRED):
            self._since.pop((kind, key), None)
        self._unsure.discard(key)

    def leave(self, view: FlowView) -> None:
        """Settle or drop open resets of partitions that are gone.

        Notes
        -----
        A recreated topic stays open: the mirror still holds the old position,
        should it come back.
        """
        for reset in list(self.state.resets.values()):
            key = (reset.topic, reset.partition or 0)
            if (
                reset.settled is not None
                or reset.partition is None
                or key in view.partitions
            ):
                continue
            self._forget(key)
            if reset.kind is ResetKind.EXPIRED:
                self.state.change(reset, settled=view.at)
                self.state.places[key].reached = reset.end
            elif reset.kind is not ResetKind.SOURCE_RECREATED:
                self.state.drop(reset)

    def _look_beyond(
        self, key: TopicPartition, reached: int, end: int, at: datetime
    ) -> None:
        known = self.state.open(ResetKind.BEYOND, *key)
        if known is not None:
            lowest = min(end, known.first or 0)
            self.state.change(known, first=lowest, log_end=end)
            return
        since = self._since.setdefault((ResetKind.BEYOND, key), at)
        if at - since >= BEYOND_AFTER:
            self._begin(
                ResetKind.BEYOND, key, since, end, reached, log_end=end
            )

    def _look_expired(
        self,
        key: TopicPartition,
        first: int,
        seen: PartitionView,
        at: datetime,
    ) -> None:
        start, end = seen.log_start, seen.source_end
        known = self.state.open(ResetKind.EXPIRED, *key)
        if known is not None:
            until = max(known.end or 0, start)
            self.state.change(known, end=until, log_end=end)
            return
        since = self._since.setdefault((ResetKind.EXPIRED, key), at)
        is_exact = seen.has_no_copies or (
            self.keeps_offsets and seen.target_end is not None
        )
        if not is_exact:
            self._unsure.add(key)
        patience = UNSURE_AFTER if key in self._unsure else timedelta()
        if since < at and at - since >= patience:
            self._begin(
                ResetKind.EXPIRED,
                key,
                at,
                first,
                start,
                log_end=end,
                at_most=not is_exact,
            )


def take_empty(
    state: PositionState,
    empty_until: Mapping[TopicPartition, int],
    dropped: Mapping[TopicPartition, tuple[int, int]],
) -> None:
    """Take the source offsets after positions that hold no data."""
    for key, until in empty_until.items():
        place = state.places.get(key)
        if place is not None and until > place.empty_until:
            place.empty_until = until
            state.touched.add(key)
    for key, (first, until) in dropped.items():
        place = state.places.get(key)
        if place is not None and first <= place.next_offset < until:
            place.empty_until = until
            state.touched.add(key)
