"""What is known of the skips of all partitions of a flow."""

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
    to_event,
)

__all__ = ["SkipTracker"]


_SYNCS_KEPT = 100_000
"""Syncs that wait for a survey, the newest: minutes of a busy mirror."""


@dataclass(kw_only=True)
class SkipTracker:
    """State of one flow.

    Notes
    -----
    A sync is accounted for only when a survey that began after it was read
    still sees the same topic ids: so it never speaks of another topic than the
    state that it goes into.
    """

    states: dict[TopicPartition, PartitionState] = field(default_factory=dict)
    tallies: dict[str, SkipCounters] = field(default_factory=dict)
    begun: bool = False
    """Whether the flow was surveyed before: what appears now is new."""

    marked: bool = False
    """Whether the mirror writes in transactions, as was seen."""

    changed: set[TopicPartition] = field(default_factory=set)
    """Partitions whose state changed since it was saved."""

    events: list[SkipEvent] = field(default_factory=list)
    """Found since the state was saved."""

    surveyed: dict[TopicPartition, PartitionView] = field(default_factory=dict)
    """Partitions of which the last survey knew both ends."""

    blind: int = 0
    """Partitions that hold copies for which the mirror writes no syncs."""

    _waiting: set[TopicPartition] = field(default_factory=set)
    """Partitions with syncs that are not yet accounted for."""

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
        self._starts.apply(self.states, self.changed)
        self._commits.look(view.committed, self.states, self._syncs.partitions)
        self.begun = True
        self._partitions = {t: f.partitions for t, f in source.topics.items()}

    def _hold(self, view: FlowView) -> None:
        for sync in view.new_syncs:
            self._syncs.hold(sync)

    def requests(self) -> list[RangeRequest]:
        """Return what must be read now, at most one for each partition."""
        found = []
        for key in [*self._waiting, *self._commits.believed]:
            state, seen = self.states[key], self.surveyed.get(key)
            if seen is None:
                continue
            request = (
                plan_gap(state, seen)
                if state.ahead
                else plan_tail(state, seen, self._commits.believed.get(key, 0))
            )
            if request is not None:
                found.append(request)
        return found

    def answer(
        self,
        request: RangeRequest,
        reading: RangeContent | None,
        now: datetime,
    ) -> None:
        """Apply what was asked; without a reading, what the net says."""
        key = request.place
        state = self.states.get(key)
        if state is None or not _is_about(request, state):
            return
        tally = self._tally(state)
        if reading is None:
            found = settle_unread(state, request, tally, is_marked=self.marked)
        elif not state.widened and has_strangers(request, reading):
            # They may be copies of records that were not read.
            state.widened = True
            return
        else:
            if has_marks(request, reading):
                # One of its topics has them, so have all.
                self.marked = state.noisy = True
            found = settle(state, request, reading, tally)
        self.events += [to_event(state, x, now) for x in found]
        state.widened = False
        self.changed.add(key)
        self._waiting.add(key)
        self._go_on(key)

    def _go_on(self, key: TopicPartition) -> None:
        """Account for the syncs that need no reading."""
        state = self.states[key]
        if state.go_on(self._tally(state)):
            self.changed.add(key)
        if not state.ahead:
            self._waiting.discard(key)

    def count(
        self, key: TopicPartition, span: OffsetRange
    ) -> RangeRequest | None:
        """Return what to read to know how many records wait there."""
        seen, state = self.surveyed.get(key), self.states.get(key)
        if seen is None or state is None:
            return None
        return plan_count(state, seen, span)

    def positions(self) -> dict[TopicPartition, int]:
        """Return where the mirror is, wherever nothing waits to be read."""
        return {
            key: position
            for key, seen in self.surveyed.items()
            if (position := position_of(self.states[key], seen)) is not None
        }

    def foreign(self) -> frozenset[TopicPartition]:
        """Return the partitions at whose copies others were seen to write,
        or the mirror itself what is no copy.
        """
        return frozenset(
            key for key, state in self.states.items() if state.noisy
        )

    def missing(self, event: SkipEvent) -> int:
        """Return how many of the skipped records are still not copied."""
        return still_missing(event, self.states.get(event.place))

    def _look(self, view: FlowView) -> None:
        """Compare ids and ends."""
        source = view.source
        assert source is not None  # noqa: S101 - the caller looked
        self.surveyed.clear()
        self.blind = 0
        for key, seen in view.partitions.items():
            if seen is None or (seen.target_end is None and not seen.uncopied):
                # Without a leader nothing is known, but that it was there.
                if key not in self.states:
                    self._begin(key, source.topics[key[0]].id)
                continue
            self.surveyed[key] = seen
            state = self._epoch(view, key, seen)
            if state.upstream is None and seen.copies_end > 0:
                self.blind += seen.sync is None
            if seen.log_start > state.start_before:
                self._starts.note(key, seen.log_start)

    def _epoch(
        self, view: FlowView, key: TopicPartition, seen: PartitionView
    ) -> PartitionState:
        """Return the state of a partition, a new one if it is another."""
        state = self.states.get(key)
        if state is None:
            state = self._begin(key, seen.source_id)
            state.start_before = seen.log_start
            known = self._partitions
            if begin(
                state,
                seen,
                appeared=bool(known) and known.get(key[0], 0) <= key[1],
                unwatched=self.begun and not known,
            ):
                state.since = view.at
        elif is_another(state, seen):
            state = self._begin(key, seen.source_id)
            state.since, state.start_before = view.at, seen.log_start
        if seen.target_id and state.target_id is None:
            state.target_id = seen.target_id
            self.changed.add(key)
        return state

    def _begin(self, key: TopicPartition, source_id: str) -> PartitionState:
        state = PartitionState(
            topic=key[0], partition=key[1], source_id=source_id
        )
        state.noisy = self.marked
        self.states[key] = state
        self.changed.add(key)
        return state

    def _queue(self, key: TopicPartition, syncs: Iterable[Sync]) -> None:
        state, seen = self.states.get(key), self.surveyed.get(key)
        if state is None or seen is None:
            return
        for sync in syncs:
            if state.since is not None and sync.written_at <= state.since:
                continue
            if not is_within(sync, seen):
                continue
            if state.upstream is None:
                state.begin(sync.upstream, sync.downstream)
                self.changed.add(key)
            else:
                state.queue(OffsetPair(sync.upstream, sync.downstream))
                self._waiting.add(key)

    def _tally(self, state: PartitionState) -> SkipCounters:
        return self.tallies.setdefault(state.topic, SkipCounters())


def _is_about(request: RangeRequest, state: PartitionState) -> bool:
    """Return whether an answer still fits the state."""
    return (
        state.source_id == request.source_id
        and state.target_id == request.target_id
        and state.cursor == request.start
    )
