"""What is known of the skips of all partitions of a flow."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ..cluster_view import (
    STALE_END,
    FlowView,
    PartitionView,
    SyncBuffer,
    TopicFacts,
    TopicPartition,
)
from ..mirror_records import Sync
from ..offsets import OffsetRange, RangeSet
from ..topics import FilteredTopics
from .alignment import (
    TruncatedSources,
    find_cut,
    find_first,
    go_back,
    may_be_cut,
    recognise,
    without_start,
)
from .model import (
    LOSSES,
    ForeignRecords,
    OffsetPair,
    RangeRequest,
    SkipCounters,
    SkipEvent,
    SkipKind,
)
from .partition import (
    SMALL,
    BelievedCommits,
    PartitionState,
    PastLogStarts,
    begin,
    is_another,
    is_cut,
    is_shorter,
    is_within,
    plan_count,
    plan_end,
    plan_gap,
    plan_search,
    plan_tail,
    position_of,
)
from .settle import (
    RangeContent,
    SettledRange,
    count_foreign,
    count_settled,
    count_strangers,
    has_marks,
    settle,
    settle_unread,
    still_missing,
    to_event,
)

__all__ = ["SkipTracker"]

_SYNCS_KEPT = 100_000
"""Syncs that wait for a survey, the newest: minutes of a busy mirror."""

_REPEATS_EVERY = timedelta(minutes=1)
"""How often repeats of a partition are reported that needed no reading: a
mirror that copies days again writes a sync every hundred records."""


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
    may_resume_at_end: bool = False
    """Whether the mirror resumes at the end of a log that was truncated below
    its position, or nothing says that it does not."""

    filtered: FilteredTopics = field(default_factory=FilteredTopics)
    window: timedelta = timedelta(hours=1)
    memory: timedelta = timedelta(hours=1)
    """How long what happened is reported: after so long without records of
    others they are counted anew."""

    foreign: dict[str, ForeignRecords] = field(default_factory=dict)
    changed: set[TopicPartition] = field(default_factory=set)
    events: list[SkipEvent] = field(default_factory=list)
    surveyed: dict[TopicPartition, PartitionView] = field(default_factory=dict)
    """Partitions of which the last survey knew both ends."""

    first_copies: dict[TopicPartition, tuple[str, int]] = field(
        init=False, default_factory=dict
    )
    """Of topics that were recreated: their ids, and where the mirror began, as
    far as its copies show that."""

    blind: int = 0
    _waiting: set[TopicPartition] = field(default_factory=set)
    """Partitions with syncs that are not yet accounted for."""

    _syncs: SyncBuffer = field(default_factory=SyncBuffer)
    _partitions: dict[str, int] = field(default_factory=dict)
    """Partitions of each topic of the source, in the survey before."""

    _remade: dict[str, datetime] = field(default_factory=dict)
    """When a topic was seen to be recreated at the target, by its name at the
    source."""

    _unseen: set[TopicPartition] = field(default_factory=set)
    """Partitions that have had no leader since this process watches, and may
    have been made while none did."""

    _shorter: dict[TopicPartition, datetime] = field(default_factory=dict)
    _doubted: dict[TopicPartition, RangeRequest] = field(default_factory=dict)
    """What to ask before a target is believed to be shorter."""

    _truncated: set[TopicPartition] = field(default_factory=set)
    _reached: dict[TopicPartition, tuple[str | None, int]] = field(
        default_factory=dict
    )
    """Id of the target topic, and its end when it was believed last."""

    _searching: set[TopicPartition] = field(default_factory=set)
    """Partitions whose first copy is to be looked for now."""

    _searched: dict[TopicPartition, tuple[int, int]] = field(
        default_factory=dict
    )
    """Ends of both sides when it was looked for last."""

    _unsynced: dict[TopicPartition, datetime] = field(default_factory=dict)
    _ends: dict[TopicPartition, int] = field(default_factory=dict)
    """End of the target in the survey before, where records waited."""

    _stood: dict[TopicPartition, int] = field(default_factory=dict)
    """Where the target ended when it last stood while records waited."""

    _repeated: set[TopicPartition] = field(init=False)
    """Partitions of which something was copied again since the last report."""

    _reported: dict[TopicPartition, datetime] = field(default_factory=dict)
    """When that was, where it is not long ago."""

    _settled: dict[TopicPartition, PartitionView] = field(
        default_factory=dict, compare=False
    )
    """Partitions as they were seen last, where a look changed nothing and
    nothing happened since: another look at the same would change nothing."""

    _cut_sources: TruncatedSources = field(default_factory=TruncatedSources)
    _commits: BelievedCommits = field(default_factory=BelievedCommits)
    _starts: PastLogStarts = field(default_factory=PastLogStarts)

    def __post_init__(self) -> None:
        self._repeated = {k for k, s in self.states.items() if s.again_count}
        for key, state in self.states.items():
            self._note_first_copy(key, state)

    def follow(self, view: FlowView) -> None:
        """Take a survey, and what the mirror wrote since the one before."""
        source = view.source
        if source is None or view.target is None or not view.caught_up:
            # Syncs wait for the next survey that can confirm them.
            self._hold(view)
            self._syncs.trim(_SYNCS_KEPT)
            self._note_source_ends(view)
            return
        confirmed = self._syncs.release()
        self._look(view)
        for key, syncs in confirmed.items():
            self._queue(view, key, syncs)
            self._cut_sources.take_syncs(syncs)
        self._cut_sources.take_syncs(view.new_syncs)
        self._hold(view)
        self._syncs.trim(_SYNCS_KEPT)
        for key in list(self._waiting):
            self._go_on(key)
        self._cut_sources.look(self.states, self.surveyed)
        self._report_repeats(view.at)
        self._sample(view.at)
        self._starts.apply(self.states, self.changed)
        self._commits.look(
            view.committed,
            self.states,
            self._syncs.partitions,
            view.at,
        )
        self.begun = True
        self._note_partitions(view, source.topics)

    def _note_source_ends(self, view: FlowView) -> None:
        """Take the ends at the source, which may fall and grow again while
        the target does not answer.
        """
        for key, seen in view.partitions.items():
            if seen is not None:
                self._cut_sources.note(self.states.get(key), key, seen)

    def _note_partitions(
        self, view: FlowView, topics: Mapping[str, TopicFacts]
    ) -> None:
        """Remember how many partitions each topic has.

        What a topic gets while the mirror leaves it out is new when it is
        copied again: a mirror that begins at the end misses the records of
        these partitions, and of no others.
        """
        before, was_copied = self._partitions, {t for t, _ in self.states}
        self._partitions = {
            topic: before.get(topic, facts.partitions)
            if topic in was_copied and topic not in view.names
            else facts.partitions
            for topic, facts in topics.items()
        }

    def _hold(self, view: FlowView) -> None:
        for sync in view.new_syncs:
            self._syncs.hold(sync)

    def requests(self) -> list[RangeRequest]:
        """Return what must be read now, at most one for each partition."""
        found = [*self._doubted.values()]
        found += self._cut_sources.requests.values()
        keys = [*self._searching, *self._waiting, *self._commits.believed]
        for key in dict.fromkeys(keys):
            state, seen = self.states[key], self.surveyed.get(key)
            if seen is None:
                continue
            request = self._plan(key, state, seen)
            if request is not None:
                found.append(
                    replace(
                        request,
                        alike=key[0] in self.foreign,
                        rereads_start=may_be_cut(state, request),
                    )
                )
        return found

    def _plan(
        self, key: TopicPartition, state: PartitionState, seen: PartitionView
    ) -> RangeRequest | None:
        if state.searched_from is not None:
            is_due = key in self._searching
            return plan_search(state, seen) if is_due else None
        if state.ahead:
            return plan_gap(state, seen)
        return plan_tail(
            state,
            seen,
            self._commits.believed.get(key, 0),
            reached=self._reached.get(key, (None, 0))[1],
            is_shared=key[0] in self.foreign,
        )

    def answer(
        self,
        request: RangeRequest,
        reading: RangeContent | None,
        now: datetime,
    ) -> None:
        """Apply what was asked; without a reading, what the net says."""
        key = request.place
        state = self.states.get(key)
        self._settled.pop(key, None)
        if request.looks_back:
            self._look_back(request, reading, now)
            return
        if state is None or not _is_about(request, state):
            return
        if request.only_end:
            self._truncated.add(key)
            self._doubted.pop(key, None)
            return
        tally = self._tally(state)
        if not tally.samples:
            self._sample(now)
        found = self._account(request, reading, state, now)
        if found is None:
            return
        rule = self.filtered.rule(state.topic)
        for each in found:
            is_filtered = (
                rule is not None and each.kind in LOSSES and not each.committed
            )
            self.events.append(
                to_event(state, each, now, is_filtered=is_filtered)
            )
            if is_filtered:
                tally.filtered += each.count
        if rule is not None and rule.at_most is not None:
            tally.judge(rule.at_most, now, self.window)
        state.widened = False
        self.changed.add(key)
        self._waiting.add(key)
        self._go_on(key)

    def _look_back(
        self,
        request: RangeRequest,
        reading: RangeContent | None,
        now: datetime,
    ) -> None:
        """Report what has no copy below the first one of a truncated log."""
        state = self.states.get(request.place)
        for each in self._cut_sources.find(
            request,
            reading,
            state,
            may_resume_at_end=self.may_resume_at_end,
        ):
            assert state is not None  # noqa: S101 - else nothing is found
            count_settled(state, each, self._tally(state))
            self.changed.add(request.place)
            is_filtered = self.filtered.matches(state.topic)
            self.events.append(
                to_event(state, each, now, is_filtered=is_filtered)
            )

    def _account(
        self,
        request: RangeRequest,
        reading: RangeContent | None,
        state: PartitionState,
        now: datetime,
    ) -> Sequence[SettledRange] | None:
        """Return what a range held; `None` if more is to be read first."""
        tally = self._tally(state)
        if state.searched_from is not None:
            return self._find_begin(request, reading, state, tally)
        if reading is None:
            return settle_unread(state, request, tally, is_marked=self.marked)
        end = find_cut(request, reading)
        if end is not None:
            state.cut_unseen(end)
            return None
        reading = without_start(request, reading)
        if (
            not state.widened
            and not request.sampled
            and count_strangers(request, reading)
        ):
            # They may be copies of records that were not read.
            state.widened = True
            return None
        if go_back(state, request, reading):
            return None
        if has_marks(request, reading):
            # One of its topics has them, so have all.
            self.marked = state.noisy = True
        self._note_foreign(request, reading, now)
        recognise(state, request, reading)
        stood = self._stood.get(request.place, 0)
        return settle(state, request, reading, tally, stood)

    def _find_begin(
        self,
        request: RangeRequest,
        reading: RangeContent | None,
        state: PartitionState,
        tally: SkipCounters,
    ) -> list[SettledRange] | None:
        self._searching.discard(request.place)
        known = reading or RangeContent()
        end = request.target.end
        unjudged = state.find_begin(known.source, known.target, end)
        if unjudged is None:
            return None
        first = find_first(request, known)
        state.first_copy = first
        self._note_first_copy(request.place, state)
        if not len(unjudged):
            return []
        tally.unverifiable += len(unjudged)
        return [SettledRange(SkipKind.UNVERIFIABLE, unjudged, len(unjudged))]

    def _note_first_copy(
        self, key: TopicPartition, state: PartitionState
    ) -> None:
        if state.first_copy is not None:
            self.first_copies[key] = state.source_id, state.first_copy

    def _sample(self, at: datetime) -> None:
        if not self.filtered.is_limited:
            return
        for topic, tally in self.tallies.items():
            rule = self.filtered.rule(topic)
            if rule is not None and rule.at_most is not None:
                tally.sample(at, self.window)

    def _note_foreign(
        self, request: RangeRequest, reading: RangeContent, now: datetime
    ) -> None:
        records = count_foreign(request, reading)
        if not records:
            return
        before = self.foreign.get(request.topic)
        if before is not None and now - before.at < self.memory:
            records += before.records
        self.foreign[request.topic] = ForeignRecords(records=records, at=now)

    def _go_on(self, key: TopicPartition) -> None:
        self._settled.pop(key, None)
        state = self.states[key]
        tally, first = self._tally(state), state.upstream
        passed, repeated = state.frontier, tally.repeated
        if state.go_on(tally):
            self.changed.add(key)
        repeated = tally.repeated - repeated
        if repeated and first is not None and state.upstream is not None:
            last = max(first + 1, min(passed, state.upstream))
            state.again.add(first + 1, last)
            state.again_count += repeated
            self._repeated.add(key)
        if not state.ahead:
            self._waiting.discard(key)

    def _report_repeats(self, at: datetime) -> None:
        self._reported = {
            key: before
            for key, before in self._reported.items()
            if before <= at < before + _REPEATS_EVERY
        }
        for key in sorted(self._repeated - self._reported.keys()):
            state = self.states[key]
            found = SettledRange(
                SkipKind.REPEATED, state.again, state.again_count
            )
            self.events.append(to_event(state, found, at, is_filtered=False))
            state.again, state.again_count = RangeSet(), 0
            self.changed.add(key)
            self._repeated.discard(key)
            self._reported[key] = at

    def count(
        self, key: TopicPartition, span: OffsetRange
    ) -> RangeRequest | None:
        """Return what to read to know how many records wait there."""
        seen, state = self.surveyed.get(key), self.states.get(key)
        if seen is None or state is None:
            return None
        return plan_count(state, seen, span)

    def positions(
        self, places: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """Return where the mirror is in partitions, wherever nothing waits to
        be read.
        """
        return {
            key: position
            for key in places
            if (seen := self.surveyed.get(key)) is not None
            and (position := position_of(self.states[key], seen)) is not None
        }

    def awaits(
        self, key: TopicPartition, end: int, *, soon: bool = False
    ) -> bool:
        """Return whether the mirror wrote more of a partition, and what lies
        below an offset is not accounted for yet.

        Parameters
        ----------
        key
            The partition.
        end
            The offset.
        soon
            Whether a sync is to be expected, even if none was read yet.
        """
        state = self.states.get(key)
        return (
            state is not None
            and state.upstream is not None
            and state.upstream < end
            and (soon or key in self._waiting or key in self._syncs.partitions)
        )

    def unaccounted(self) -> dict[TopicPartition, int]:
        """Return the next source offset that is not accounted for, of
        partitions of which both sides are still to be read.
        """
        return {
            key: state.upstream + 1
            for key in self._waiting
            if (state := self.states[key]).upstream is not None
        }

    def missing_records(self) -> dict[TopicPartition, tuple[int, int]]:
        """Return the first skipped record that the source still holds, and
        how many there are, where a transform drops none on purpose.
        """
        return {
            key: missing
            for key, seen in self.surveyed.items()
            if (missing := self.states[key].missing_from(seen.log_start))
            and not self.filtered.matches(key[0])
        }

    def noisy_partitions(self) -> frozenset[TopicPartition]:
        """Return the partitions where the target's end counts no copies.

        Others were seen to write there, or the mirror itself what is no copy,
        or two of its tasks, each of which copies what the other one does.
        """
        return frozenset(
            key
            for key, state in self.states.items()
            if state.noisy or state.heads
        )

    def missing(self, event: SkipEvent) -> int:
        """Return how many of the skipped records are still not copied."""
        return still_missing(event, self.states.get(event.place))

    def _look(self, view: FlowView) -> None:
        source = view.source
        assert source is not None  # noqa: S101 - the caller looked
        self.surveyed.clear()
        self._doubted.clear()
        self.blind = 0
        settled, self._settled = self._settled, {}
        for key, seen in view.partitions.items():
            if seen is None or (seen.target_end is None and not seen.uncopied):
                self._await_leader(key, source.topics[key[0]].id)
            elif settled.get(key) is seen:
                # Most partitions, most of the time.
                self.surveyed[key] = self._settled[key] = seen
            else:
                self._look_at(view, key, seen)

    def _look_at(
        self, view: FlowView, key: TopicPartition, seen: PartitionView
    ) -> None:
        self._cut_sources.note(self.states.get(key), key, seen)
        if self._may_be_stale(view.at, key, seen):
            return
        self.surveyed[key] = seen
        state = self._epoch(view, key, seen)
        if state.searched_from is not None:
            ends = seen.source_end, seen.copies_end
            if self._searched.get(key) != ends:
                self._searching.add(key)
            self._searched[key] = ends
        if seen.target_id is not None:
            self._reached[key] = seen.target_id, seen.copies_end
        is_blind = self._is_blind(view.at, key, seen)
        self.blind += is_blind
        self._note_stand(key, state, seen)
        if seen.log_start > state.start_before:
            self._starts.note(key, seen.log_start)
        if (
            seen.target_end is not None
            and not state.noisy
            and state.copies.reaches(seen.source_end, seen.target_end)
        ):
            self.changed.add(key)
        if not (
            is_blind
            or key in self.changed
            or key in self._shorter
            or key in self._unsynced
            or key in self._ends
            or seen.log_start > state.start_before
            or self._cut_sources.follows(key)
        ):
            self._settled[key] = seen

    def _note_stand(
        self, key: TopicPartition, state: PartitionState, seen: PartitionView
    ) -> None:
        """Note where the target ends if it stands while records wait."""
        position = position_of(state, seen)
        if position is None or position >= seen.source_end:
            self._ends.pop(key, None)
            return
        if self._ends.get(key) == seen.copies_end:
            self._stood[key] = seen.copies_end
        self._ends[key] = seen.copies_end

    def _is_blind(
        self, at: datetime, key: TopicPartition, seen: PartitionView
    ) -> bool:
        """Return whether only syncs would show what is left out, and none is
        written.

        What was copied since the last commit takes the room at the target
        that would be missing without the dropped records, and so do markers
        where the mirror writes in transactions.
        """
        if seen.copies_end == 0 or seen.sync is not None:
            self._unsynced.pop(key, None)
            return False
        state = self.states[key]
        if state.upstream is None:
            return True
        if not (seen.marked or state.noisy or seen.committed is not None):
            return False  # what is there may be of others
        since = min(self._unsynced.get(key, at), at)
        self._unsynced[key] = since
        return at - since >= STALE_END

    def _may_be_stale(
        self, at: datetime, key: TopicPartition, seen: PartitionView
    ) -> bool:
        """Return whether an end is too low to be believed yet.

        A broker may tell an old end of the target for long: where records
        were, one that has lost them refuses to read on.
        """
        state = self.states.get(key)
        target_id, end = self._reached.get(key, (None, 0))
        is_less = seen.target_id == target_id and seen.copies_end < end
        if (
            state is None
            or is_another(state, seen)
            or not (is_less or is_shorter(state, seen))
        ):
            self._shorter.pop(key, None)
            self._truncated.discard(key)
            return False
        since = min(self._shorter.get(key, at), at)
        self._shorter[key] = since
        if at - since < STALE_END:
            return True
        former = max(state.copied_to, end if is_less else 0)
        if key in self._truncated or former <= seen.copies_end:
            return False
        request = plan_end(state, seen, former)
        if request is not None:
            self._doubted[key] = request
        return request is not None

    def _await_leader(self, key: TopicPartition, source_id: str) -> None:
        """Take a partition without a leader: nothing is known but that it is
        there, and whether it is new.
        """
        if key in self.states:
            return
        if self._is_unwatched:
            self._unseen.add(key)
        elif key not in self._unseen:
            state = self._begin(key, source_id)
            state.is_head = self._is_new(key)

    @property
    def _is_unwatched(self) -> bool:
        """Whether the flow was watched before, but not just now."""
        return self.begun and not self._partitions

    def _is_new(self, key: TopicPartition) -> bool:
        """Return whether a partition was not there in the survey before."""
        known = self._partitions
        return bool(known) and known.get(key[0], 0) <= key[1]

    def _begin_new(
        self,
        view: FlowView,
        key: TopicPartition,
        seen: PartitionView,
        *,
        appeared: bool,
    ) -> PartitionState:
        """Begin a partition that was never seen."""
        state = self._begin(key, seen.source_id)
        state.start_before = seen.log_start
        remade = self._remade.get(key[0])
        if remade is not None and not (appeared and remade < view.at):
            # Its first copies may have gone with the topic of before.
            state.since = remade
        elif begin(
            state,
            seen,
            appeared=appeared,
            unwatched=self._is_unwatched or key in self._unseen,
        ):
            state.since = view.at
        self._unseen.discard(key)
        return state

    def _epoch(
        self, view: FlowView, key: TopicPartition, seen: PartitionView
    ) -> PartitionState:
        """Return the state of a partition, a new one if it is another."""
        state = self.states.get(key)
        has_head = state is not None and state.awaits_head
        if state is None or has_head:
            appeared = has_head or self._is_new(key)
            state = self._begin_new(view, key, seen, appeared=appeared)
        elif _is_truncated(state, seen):
            _, reached = self._reached.get(key, (None, 0))
            state.cut(seen.copies_end, reached, seen.sync, seen.source_end)
            self._waiting.add(key)
            self.changed.add(key)
        elif is_another(state, seen) or is_shorter(state, seen):
            before, state = state, self._begin(key, seen.source_id)
            state.since, state.start_before = view.at, seen.log_start
            if len({before.target_id, seen.target_id} - {None}) > 1:
                self._remade[key[0]] = view.at
            if before.source_id == state.source_id:
                # What was skipped stays so, until copies of it come.
                state.skipped = before.skipped
                state.unnamed = before.unnamed
                if before.target_id == seen.target_id:
                    state.begin_again(seen)
                    self._cut_sources.believe(before, seen)
                    self._doubt_cut(before, seen, view.at)
            elif before.target_id == seen.target_id:
                self._search(before, state, seen)
        if seen.target_id and state.target_id is None:
            state.target_id = seen.target_id
            self.changed.add(key)
        return state

    def _doubt_cut(
        self, before: PartitionState, seen: PartitionView, at: datetime
    ) -> None:
        """Doubt the copies that a truncated target lost, where the source was
        truncated, too: they may be of what it has lost as well, or of what it
        holds now.
        """
        key = before.topic, before.partition
        _, end = self._reached.get(key, (None, 0))
        lost = max(end, before.copied_to) - seen.copies_end
        count = min(lost, seen.source_end - seen.log_start)
        if count <= 0:
            return
        ranges = RangeSet([(seen.log_start, seen.source_end - 1)])
        self._tally(before).unverifiable += count
        found = SettledRange(SkipKind.UNVERIFIABLE, ranges, count)
        self.events.append(to_event(before, found, at, is_filtered=False))

    def _search(
        self,
        before: PartitionState,
        state: PartitionState,
        seen: PartitionView,
    ) -> None:
        """Look for the first copy of a topic that was recreated: the mirror
        may have copied some of it, and left out some, since the survey before.
        """
        if before.upstream is None:
            return
        key = state.topic, state.partition
        _, end = self._reached.get(key, (None, 0))
        former_end = max(end, before.downstream + 1)
        size = seen.source_end - seen.log_start
        if max(size, seen.copies_end - former_end) <= SMALL:
            state.begin_behind(former_end, seen.log_start)

    def _begin(self, key: TopicPartition, source_id: str) -> PartitionState:
        state = PartitionState(
            topic=key[0], partition=key[1], source_id=source_id
        )
        state.noisy = self.marked
        if key in self._repeated:
            before = self.states[key]
            state.again, state.again_count = before.again, before.again_count
        self.states[key] = state
        self.changed.add(key)
        self._ends.pop(key, None)
        self._stood.pop(key, None)
        return state

    def _queue(
        self, view: FlowView, key: TopicPartition, syncs: Iterable[Sync]
    ) -> None:
        state, seen = self.states.get(key), self.surveyed.get(key)
        if seen is None and (key in view.partitions or state is not None):
            # Its ends are not known now, or its topic is not shown for a
            # while: a later survey may know them.
            for sync in syncs:
                self._syncs.hold(sync)
        if state is None or seen is None:
            return
        self._settled.pop(key, None)
        for sync in syncs:
            former = [at for at in (state.since, state.cut_at) if at]
            if former and sync.written_at <= max(former):
                continue
            if not is_within(sync, seen):
                continue
            point = OffsetPair(sync.upstream, sync.downstream)
            if state.upstream is None or state.is_begun_wrongly(point):
                state.begin(sync.upstream, sync.downstream)
                self.changed.add(key)
            else:
                if state.is_cut_before(point):
                    state.cut(point.downstream, 0, sync, seen.source_end)
                else:
                    state.queue(point)
                self.changed.add(key)
                self._waiting.add(key)

    def _tally(self, state: PartitionState) -> SkipCounters:
        return self.tallies.setdefault(state.topic, SkipCounters())


def _is_truncated(state: PartitionState, seen: PartitionView) -> bool:
    """Return whether the target was truncated below copies of what the source
    still has.
    """
    first = state.copies.upstream_at(seen.copies_end)
    return (
        state.searched_from is None
        and state.upstream is not None
        and first is not None
        and first < seen.source_end
        and state.target_id is not None
        and not is_another(state, seen)
        and is_cut(state, seen)
    )


def _is_about(request: RangeRequest, state: PartitionState) -> bool:
    return (
        state.source_id == request.source_id
        and state.target_id == request.target_id
        and state.cursor == request.start
    )
