"""State of the copies of all partitions of one flow."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..cluster_view import (
    STALE_END,
    FlowView,
    PartitionView,
    SyncBuffer,
    TopicPartition,
)
from ..mirror_records import LONGEST_FLUSH, Sync
from ..topics import FilteredTopics
from .coverage import OffsetPair, State
from .journal import ONE_REWIND, CopyCounters, CopyEvent, ForeignRecords
from .out_of_range import NOTHING, OutOfRange, find_out_of_range
from .pair import LOSSES, Beginning, EventKind, LogPair, RangeEvent
from .ranges import EndRequest, LogSide, RangeContent, RangeRequest, match

__all__ = ["CopyTracker"]

SYNCS_KEPT = 100_000
"""Syncs that wait for a survey, the newest: minutes of a busy mirror."""

SMALL = 50_000
"""Records up to which a partition that was created while nobody watched is
read from its first record on."""

REPORTED_EVERY = timedelta(minutes=1)
"""Least time between events of duplicates of one partition: a mirror that
copies days again writes a sync every hundred records."""


@dataclass(kw_only=True)
class CopyTracker:
    """State of one flow.

    Notes
    -----
    A sync carries no topic id. It is judged by the survey after the one that
    it came with, if that still sees the ids of the state that it goes into.
    """

    pairs: dict[TopicPartition, LogPair] = field(default_factory=dict)
    counters: dict[str, CopyCounters] = field(default_factory=dict)
    """Counters by topic."""

    has_begun: bool = False
    """Flow surveyed before: a partition that appears now is new."""

    is_transactional: bool = False
    """Mirror writes in transactions, whose markers take offsets at the
    target."""

    filtered: FilteredTopics = field(default_factory=FilteredTopics)
    window: timedelta = timedelta(hours=1)
    """Time in which the share that filters may drop is counted."""

    memory: timedelta = timedelta(hours=1)
    """Time after which foreign records of a topic are counted anew."""

    foreign: dict[str, ForeignRecords] = field(default_factory=dict)
    changed: set[TopicPartition] = field(default_factory=set)
    """Partitions whose state is not saved."""

    events: list[CopyEvent] = field(default_factory=list)
    """Events that are not saved."""

    surveyed: dict[TopicPartition, PartitionView] = field(default_factory=dict)
    """Partitions whose log ends are believed."""

    without_syncs: set[TopicPartition] = field(default_factory=set)
    """Partitions whose drops only syncs would show, and none is written."""

    out_of_range: dict[TopicPartition, OutOfRange] = field(
        default_factory=dict
    )
    """Partitions whose source log does not hold the position."""

    flush: timedelta = LONGEST_FLUSH + STALE_END
    """Longest time from a copy until it is committed and that is read."""

    _dropped: Mapping[TopicPartition, tuple[int, int]] = field(
        default_factory=dict
    )
    """First offset and end of tails that a transform drops on purpose."""

    _syncs: SyncBuffer = field(default_factory=SyncBuffer)
    _partitions: dict[str, int] = field(default_factory=dict)
    """Partitions of each topic of the source, in the survey before."""

    _recreated: set[str] = field(default_factory=set)
    """Topics that the last survey saw to be recreated at the target."""

    _leaderless: set[TopicPartition] = field(default_factory=set)
    """Partitions that appeared without a leader."""

    _fallen: dict[LogSide, tuple[datetime, int, datetime]] = field(
        default_factory=dict
    )
    """First sight of a log that ends below what it held, its lowest end since,
    and when the newest sync of then was written."""

    _confirmed: set[LogSide] = field(default_factory=set)
    """Logs of which the brokers confirm that."""

    _doubted: dict[LogSide, EndRequest] = field(default_factory=dict)
    _unsynced: dict[TopicPartition, datetime] = field(default_factory=dict)
    _committed: dict[
        TopicPartition, tuple[int, OffsetPair | None, datetime]
    ] = field(default_factory=dict)
    """Committed position and cursor, and since when both are the same."""

    _believed: dict[TopicPartition, int] = field(default_factory=dict)
    """Committed positions that are believed."""

    _to_read: set[TopicPartition] = field(default_factory=set)
    _repeats: dict[TopicPartition, list[RangeEvent]] = field(
        default_factory=dict
    )
    """Duplicates that are counted and not yet reported."""

    _reported: dict[TopicPartition, datetime] = field(default_factory=dict)

    def follow(self, view: FlowView) -> None:
        """Take a survey, and the syncs that were read before it began."""
        source = view.source
        if source is None or view.target is None or not view.caught_up:
            self._hold(view.new_syncs)
            return
        released = self._syncs.release()
        self._look(view)
        for key, syncs in released.items():
            self._take(view, key, syncs)
        self._hold(view.new_syncs)
        self._believe_commits(view)
        self._sample(view.at)
        self._report_repeats(view.at)
        self.has_begun = True
        was_copied = {topic for topic, _ in self.pairs}
        # What a topic gets while the mirror leaves it out is new later.
        self._partitions = {
            topic: self._partitions.get(topic, facts.partitions)
            if topic in was_copied and topic not in view.names
            else facts.partitions
            for topic, facts in source.topics.items()
        }

    def _hold(self, syncs: Iterable[Sync]) -> None:
        for sync in syncs:
            self._syncs.hold(sync)
        self._syncs.trim(SYNCS_KEPT)

    def _look(self, view: FlowView) -> None:
        before, self.surveyed = self.surveyed, {}
        lacking, self.without_syncs = self.without_syncs, set()
        self._doubted.clear()
        self._recreated.clear()
        for key, found in list(self.out_of_range.items()):
            seen = view.partitions.get(key)
            if key not in view.partitions or (
                seen is not None and _is_another(self.pairs[key], seen)
            ):
                self._leave(view.at, key, found)
        for key, seen in view.partitions.items():
            if seen is None or (seen.target_end is None and not seen.uncopied):
                is_unwatched = self.has_begun and not self._partitions
                if key not in self.pairs and (
                    is_unwatched or self._is_new(key)
                ):
                    self._leaderless.add(key)
            elif before.get(key) is seen and not (
                key in self._unsynced or key in self.out_of_range
            ):
                self.surveyed[key] = seen  # most partitions, mostly
                if key in lacking:
                    self.without_syncs.add(key)
            elif self._look_at(view, key, seen, before.get(key)):
                self.surveyed[key] = seen
                if self._lacks_syncs(view.at, key, seen):
                    self.without_syncs.add(key)

    def _leave(
        self, at: datetime, key: TopicPartition, found: OutOfRange
    ) -> None:
        """Count what expired unread of a topic that is gone or recreated."""
        pair = self.pairs[key]
        del self.out_of_range[key]
        if found.is_believed(at) and not found.is_beyond:
            events = pair.lose_expired(found.sure_from, found.end)
            self._note(key, pair, events, at, pair.judged)

    def _look_at(
        self,
        view: FlowView,
        key: TopicPartition,
        seen: PartitionView,
        before: PartitionView | None,
    ) -> bool:
        """Compare ids and ends; return whether these are believed."""
        pair = self._identify(view, key, seen)
        is_believed = True
        for at_target, reached, end in (
            (True, max(pair.target_end, _held(pair)), seen.copies_end),
            (False, pair.reached, seen.source_end),
        ):
            if reached <= end or (at_target and seen.target_id is None):
                self._fallen.pop((key, at_target), None)
                self._confirmed.discard((key, at_target))
                continue
            fallen = EndRequest(
                place=key,
                remote=seen.remote,
                at_target=at_target,
                offset=reached,
            )
            is_believed &= self._is_truncated(view.at, fallen, seen, before)
        if not is_believed:
            return False
        if pair.target_end != seen.copies_end:
            pair.target_end = seen.copies_end
            self.changed.add(key)
        if pair.awaits_first:
            self._to_read.add(key)
        self._note_logs(view.at, key, pair, seen)
        return True

    def _identify(
        self, view: FlowView, key: TopicPartition, seen: PartitionView
    ) -> LogPair:
        """Return the state of a partition, a new one for other ids."""
        pair = self.pairs.get(key)
        if pair is None or _is_another(pair, seen):
            if pair is not None and pair.target_id != seen.target_id:
                self._recreated.add(key[0])
            pair = self.pairs[key] = self._begin(view, key, seen, pair)
        if pair.target_id is None and seen.target_id is not None:
            pair.target_id = seen.target_id
            self.changed.add(key)
        return pair

    def _is_truncated(
        self,
        at: datetime,
        fallen: EndRequest,
        seen: PartitionView,
        before: PartitionView | None,
    ) -> bool:
        """Return whether a log that ends below what it held was truncated: it
        ends so for long, and its brokers confirm it.
        """
        pair, key = self.pairs[fallen.place], fallen.side
        end = seen.copies_end if fallen.at_target else seen.source_end
        # Of syncs read since the survey before, some are of the log as it is.
        newest = seen.sync if before is None else before.sync
        written_at = at if newest is None else newest.written_at
        began, lowest, since = self._fallen.get(key, (at, end, written_at))
        lowest = min(lowest, end)
        self._fallen[key] = min(began, at), lowest, since
        if at - began < STALE_END:
            return False
        if key not in self._confirmed:
            self._doubted[key] = fallen
            return False
        self._confirmed.discard(key)
        self._fallen.pop(key, None)
        self.changed.add(fallen.place)
        if fallen.at_target:
            pair.passed = pair.position(seen.source_end, fallen.offset)
            pair.truncate_target(lowest)
            self._to_read.add(fallen.place)
            pair.target_end = seen.copies_end
        else:
            gone = pair.truncate_source(lowest)
            self._note(fallen.place, pair, gone, at, pair.judged)
        pair.since = since
        return True

    def _note_logs(
        self,
        at: datetime,
        key: TopicPartition,
        pair: LogPair,
        seen: PartitionView,
    ) -> None:
        """Note both log ends if they are alike, and whether the source's log
        holds the mirror's position.
        """
        even_ends = pair.even_ends
        pair.note_ends(seen.source_end, seen.copies_end)
        if pair.even_ends != even_ends:
            self.changed.add(key)
        known = self.out_of_range.pop(key, None)
        if known is None and pair.counted_end != seen.copies_end:
            proved_at = seen.proved_at
            if proved_at is not None and at - proved_at <= self.flush:
                pair.count_copies(seen.source_end, seen.copies_end)
        if (
            known
            or pair.beyond
            or seen.log_start > pair.passed
            or key in self._dropped
        ):
            self._note_out_of_range(at, key, pair, seen, known)
        if seen.log_start < seen.source_end != pair.source_end:
            pair.source_end = seen.source_end
            self.changed.add(key)

    def _note_out_of_range(
        self,
        at: datetime,
        key: TopicPartition,
        pair: LogPair,
        seen: PartitionView,
        known: OutOfRange | None,
    ) -> None:
        found = find_out_of_range(
            key,
            pair,
            seen,
            at,
            known=known,
            is_moving=bool(pair.waiting) or key in self._syncs.partitions,
            is_transactional=self.is_transactional,
            flush=self.flush,
            dropped=self._dropped.get(key, NOTHING),
        )
        if found is not None:
            self.out_of_range[key] = found
            if found.is_believed(at) and not found.is_beyond:
                pair.expired = max(pair.expired, found.end)

    def take_empty(
        self,
        empty_until: Mapping[TopicPartition, int],
        dropped: Mapping[TopicPartition, tuple[int, int]],
    ) -> None:
        """Take the source offsets after positions that hold no data.

        Parameters
        ----------
        empty_until
            Offset up to which only transaction markers follow.
        dropped
            First offset and end of what a transform drops on purpose.
        """
        self._dropped = dropped
        for key, until in empty_until.items():
            pair, seen = self.pairs.get(key), self.surveyed.get(key)
            if (
                pair is not None
                and pair.empty_until < until
                # Else what expired unread lies between.
                and (
                    pair.coverage.spans
                    or (seen is not None and seen.log_start <= pair.reached)
                )
            ):
                pair.empty_until = until
                self.changed.add(key)

    def _begin(
        self,
        view: FlowView,
        key: TopicPartition,
        seen: PartitionView,
        before: LogPair | None,
    ) -> LogPair:
        """Begin a pair: before the first record if none can have been copied
        yet, or these can be read; else at the first sync.
        """
        pair = LogPair(
            source_id=seen.source_id,
            target_id=seen.target_id,
            is_shared=self.is_transactional,
        )
        self.changed.add(key)
        if before is not None:
            pair.since = view.at
            size = seen.source_end - seen.log_start
            is_same = before.target_id == seen.target_id
            former = max(before.target_end, _held(before)) if is_same else 0
            if before.source_id != seen.source_id and size <= SMALL:
                pair.begin(seen.log_start - 1, former - 1, is_copy=False)
                pair.awaits_first = True
            return pair
        is_unwatched = self.has_begun and not self._partitions
        is_young = seen.log_start == 0 and seen.source_end <= SMALL
        appeared = key in self._leaderless or self._is_new(key)
        self._leaderless.discard(key)
        may_lack = key[0] in self._recreated and not appeared
        is_young &= is_unwatched and not may_lack
        if appeared or seen.copies_end == 0 or is_young:
            pair.begin(seen.log_start - 1, -1, is_copy=False)
            pair.since = None if appeared or is_unwatched else view.at
        elif seen.sync is not None and _is_within(seen.sync, seen):
            # What a mirror did before it was watched is not judged.
            pair.begin(seen.sync.upstream, seen.sync.downstream)
        return pair

    def _is_new(self, key: TopicPartition) -> bool:
        """Return whether a partition was not there in the survey before."""
        known = self._partitions
        return bool(known) and known.get(key[0], 0) <= key[1]

    def _lacks_syncs(
        self, at: datetime, key: TopicPartition, seen: PartitionView
    ) -> bool:
        """Return whether only syncs would show a drop, and none is written.

        What was copied since the last commit takes the room at the target that
        dropped records leave, and so do transaction markers.
        """
        pair = self.pairs[key]
        if seen.copies_end == 0 or seen.sync is not None:
            self._unsynced.pop(key, None)
            return False
        if pair.cursor is None:
            return True
        if not (pair.is_shared or seen.committed is not None):
            return False  # what is there may be of others
        since = min(self._unsynced.get(key, at), at)
        self._unsynced[key] = since
        return at - since >= STALE_END

    def _take(
        self, view: FlowView, key: TopicPartition, syncs: Iterable[Sync]
    ) -> None:
        pair, seen = self.pairs.get(key), self.surveyed.get(key)
        if pair is None or seen is None:
            if pair is not None or key in view.partitions:
                # Its ends are not known now.
                self._hold(syncs)
            return
        for sync in syncs:
            if _is_within(sync, seen):
                found = OffsetPair(sync.downstream, sync.upstream)
                passed = pair.judged
                events = pair.take(found, sync.written_at)
                self._note(key, pair, events, view.at, passed)
                self.changed.add(key)
        self._advance(key, pair, view.at)

    def _advance(
        self, key: TopicPartition, pair: LogPair, at: datetime
    ) -> None:
        judged, cursor = pair.judged, pair.cursor
        self._note(key, pair, pair.advance(), at, judged)
        if pair.cursor != cursor:
            self.changed.add(key)
        if pair.waiting:
            self._to_read.add(key)
        if (seen := self.surveyed.get(key)) is not None:
            self._note_logs(at, key, pair, seen)

    def _believe_commits(self, view: FlowView) -> None:
        """Believe committed positions that have been the same for long.

        Commits and syncs come by different topics, and the target's end may be
        too low for a moment.
        """
        before, self._committed, self._believed = self._committed, {}, {}
        moving = self._syncs.partitions
        for key, commit in view.committed.items():
            pair, position = self.pairs.get(key), commit.position
            if (
                pair is None
                or position is None
                or position <= pair.judged
                or pair.waiting
                or pair.awaits_first
                or (pair.since is not None and commit.written_at <= pair.since)
            ):
                continue
            *known, since = before.get(key, (None, None, view.at))
            if known != [position, pair.cursor] or key in moving:
                since = view.at
            self._committed[key] = position, pair.cursor, since
            if view.at - since >= STALE_END:
                self._believed[key] = position

    def requests(self) -> list[RangeRequest]:
        """Return the ranges to read now, at most one of each partition."""
        found = []
        for key in [*self._to_read, *(self._believed.keys() - self._to_read)]:
            pair, seen = self.pairs.get(key), self.surveyed.get(key)
            if pair is None or seen is None:
                continue
            request = pair.request(key, seen, self._believed.get(key, 0))
            if request is None:
                self._to_read.discard(key)
            elif request.passed <= seen.source_end:
                found.append(request)
        return found

    def end_requests(self) -> list[EndRequest]:
        """Return the log ends that the brokers have to confirm."""
        return list(self._doubted.values())

    def confirm(self, request: EndRequest) -> None:
        """Take that a log was truncated, by its brokers."""
        self._doubted.pop(request.side, None)
        self._confirmed.add(request.side)

    def answer(
        self,
        request: RangeRequest,
        content: RangeContent | None,
        now: datetime,
    ) -> None:
        """Take what was read; `None` if the range is unverifiable."""
        key = request.place
        pair = self.pairs.get(key)
        if pair is None or request.start != pair.cursor:
            return
        judged, is_search = pair.judged, pair.awaits_first
        events = pair.answer(request, content)
        self._note(key, pair, events, now, judged)
        self._report_repeats(now)
        is_compared = not (
            is_search or pair.is_wide or pair.judged < pair.truncated_until
        )
        if content is not None and is_compared:
            self._note_others(request, content, now)
        self.changed.add(key)
        if pair.awaits_first:
            self._to_read.discard(key)  # until more is written
        else:
            self._to_read.add(key)
        self._advance(key, pair, now)

    def _note_others(
        self, request: RangeRequest, content: RangeContent, now: datetime
    ) -> None:
        """Count the records of other producers; note transaction markers."""
        matched = match(request, content)
        self.is_transactional |= bool(matched.holes)
        may_have_expired = content.source_compacted or any(
            span.start < content.source_start for span in request.source
        )
        records = matched.unmatched
        if not records or matched.is_altered or may_have_expired:
            return
        topic = request.place[0]
        before = self.foreign.get(topic)
        if before is not None and now - before.at < self.memory:
            records += before.records
        self.foreign[topic] = ForeignRecords(records=records, at=now)

    def _note(
        self,
        key: TopicPartition,
        pair: LogPair,
        found: Iterable[RangeEvent],
        at: datetime,
        judged: int,
    ) -> None:
        """Count what was found, and report it."""
        counters = self._counters_of(key[0])
        counters.passed += max(0, pair.judged - judged)
        rule = self.filtered.rule(key[0])
        for each in found:
            is_filtered = (
                rule is not None
                # A filter moves no position, and what was seen to expire
                # unread was not filtered.
                and each.kind is not EventKind.TAIL
                and (
                    each.kind in LOSSES
                    or (
                        each.kind is EventKind.EXPIRED
                        and each.ranges[0].start >= pair.expired
                    )
                )
            )
            event = CopyEvent.of(
                key, pair.source_id, each, at, filtered=is_filtered
            )
            counters.add(event)
            self.changed.add(key)
            if each.kind is EventKind.REPEATED:
                self._repeats.setdefault(key, []).append(each)
            elif each.kind is not EventKind.RECOVERED:
                self.events.append(event)
        if rule is not None and rule.at_most is not None:
            counters.judge(rule.at_most, at, self.window)
        pair.coverage.join_old(pair.judged)

    def _counters_of(self, topic: str) -> CopyCounters:
        return self.counters.setdefault(topic, CopyCounters())

    def _report_repeats(self, at: datetime) -> None:
        for key, found in list(self._repeats.items()):
            last = self._reported.get(key)
            if last is not None and at - last < REPORTED_EVERY:
                continue
            ranges = tuple(span for each in found for span in each.ranges)
            joined = RangeEvent(
                EventKind.REPEATED, ranges, sum(each.count for each in found)
            )
            self.events.append(
                CopyEvent.of(
                    key,
                    self.pairs[key].source_id,
                    joined,
                    at,
                    filtered=False,
                )
            )
            if last is None or at - last >= ONE_REWIND:
                self._counters_of(key[0]).resets += 1
            self._reported[key] = at
            del self._repeats[key]

    def _sample(self, at: datetime) -> None:
        if not self.filtered.is_limited:
            return
        for topic, counters in self.counters.items():
            rule = self.filtered.rule(topic)
            if rule is not None and rule.at_most is not None:
                counters.sample(at, self.window)

    def accounted(
        self, place: TopicPartition, seen: PartitionView
    ) -> int | None:
        """Return the source offset after all that is accounted for, of a
        partition of which a range is still to be read; else `None`.
        """
        pair, sync = self.pairs.get(place), seen.sync
        if pair is None or _is_another(pair, seen):
            return None
        if pair.beyond:
            return pair.judged
        if (cursor := pair.cursor) is None:
            return None
        is_uneven = sync is not None and (
            sync.downstream > cursor.target
            and sync.upstream - cursor.source
            != sync.downstream - cursor.target
        )
        return cursor.source + 1 if pair.waiting or is_uneven else None

    def missing_records(
        self, events: Iterable[CopyEvent]
    ) -> dict[TopicPartition, tuple[int, int]]:
        """Return the first record that the source still holds and that is
        absent from the target or unverifiable, and the number of them, where
        no transform drops them on purpose.

        Parameters
        ----------
        events
            Events that are still reported, with those that are unverifiable.
        """
        found: dict[TopicPartition, tuple[int, int]] = {}
        for key, seen in self.surveyed.items():
            coverage = self.pairs[key].coverage
            if len(coverage.spans) < 2:
                continue
            if spans := coverage.of(State.ABSENT, seen.log_start):
                found[key] = spans[0].first, sum(map(len, spans))
        for event in events:
            if event.kind is not EventKind.UNVERIFIABLE:
                continue
            key = event.place
            if (
                key not in self.surveyed
                or self.pairs[key].source_id != event.source_id
            ):
                continue
            start = self.surveyed[key].log_start
            held = [
                range(max(first, start), last + 1)
                for first, last in event.ranges
                if last >= start
            ]
            count = min(self.missing(event), sum(map(len, held)))
            if count:
                least = min(span.start for span in held)
                first, records = found.get(key, (least, 0))
                found[key] = min(first, least), records + count
        return {
            key: each
            for key, each in found.items()
            if not self.filtered.matches(key[0])
        }

    def shared_partitions(self) -> frozenset[TopicPartition]:
        """Return the partitions where the target's end counts no copies."""
        return frozenset(
            key
            for key, pair in self.pairs.items()
            if pair.is_shared or pair.is_mixed
        )

    def position(
        self, place: TopicPartition, seen: PartitionView
    ) -> int | None:
        """Return the next source offset to copy; `None` if it is not known."""
        pair = self.pairs.get(place)
        if pair is None or _is_another(pair, seen):
            return None
        if pair.cursor is None:
            return pair.beyond or None
        return pair.position(seen.source_end, seen.copies_end)

    def beginnings(self) -> dict[TopicPartition, Beginning]:
        """Return where the mirror began in recreated topics."""
        found = {}
        for key, pair in self.pairs.items():
            if pair.since is None or pair.awaits_first or pair.cursor is None:
                continue
            is_exact = pair.first_copy is not None
            first = pair.first_copy
            if first is None:
                copied = pair.coverage.of(State.COPIED)
                first = copied[0].first if copied else None
            if first is not None:
                found[key] = Beginning(pair.source_id, first, is_exact)
        return found

    def missing(self, event: CopyEvent) -> int:
        """Return how many records of an event have no copy yet.

        All of them if the topic was recreated: they will not come.
        """
        pair = self.pairs.get(event.place)
        if pair is None or pair.source_id != event.source_id:
            return event.count
        offsets = sum(last - first + 1 for first, last in event.ranges)
        copied = sum(
            pair.coverage.count(State.COPIED, first, last + 1)
            for first, last in event.ranges
        )
        left = max(event.count, offsets) - copied
        return max(0, min(event.count, left))


def _is_another(pair: LogPair, seen: PartitionView) -> bool:
    """Return whether a topic was recreated."""
    return pair.source_id != seen.source_id or (
        None not in {pair.target_id, seen.target_id}
        and pair.target_id != seen.target_id
    )


def _held(pair: LogPair) -> int:
    """Return the target offset after all that is known to be copied."""
    places = [pair.target for pair in pair.waiting]
    places += [pair.cursor.target] if pair.cursor else []
    return max(places, default=-1) + 1


def _is_within(sync: Sync, seen: PartitionView) -> bool:
    """Return whether both logs reach beyond a sync; else it is of a former
    topic, or of a log that was truncated.
    """
    return (
        sync.upstream < seen.source_end and sync.downstream < seen.copies_end
    )
