"""The books of all partitions of a flow."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from ..cluster_view import ClusterView, FlowView, TopicPartition
from ..mirror_records import Sync
from .matching import RangeContent, has_marks, has_strangers
from .model import (
    OffsetPair,
    OffsetRange,
    RangeRequest,
    SkipCounters,
    SkipEvent,
)
from .partition import (
    BelievedCommits,
    PartitionEnds,
    PartitionState,
    PastLogStarts,
    begin,
    is_another,
    is_within,
    plan_count,
    plan_gap,
    plan_tail,
    position_of,
)
from .settle import settle, settle_unread, still_missing, tell

__all__ = ["SkipTracker"]


_UNSURE_KEPT = 100_000
"""Pairs that wait for a survey, the newest: minutes of a busy mirror."""


@dataclass(kw_only=True)
class SkipTracker:
    """The books of one flow.

    Notes
    -----
    A pair is booked only when a survey that began after it was read still
    sees the same topic ids: so a pair never speaks of another topic than the
    books that it goes into.
    """

    epochs: dict[TopicPartition, PartitionState] = field(default_factory=dict)
    tallies: dict[str, SkipCounters] = field(default_factory=dict)
    begun: bool = False
    """Whether the flow was surveyed before: what appears now is new."""

    marked: bool = False
    """Whether the mirror writes in transactions, as was seen."""

    changed: set[TopicPartition] = field(default_factory=set)
    """Partitions whose books changed since they were written down."""

    happenings: list[SkipEvent] = field(default_factory=list)
    """Found out since the books were written down."""

    ends: dict[TopicPartition, PartitionEnds] = field(default_factory=dict)
    blind: int = 0
    """Partitions that hold copies of which the mirror tells no offsets."""

    _waiting: set[TopicPartition] = field(default_factory=set)
    """Partitions with pairs that are not yet booked."""

    _unsure: tuple[Sync, ...] = ()
    _partitions: dict[str, int] = field(default_factory=dict)
    """Partitions of each topic of the source, in the survey before."""

    _commits: BelievedCommits = field(default_factory=BelievedCommits)
    _starts: PastLogStarts = field(default_factory=PastLogStarts)

    def follow(self, view: FlowView, syncs: Iterable[Sync]) -> None:
        """Take a survey, and what the mirror wrote since the one before."""
        source, target = view.source, view.target
        if source is None or target is None or not view.caught_up:
            # Pairs wait for the next survey that can confirm them.
            self._unsure = (*self._unsure, *syncs)[-_UNSURE_KEPT:]
            return
        sure, self._unsure = self._unsure, tuple(syncs)
        self._look(view, source, target)
        for sync in sure:
            self._queue(sync)
        for key in list(self._waiting):
            self._go_on(key)
        self._starts.apply(self.epochs, self.changed)
        moving = {(sync.topic, sync.partition) for sync in self._unsure}
        self._commits.look(view.committed, self.epochs, moving)
        self.begun = True
        self._partitions = {t: f.partitions for t, f in source.topics.items()}

    def inquiries(self) -> list[RangeRequest]:
        """Return what must be read now, at most one for each partition."""
        found = []
        for key in [*self._waiting, *self._commits.believed]:
            epoch, ends = self.epochs[key], self.ends.get(key)
            if ends is None:
                continue
            inquiry = (
                plan_gap(epoch, ends)
                if epoch.ahead
                else plan_tail(epoch, ends, self._commits.believed.get(key, 0))
            )
            if inquiry is not None:
                found.append(inquiry)
        return found

    def answer(
        self,
        inquiry: RangeRequest,
        reading: RangeContent | None,
        now: datetime,
    ) -> None:
        """Book what was asked; without a reading, what the net says."""
        key = inquiry.place
        epoch = self.epochs.get(key)
        if epoch is None or not _is_about(inquiry, epoch):
            return
        tally = self._tally(epoch)
        if reading is None:
            found = settle_unread(epoch, inquiry, tally, is_marked=self.marked)
        elif not epoch.widened and has_strangers(inquiry, reading):
            # They may be copies of records that were not read.
            epoch.widened = True
            return
        else:
            if has_marks(inquiry, reading):
                # One of its topics has them, so have all.
                self.marked = epoch.noisy = True
            found = settle(epoch, inquiry, reading, tally)
        self.happenings += [tell(epoch, x, now) for x in found]
        epoch.widened = False
        self.changed.add(key)
        self._waiting.add(key)
        self._go_on(key)

    def _go_on(self, key: TopicPartition) -> None:
        """Book the pairs that need no reading."""
        epoch = self.epochs[key]
        if epoch.go_on(self._tally(epoch)):
            self.changed.add(key)
        if not epoch.ahead:
            self._waiting.discard(key)

    def count(
        self, key: TopicPartition, span: OffsetRange
    ) -> RangeRequest | None:
        """Return what to read to know how many records wait there."""
        ends, epoch = self.ends.get(key), self.epochs.get(key)
        if ends is None or epoch is None:
            return None
        return plan_count(epoch, ends, span)

    def positions(self) -> dict[TopicPartition, int]:
        """Return where the mirror is, wherever the books are settled."""
        return {
            key: position
            for key, ends in self.ends.items()
            if (position := position_of(self.epochs[key], ends)) is not None
        }

    def missing(self, happening: SkipEvent) -> int:
        """Return how many of the skipped records are still not copied."""
        return still_missing(happening, self.epochs.get(happening.place))

    def _look(
        self, view: FlowView, source: ClusterView, target: ClusterView
    ) -> None:
        """Compare ids and ends."""
        self.ends.clear()
        self.blind = 0
        for key in view.partitions():
            topic, partition = key
            remote = view.names[topic]
            end = source.ends.get(key)
            there = target.topics.get(remote)
            exists = there is not None and partition < there.partitions
            end_there = target.ends.get((remote, partition)) if exists else 0
            if end is None or end_there is None:
                # Without a leader nothing is known, but that it was there.
                if key not in self.epochs:
                    self._begin(key, source.topics[topic].id)
                continue
            start = source.starts.get(key, 0)
            self.ends[key] = PartitionEnds(
                source=end,
                source_start=start,
                target=end_there,
                remote=remote,
            )
            ids = source.topics[topic].id, there.id if there else None
            epoch = self._epoch(view, key, ids, start)
            if epoch.upstream is None and end_there > 0:
                self.blind += key not in view.syncs
            if start > epoch.start_before:
                self._starts.note(key, start)

    def _epoch(
        self,
        view: FlowView,
        key: TopicPartition,
        ids: tuple[str, str | None],
        start: int,
    ) -> PartitionState:
        """Return the books of a partition, new ones if it is another."""
        source_id, target_id = ids
        ends = self.ends[key]
        epoch = self.epochs.get(key)
        if epoch is None:
            epoch = self._begin(key, source_id)
            epoch.start_before = start
            known = self._partitions
            if begin(
                epoch,
                ends,
                view.syncs.get(key),
                appeared=bool(known) and known.get(key[0], 0) <= key[1],
                unwatched=self.begun and not known,
            ):
                epoch.since = view.at
        elif is_another(epoch, source_id, target_id, ends):
            epoch = self._begin(key, source_id)
            epoch.since, epoch.start_before = view.at, start
        if target_id and epoch.target_id is None:
            epoch.target_id = target_id
            self.changed.add(key)
        return epoch

    def _begin(self, key: TopicPartition, source_id: str) -> PartitionState:
        epoch = PartitionState(
            topic=key[0], partition=key[1], source_id=source_id
        )
        epoch.noisy = self.marked
        self.epochs[key] = epoch
        self.changed.add(key)
        return epoch

    def _queue(self, sync: Sync) -> None:
        key = (sync.topic, sync.partition)
        epoch, ends = self.epochs.get(key), self.ends.get(key)
        if epoch is None or ends is None:
            return
        if epoch.since is not None and sync.written_at <= epoch.since:
            return
        if not is_within(sync, ends):
            return
        if epoch.upstream is None:
            epoch.begin(sync.upstream, sync.downstream)
            self.changed.add(key)
        else:
            epoch.queue(OffsetPair(sync.upstream, sync.downstream))
            self._waiting.add(key)

    def _tally(self, epoch: PartitionState) -> SkipCounters:
        return self.tallies.setdefault(epoch.topic, SkipCounters())


def _is_about(inquiry: RangeRequest, epoch: PartitionState) -> bool:
    """Tell whether an answer still fits to the books."""
    return (
        epoch.source_id == inquiry.source_id
        and epoch.target_id == inquiry.target_id
        and epoch.cursor == inquiry.start
    )
