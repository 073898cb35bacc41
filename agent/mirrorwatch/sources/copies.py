"""Follows the copies of one flow: takes surveys, reads ranges, saves."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from threading import Event, Lock

from ..domain.cluster_view import (
    STALE_END,
    FlowView,
    PartitionView,
    TopicPartition,
)
from ..domain.copies.journal import CopyCounters, CopyEvent, sum_up
from ..domain.copies.pair import Beginning
from ..domain.copies.ranges import EndRequest, RangeContent, RangeRequest
from ..domain.copies.tracker import CopyTracker
from ..domain.failover.translation import CopiedPartition
from ..domain.mirror_records import LONGEST_FLUSH
from ..domain.offsets import OffsetRange
from ..domain.skips.model import (
    PendingReads,
    SkipsObservation,
)
from ..domain.topics import FilteredTopics
from ..exceptions import SourceError, StateError
from ..kafka.admin import Cluster
from ..kafka.offsets import read_newest_ends, read_starts
from ..kafka.reader import RangeReader, RecordFingerprint
from ..state.copies import CopiesStore
from ..threads import Latest
from .mirror_state import MirrorState
from .parity import FlowConfigs

__all__ = ["CopiesWorker", "RangeExaminer"]


_TOGETHER = 64
"""Partitions that are read at once: one connection for all."""

_SIZE = 50_000
"""Offsets that are read at once: some seconds, and some megabytes of
fingerprints."""

_LARGEST = 500_000
"""Offsets of one range beyond which it is unverifiable. The mirror writes a
sync for every hundred records: a range is that long only after the agent was
away for long, or if a whole topic was skipped."""

_AGAIN = timedelta(seconds=15)
"""Back-off after a range could not be read."""

_PATIENCE = timedelta(minutes=1)
"""Longest wait of a range while more is to be read than may be. Then it is
unverifiable."""


class ReadBudget:
    """Bound of the bytes that are read from each side.

    Parameters
    ----------
    rate
        Bytes per second.
    """

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._free_at: datetime | None = None

    def is_free(self, now: datetime) -> bool:
        """Return whether more may be read."""
        return self._free_at is None or now >= self._free_at

    def spend(self, size: int, now: datetime) -> None:
        """Take bytes that were read."""
        begin = now if self.is_free(now) else self._free_at or now
        self._free_at = begin + timedelta(seconds=size / self._rate)


class RangeQueue:
    """Chooses the ranges to read next, and keeps what cannot be read."""

    def __init__(self) -> None:
        self.given_up: list[RangeRequest] = []
        """Ranges of the last call that will never be read."""

        self._since: dict[TopicPartition, datetime] = {}
        self._failed: dict[TopicPartition, tuple[datetime, str]] = {}
        self._alone: set[TopicPartition] = set()

    def next(
        self,
        wanted: Iterable[RangeRequest],
        ends: Iterable[EndRequest],
        now: datetime,
        *,
        may_read: bool = True,
    ) -> list[RangeRequest]:
        """Return the ranges to read now, at most one of each partition.

        Parameters
        ----------
        wanted
            Ranges that must be read.
        ends
            Log ends that fell and are not confirmed: until then nothing of
            these partitions is compared.
        now
            The time.
        may_read
            Reading is allowed now.
        """
        batch: dict[TopicPartition, RangeRequest] = {}
        self.given_up = []
        size = 0
        asked = set()
        for end in ends:
            asked.add(end.place)
            self._since.setdefault(end.place, now)
        requests = list(wanted)
        for request in requests:
            asked.add(request.place)
            self._since.setdefault(request.place, now)
        # Longest waiting first: others may want more at every call.
        for request in sorted(requests, key=lambda r: self._since[r.place]):
            key = request.place
            failed = self._failed.get(key)
            if key in batch or (failed and now - failed[0] < _AGAIN):
                continue
            is_late = not may_read and now - self._since[key] > _PATIENCE
            if request.size > _LARGEST or is_late:
                self.given_up.append(request)
                continue
            if not may_read:
                continue
            if batch and (
                len(batch) == _TOGETHER
                or size + request.size > _SIZE
                or key in self._alone
                or self._alone & batch.keys()
            ):
                continue
            batch[key] = request
            size += request.size
        self._since = {k: t for k, t in self._since.items() if k in asked}
        self._failed = {k: f for k, f in self._failed.items() if k in asked}
        return list(batch.values())

    def due(
        self, ends: Iterable[EndRequest], now: datetime
    ) -> list[EndRequest]:
        """Return the log ends that the brokers are asked for now."""
        found = []
        for end in ends:
            topic, partition = end.place
            failed = self._failed.get(end.place)
            if failed and now - failed[0] < _AGAIN:
                continue
            found.append(end)
            self._failed[end.place] = (
                now,
                (
                    "a broker reports an old log end offset of "
                    f"{topic}[{partition}], or of its copy"
                ),
            )
        return found

    def fail(
        self, batch: Sequence[RangeRequest], error: SourceError, now: datetime
    ) -> None:
        """Note that a batch could not be read.

        One of it may be at fault: each is then read alone.
        """
        keys = [i.place for i in batch]
        if len(keys) == 1:
            self._failed[keys[0]] = (now, str(error))
        else:
            self._alone.update(keys)

    def hold(self, request: RangeRequest, now: datetime) -> None:
        """Note that a range cannot be read to its end yet."""
        topic, partition = request.place
        problem = (
            f"{topic}[{partition}], or its copy, cannot be "
            "read to the end of a range: an open transaction holds records "
            "back, a log was truncated, or it has no leader"
        )
        if request.target_id is None:
            problem = (
                f"{topic}[{partition}] is committed up to "
                f"offset {request.passed}, beyond its copies, and "
                f"{request.remote} does not exist at the target, or "
                "mirrorwatch may not describe it"
            )
        self._failed[request.place] = (now, problem)

    def succeed(self, key: TopicPartition) -> None:
        """Note that a range was read, or a log end confirmed."""
        self._alone.discard(key)
        self._failed.pop(key, None)
        self._since.pop(key, None)

    def unread(self) -> PendingReads | None:
        """Return what waits to be read."""
        if not self._since:
            return None
        problems = [text for _, text in self._failed.values()]
        return PendingReads(
            partitions=len(self._since),
            since=min(self._since.values()),
            problem=problems[0] if problems else None,
        )


class RangeExaminer:
    """Reads both sides of requested ranges.

    Parameters
    ----------
    source, target
        The clusters.
    properties
        librdkafka properties, by alias.
    configs
        Configurations of the topics.
    """

    def __init__(
        self,
        *,
        source: Cluster,
        target: Cluster,
        properties: Mapping[str, Mapping[str, str]],
        configs: Latest[FlowConfigs],
    ) -> None:
        self._source, self._target = source, target
        self._ends: Callable[
            [Iterable[TopicPartition]], dict[TopicPartition, int]
        ] = partial(read_newest_ends, target, properties[target.alias])
        self._configs = configs
        self._there = RangeReader(properties[source.alias], source.alias)
        self._here = RangeReader(properties[target.alias], target.alias)

    def answer(
        self,
        requests: Sequence[RangeRequest],
        *,
        committed: bool,
        transactional: bool,
    ) -> list[RangeContent | None]:
        """Read ranges, at most one of each partition.

        Parameters
        ----------
        requests
            The ranges.
        committed
            The mirror leaves out aborted records of the source.
        transactional
            The mirror writes in transactions itself.

        Returns
        -------
        list
            Content of each, `None` where it cannot be read to its end now.

        Raises
        ------
        SourceError
            Raised if a cluster does not answer, or refuses.
        """
        there = self._there.read(
            (
                (i.place, OffsetRange(span.start, span.stop))
                for i in requests
                for span in i.source
            ),
            committed=committed,
        )
        here = self._here.read(
            (
                (_here(i), OffsetRange(i.target.start, i.target.stop))
                for i in requests
            ),
            committed=transactional,
        )
        # Afterwards: what was not found may have expired meanwhile.
        starts = read_starts(self._source, {i.place for i in requests})
        starts_here = read_starts(
            self._target, {_here(i) for i in requests if i.target_id}
        )
        tails = {_here(i) for i in requests if i.target_id and i.by_end}
        ends = self._ends(tails)
        return [
            None
            # A leader that is cut off has an old one.
            if request.by_end
            and ends.get(_here(request)) != request.target.stop
            else self._content(
                request,
                there.get(request.place, {}),
                here.get(_here(request), {}),
                (starts.get(request.place), starts_here.get(_here(request))),
            )
            for request in requests
        ]

    @property
    def has_configs(self) -> bool:
        """Configurations of topics were read: what is compacted is known."""
        return bool(self._configs.get().source)

    @property
    def bytes_read(self) -> tuple[int, int]:
        """Bytes of keys and values read at the source, and at the target."""
        return self._there.bytes_read, self._here.bytes_read

    def find_truncated(
        self, requests: Iterable[EndRequest]
    ) -> list[EndRequest]:
        """Return the logs of which brokers confirm that they were truncated.

        Raises
        ------
        SourceError
            Raised if a cluster does not answer, or refuses.
        """
        found = []
        for reader, at_target in ((self._there, False), (self._here, True)):
            asked = {
                _side(request): request
                for request in requests
                if request.at_target is at_target
            }
            offsets = {place: r.offset for place, r in asked.items()}
            found += [asked[p] for p in reader.find_truncated(offsets)]
        return found

    def _content(
        self,
        request: RangeRequest,
        source: Mapping[int, RecordFingerprint] | None,
        target: Mapping[int, RecordFingerprint] | None,
        starts: tuple[int | None, int | None],
    ) -> RangeContent | None:
        if source is None or target is None:
            return None
        start, start_here = starts
        if start is None or start_here is None:
            # Without a leader. What expired would look as if it had never
            # been there.
            return None
        # A target that sets timestamps itself has others than the source.
        timed = not any(look.by_broker for look in target.values())
        configs = self._configs.get()
        from_ = configs.source.get(request.place[0])
        to = configs.target.get(request.remote)
        return RangeContent(
            source=_numbers(source, start, timed=timed),
            target=_numbers(target, 0, timed=timed),
            source_start=start,
            target_start=start_here,
            # What is not known might be: then less is called proved.
            source_compacted=from_ is None or from_.compacted,
            target_compacted=to is None or to.compacted,
        )


def _numbers(
    looks: Mapping[int, RecordFingerprint], start: int, *, timed: bool
) -> dict[int, int]:
    return {
        offset: look.number(timed=timed)
        for offset, look in looks.items()
        if offset >= start
    }


def _here(request: RangeRequest | EndRequest) -> TopicPartition:
    return request.remote, request.place[1]


def _side(request: EndRequest) -> TopicPartition:
    return _here(request) if request.at_target else request.place


_AFTER = timedelta(minutes=5)
"""Time for which aborted records are still not read after the mirror began to
copy them: what it left out before must not seem to be dropped. Every position
is written several times within it."""


_REPORTED = 200
"""Losses, and other events, that are reported as they are, the newest. Older
ones are added by partition."""


_BUSY, _IDLE = timedelta(milliseconds=250), timedelta(seconds=1)
"""Pause between two steps, while ranges wait to be read and while none do."""

CONFIGS_WITHIN = timedelta(seconds=30)
"""Time after the start for which ranges wait until configurations were read:
what may be compacted proves less."""

VIEWS_KEPT = 20
"""Surveys that wait while both sides are read. Older ones are joined to the
next: only the newest ends count, and all syncs."""


class CopiesWorker:
    """Follows what the mirror of one flow copies, loses and repeats.

    Parameters
    ----------
    flow
        Name of the flow.
    positions
        State that the mirror reports: positions, syncs, configuration.
    store
        Store of the state.
    examiner
        Reads both sides.
    merged
        Returns whether a topic is fed by several flows.
    exactly_once
        The mirror writes in transactions; `None` to follow its configuration.
    memory
        Time for which events are reported by name.
    read_rate
        Bytes per second that are read from each side at most.
    empty_until
        Returns the source offsets up to which no data follows positions.
    dropped
        Returns the first offset and the end of tails that a transform drops
        on purpose.
    filtered
        Topics of which a transform drops records on purpose.
    window
        Time in which the share that may be missing of these is counted.
    clock
        Gives the time.

    Notes
    -----
    Surveys are taken by the survey's thread, which must not wait, and worked
    on by this worker's own, which they wake. Nothing is reported that is not
    written down.
    """

    def __init__(
        self,
        *,
        flow: str,
        positions: MirrorState,
        store: CopiesStore,
        examiner: RangeExaminer,
        merged: Callable[[str], bool],
        exactly_once: bool | None,
        memory: timedelta,
        read_rate: int,
        clock: Callable[[], datetime],
        empty_until: Callable[[], Mapping[TopicPartition, int]] = dict,
        dropped: Callable[[], Mapping[TopicPartition, tuple[int, int]]] = dict,
        filtered: FilteredTopics | None = None,
        window: timedelta = timedelta(hours=1),
    ) -> None:
        self.name = f"skips {flow}"
        self.interval = _IDLE
        self.news = Event()
        self._flow = flow
        self._positions = positions
        self._store = store
        self._examiner = examiner
        self._merged = merged
        self._empty_until = empty_until
        self._dropped = dropped
        self._filtered = filtered or FilteredTopics()
        self._window = window
        self._exactly_once = exactly_once
        self._clock = clock
        self._started_at = clock()
        self._memory = memory
        self._tracker = self._load()
        self._shared = self._tracker.shared_partitions()
        self._beginnings: Mapping[TopicPartition, Beginning] = {}
        self._resets: Mapping[str, int] = {}
        self._events = self._sum_up(store.events())
        self._batches = RangeQueue()
        self._budget = ReadBudget(read_rate)
        self._left_out_at: datetime | None = None
        self._views: deque[FlowView] = deque()
        self._view: FlowView | None = None
        self._lock = Lock()
        self._tracking = Lock()
        """Held while the tracker changes, and while others read it."""

        self._seen: SkipsObservation | None = None
        self._missing: Mapping[TopicPartition, tuple[int, int]] = {}
        self._counters: dict[str, CopyCounters] = {}

    def take(self, view: FlowView) -> None:
        """Keep a survey."""
        with self._lock:
            if len(self._views) >= VIEWS_KEPT:
                older = self._views.pop().new_syncs
                view = replace(view, new_syncs=older + view.new_syncs)
            self._views.append(view)
        self.news.set()

    def step(self) -> None:
        try:
            if self._follow():
                self._keep()
            if self._read():
                self._keep()
        except StateError:
            # What is in memory is ahead of the file, which is the truth. The
            # syncs behind it come again, the newest at least.
            self._tracker = self._load()
            raise

    def close(self) -> None:
        """Do nothing: what is known is written down at every step."""

    def observe(self, now: datetime) -> Sequence[SkipsObservation]:
        with self._lock:
            return [] if self._seen is None else [self._seen]

    def copied(
        self, places: Iterable[TopicPartition]
    ) -> dict[TopicPartition, CopiedPartition]:
        """Return where the copies of source partitions are, as far as that
        is known.
        """
        with self._tracking:
            tracker = self._tracker
            return {
                place: CopiedPartition.of(
                    pair, is_transactional=tracker.is_transactional
                )
                for place in places
                if (pair := tracker.pairs.get(place)) is not None
            }

    def missing(self) -> Mapping[TopicPartition, tuple[int, int]]:
        """Return the first lost record that the source still holds, and the
        number of them.
        """
        with self._lock:
            return self._missing

    def shared(self) -> frozenset[TopicPartition]:
        """Return the source partitions at whose copies others write, too:
        other producers, or two tasks of the mirror.
        """
        with self._lock:
            return self._shared

    def is_shared(self, place: TopicPartition) -> bool:
        """Return whether the target's end counts no copies of a partition."""
        with self._lock:
            return place in self._shared or self._merged(place[0])

    def accounted(
        self, place: TopicPartition, seen: PartitionView
    ) -> int | None:
        """Return the source offset after all that is accounted for, of a
        partition of which a range is still to be read; else `None`.
        """
        with self._tracking:
            return self._tracker.accounted(place, seen)

    def position(
        self, place: TopicPartition, seen: PartitionView
    ) -> int | None:
        """Return the next source offset to copy; `None` if it is not known."""
        with self._tracking:
            return self._tracker.position(place, seen)

    def compares(self, topic: str) -> bool:
        """Return whether the copies of a topic are compared: not where several
        flows write it.
        """
        return not self._merged(topic)

    def beginnings(self) -> Mapping[TopicPartition, Beginning]:
        """Return where the mirror began in recreated topics."""
        with self._lock:
            return self._beginnings

    def resets(self) -> Mapping[str, int]:
        """Return the number of position resets by topic."""
        with self._lock:
            return self._resets

    def _load(self) -> CopyTracker:
        tracker = self._store.load()
        tracker.is_transactional |= bool(self._exactly_once)
        tracker.filtered, tracker.window = self._filtered, self._window
        tracker.memory = self._memory
        return tracker

    def _follow(self) -> bool:
        with self._lock:
            views = list(self._views)
            self._views.clear()
        connectors = self._positions.connectors()
        if self._exactly_once is None and any(
            c.exactly_once for c in connectors
        ):
            self._tracker.is_transactional = True
        flush = [c.flush or LONGEST_FLUSH for c in connectors]
        self._tracker.flush = STALE_END + max(flush, default=LONGEST_FLUSH)
        # None may be known for a while: then it does as before.
        if connectors and all(c.read_committed for c in connectors):
            self._left_out_at = self._clock()
        for view in views:
            self._view = view
            judged = {
                topic: remote
                for topic, remote in view.names.items()
                if not self._merged(topic)
            }
            # As it is, nearly always: then it has its partitions already.
            alike = len(judged) == len(view.names)
            with self._tracking:
                self._tracker.take_empty(self._empty_until(), self._dropped())
                self._tracker.follow(
                    view if alike else replace(view, names=judged)
                )
        return bool(views)

    def _read(self) -> bool:
        tracker, now = self._tracker, self._clock()
        ranges, ends = tracker.requests(), tracker.end_requests()
        before = self._examiner.bytes_read
        due = self._batches.due(ends, now)
        self.interval = _BUSY if ranges else _IDLE
        is_ready = self._examiner.has_configs or (
            now - self._started_at > CONFIGS_WITHIN
        )
        batch = self._batches.next(
            ranges,
            ends,
            now,
            may_read=is_ready and self._budget.is_free(now),
        )
        for request in self._batches.given_up:
            self._answer(request, None)
        has_news = bool(self._batches.given_up)
        last = self._left_out_at
        committed = last is not None and now - last < _AFTER
        try:
            for end in self._examiner.find_truncated(due):
                tracker.confirm(end)
                self._batches.succeed(end.place)
            contents = self._examiner.answer(
                batch,
                committed=committed,
                transactional=tracker.is_transactional,
            )
        except SourceError as e:
            self._batches.fail(batch, e, now)
            self._publish()
            return has_news
        finally:
            read = self._examiner.bytes_read
            self._budget.spend(
                max(a - b for a, b in zip(read, before, strict=True)), now
            )
        for request, content in zip(batch, contents, strict=True):
            if content is None:
                self._batches.hold(request, now)
                continue
            self._answer(request, content)
        return has_news or bool(batch)

    def _answer(
        self, request: RangeRequest, content: RangeContent | None
    ) -> None:
        self._batches.succeed(request.place)
        with self._tracking:
            self._tracker.answer(request, content, self._clock())

    def _keep(self) -> None:
        found = list(self._tracker.events)
        self._store.save(self._tracker, self._since())
        if found:
            self._events = self._sum_up([*self._events, *found])
        self._publish()

    def _since(self) -> datetime:
        return self._clock() - self._memory

    def _sum_up(self, events: Iterable[CopyEvent]) -> list[CopyEvent]:
        since = self._since()
        return sum_up((e for e in events if e.at >= since), _REPORTED)

    def _publish(self) -> None:
        view, tracker = self._view, self._tracker
        if view is None:
            return
        topics = [t for t in view.names if not self._merged(t)]
        since = self._since()
        seen = SkipsObservation(
            flow=self._flow,
            at=view.at,
            partitions=len(tracker.surveyed),
            counters=self._copy_counters(sorted(topics)),
            events=tuple(
                (event, tracker.missing(event))
                for event in self._events
                if event.at >= since
            ),
            foreign=tuple(
                (topic, found)
                for topic, found in sorted(tracker.foreign.items())
                if topic in topics
            ),
            excesses=tuple(
                (topic, counters.excess)
                for topic, counters in sorted(tracker.counters.items())
                if counters.excess is not None and topic in view.names
            ),
            out_of_range=tuple(
                each
                for key, each in sorted(tracker.out_of_range.items())
                if key in tracker.surveyed and each.is_believed(view.at)
            ),
            unread=self._batches.unread(),
            bytes_read=self._examiner.bytes_read,
            without_syncs=len(tracker.without_syncs),
            merged=len(view.names) - len(topics),
            problems=view.comparison_problems,
        )
        with self._lock:
            self._seen = seen
            self._shared = tracker.shared_partitions()
            self._beginnings = tracker.beginnings()
            self._resets = {
                topic: counters.resets
                for topic, counters in tracker.counters.items()
                if counters.resets
            }
            self._missing = tracker.missing_records(self._events)

    def _copy_counters(
        self, topics: Iterable[str]
    ) -> tuple[tuple[str, CopyCounters], ...]:
        """Return copies, as the tracker goes on counting, and those of before
        where nothing was counted; 0 where nothing ever was.
        """
        before, counted = self._counters, self._tracker.counters
        self._counters = {}
        for topic in topics:
            counters, copy = counted.get(topic), before.get(topic, _NOTHING)
            if counters is not None and not _is_alike(copy, counters):
                copy = replace(counters)
            self._counters[topic] = copy if counters is not None else _NOTHING
        return tuple(self._counters.items())


_NOTHING = CopyCounters()


def _is_alike(copy: CopyCounters, counters: CopyCounters) -> bool:
    return (
        copy == counters
        and copy.passed == counters.passed
        and copy.samples is counters.samples
    )
