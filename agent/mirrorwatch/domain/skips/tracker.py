"""The books of all partitions of a flow."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from ..cluster_view import (
    FlowView,
    PartitionView,
    SyncBuffer,
    TopicPartition,
)
from ..mirror_records import Sync
from ..offset_ranges import OffsetRange
from .model import OffsetPair, RangeRequest, SkipCounters, SkipEvent
from .partition import (
    BelievedCommits,
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
from .settle import (
    RangeContent,
    has_marks,
    has_strangers,
    settle,
    settle_unread,
    still_missing,
    tell,
)

__all__ = ["SkipTracker"]


_SYNCS_KEPT = 100_000
"""Syncs that wait for a survey, the newest: minutes of a busy mirror."""


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

    surveyed: dict[TopicPartition, PartitionView] = field(default_factory=dict)
    """Partitions of which the last survey knew both ends."""

    blind: int = 0
    """Partitions that hold copies of which the mirror tells no offsets."""

    _waiting: set[TopicPartition] = field(default_factory=set)
    """Partitions with pairs that are not yet booked."""

    _syncs: SyncBuffer = field(default_factory=SyncBuffer)
    _partitions: dict[str, int] = field(default_factory=dict)
    """Partitions of each topic of the source, in the survey before."""

    _commits: BelievedCommits = field(default_factory=BelievedCommits)
    _starts: PastLogStarts = field(default_factory=PastLogStarts)

    def follow(self, view: FlowView) -> None:
        """Take a survey, and what the mirror wrote since the one before."""
        source = view.source
        if source is None or view.target is None or not view.caught_up:
            # Syncs wait for the next survey that can confirm them.
            self._hold(view)
            self._syncs.trim(_SYNCS_KEPT)
            return
        confirmed = self._syncs.release()
        self._hold(view)
        self._look(view)
        for key, syncs in confirmed.items():
            self._queue(key, syncs)
        for key in list(self._waiting):
            self._go_on(key)
        self._starts.apply(self.epochs, self.changed)
        self._commits.look(view.committed, self.epochs, self._syncs.partitions)
        self.begun = True
        self._partitions = {t: f.partitions for t, f in source.topics.items()}

    def _hold(self, view: FlowView) -> None:
        for sync in view.new_syncs:
            self._syncs.hold(sync)

    def inquiries(self) -> list[RangeRequest]:
        """Return what must be read now, at most one for each partition."""
        found = []
        for key in [*self._waiting, *self._commits.believed]:
            epoch, seen = self.epochs[key], self.surveyed.get(key)
            if seen is None:
                continue
            inquiry = (
                plan_gap(epoch, seen)
                if epoch.ahead
                else plan_tail(epoch, seen, self._commits.believed.get(key, 0))
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
        seen, epoch = self.surveyed.get(key), self.epochs.get(key)
        if seen is None or epoch is None:
            return None
        return plan_count(epoch, seen, span)

    def positions(self) -> dict[TopicPartition, int]:
        """Return where the mirror is, wherever the books are settled."""
        return {
            key: position
            for key, seen in self.surveyed.items()
            if (position := position_of(self.epochs[key], seen)) is not None
        }

    def missing(self, happening: SkipEvent) -> int:
        """Return how many of the skipped records are still not copied."""
        return still_missing(happening, self.epochs.get(happening.place))

    def _look(self, view: FlowView) -> None:
        """Compare ids and ends."""
        source = view.source
        assert source is not None  # noqa: S101 - the caller looked
        self.surveyed.clear()
        self.blind = 0
        for key, seen in view.partitions.items():
            if seen is None or (seen.target_end is None and not seen.uncopied):
                # Without a leader nothing is known, but that it was there.
                if key not in self.epochs:
                    self._begin(key, source.topics[key[0]].id)
                continue
            self.surveyed[key] = seen
            epoch = self._epoch(view, key, seen)
            if epoch.upstream is None and seen.copies_end > 0:
                self.blind += seen.sync is None
            if seen.log_start > epoch.start_before:
                self._starts.note(key, seen.log_start)

    def _epoch(
        self, view: FlowView, key: TopicPartition, seen: PartitionView
    ) -> PartitionState:
        """Return the books of a partition, new ones if it is another."""
        epoch = self.epochs.get(key)
        if epoch is None:
            epoch = self._begin(key, seen.source_id)
            epoch.start_before = seen.log_start
            known = self._partitions
            if begin(
                epoch,
                seen,
                appeared=bool(known) and known.get(key[0], 0) <= key[1],
                unwatched=self.begun and not known,
            ):
                epoch.since = view.at
        elif is_another(epoch, seen):
            epoch = self._begin(key, seen.source_id)
            epoch.since, epoch.start_before = view.at, seen.log_start
        if seen.target_id and epoch.target_id is None:
            epoch.target_id = seen.target_id
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

    def _queue(self, key: TopicPartition, syncs: Iterable[Sync]) -> None:
        epoch, seen = self.epochs.get(key), self.surveyed.get(key)
        if epoch is None or seen is None:
            return
        for sync in syncs:
            if epoch.since is not None and sync.written_at <= epoch.since:
                continue
            if not is_within(sync, seen):
                continue
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
