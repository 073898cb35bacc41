"""Follows the skips of one flow: takes surveys, reads ranges, saves."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from threading import Event, Lock

from ..domain.cluster_view import FlowView, TopicPartition
from ..domain.failover.translation import CopiedPartition
from ..domain.mirror_records import Assignment, may_resume_at_end
from ..domain.offsets import OffsetRange
from ..domain.skips.model import (
    DroppedTailDetector,
    MissingCopies,
    PendingReads,
    RangeRequest,
    SkipCounters,
    SkipEvent,
    SkipsObservation,
    SuspectedDrop,
    sum_up,
)
from ..domain.skips.settle import RangeContent
from ..domain.skips.tracker import SkipTracker
from ..domain.topics import FilteredTopics
from ..exceptions import SourceError, StateError
from ..kafka.admin import Cluster
from ..kafka.offsets import read_newest_ends, read_starts
from ..kafka.reader import RangeReader, RecordFingerprint
from ..state.skips import SkipsStore
from ..threads import Latest
from .mirror_state import MirrorState
from .parity import FlowConfigs

__all__ = ["RangeExaminer", "SkipsWorker"]


_TOGETHER = 64
"""Partitions that are read at once: one connection for all."""

_SIZE = 50_000
"""Offsets that are read at once: some seconds, and some megabytes of
fingerprints."""

_LARGEST = 500_000
"""Offsets of one range beyond which only a sample of it is read. The mirror
writes a pair for every hundred records, so that a stretch is that long only
when the agent was away for long, or a whole topic was skipped."""

_SAMPLE = 10
"""Part of it that a sample has beyond what the target has room for."""

_AGAIN = timedelta(seconds=15)
"""How long a range that could not be read is left alone."""


class RangeQueue:
    """Puts together what is read next, and remembers what cannot be read."""

    def __init__(self) -> None:
        self.too_large: list[RangeRequest] = []
        """Those of the last call that will never be read."""

        self._since: dict[TopicPartition, datetime] = {}
        self._failed: dict[TopicPartition, tuple[datetime, str]] = {}
        self._alone: set[TopicPartition] = set()

    def next(
        self, wanted: Iterable[RangeRequest], now: datetime
    ) -> list[RangeRequest]:
        """Return what to read now, one about each partition at most."""
        batch: dict[TopicPartition, RangeRequest] = {}
        self.too_large = []
        size = 0
        keys, asked = set(), set()
        for request in wanted:
            key = request.place
            asked.add(key)
            if not request.only_count:
                keys.add(key)
                self._since.setdefault(key, now)
            failed = self._failed.get(key)
            if key in batch or (failed and now - failed[0] < _AGAIN):
                continue
            if request.size > _LARGEST and not request.only_count:
                sample = request.sample(_LARGEST // _SAMPLE)
                if sample.size > _LARGEST:
                    self.too_large.append(request)
                    continue
                request = sample  # noqa: PLW2901 - asked for instead
            if batch and (
                len(batch) == _TOGETHER
                or size + request.size > _SIZE
                or key in self._alone
                or self._alone & batch.keys()
            ):
                continue
            batch[key] = request
            size += request.size
        self._since = {k: t for k, t in self._since.items() if k in keys}
        self._failed = {k: f for k, f in self._failed.items() if k in asked}
        return list(batch.values())

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
        problem = (
            f"{request.topic}[{request.partition}], or its copy, cannot be "
            "read to the end of a range: an open transaction holds records "
            "back, a log was truncated, or it has no leader"
        )
        if request.only_end:
            problem = (
                "a broker reports an old log end offset of "
                f"{request.remote}[{request.partition}] at the target"
            )
        if request.target_id is None:
            problem = (
                f"{request.topic}[{request.partition}] is committed up to "
                f"offset {request.passed}, beyond its copies, and "
                f"{request.remote} does not exist at the target, or "
                "mirrorwatch may not describe it"
            )
        self._failed[request.place] = (now, problem)

    def succeed(self, request: RangeRequest) -> None:
        """Note that a range was read."""
        key = request.place
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
        How the topics are configured.
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
        """Read what requests ask for; one about each partition at most.

        Parameters
        ----------
        requests
            What is asked.
        committed
            Whether the mirror leaves out aborted records of the source.
        transactional
            Whether it writes in transactions itself: what it aborted was
            never written.

        Returns
        -------
        list
            What was read for each, `None` where it cannot be read to its
            end now, or where it starts is not known.

        Raises
        ------
        SourceError
            Raised if a cluster does not answer, or refuses.
        """
        there = self._there.read(
            ((i.place, span) for i in requests for span in i.read_source),
            committed=committed,
        )
        here = self._here.read(
            ((_here(i), i.read_target) for i in requests if not i.only_count),
            committed=transactional,
        )
        # Afterwards: what was not found may have expired meanwhile.
        starts = read_starts(self._source, {i.place for i in requests})
        starts_here = read_starts(
            self._target,
            {_here(i) for i in requests if i.target_id and not i.only_count},
        )
        truncated = self._here.find_truncated(
            {_here(i): i.target.first for i in requests if i.only_end}
        )
        ends = self._ends({_here(i) for i in requests if i.by_end})
        return [
            None
            if (request.only_end and _here(request) not in truncated)
            # A leader that is cut off has an old one.
            or (request.by_end and not request.fits(ends.get(_here(request))))
            else self._reading(
                request,
                there.get(request.place, {}),
                here.get(_here(request), {}),
                (
                    starts.get(request.place),
                    0
                    if request.only_count
                    else starts_here.get(_here(request)),
                ),
            )
            for request in requests
        ]

    def _reading(
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
        from_, to = (
            self._configs.get().source.get(request.topic),
            self._configs.get().target.get(request.remote),
        )
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


def _here(request: RangeRequest) -> TopicPartition:
    return request.remote, request.partition


_AFTER = timedelta(minutes=5)
"""How long aborted records stay out of what is read after the mirror began to
copy them: what it left out before must not seem to be dropped. Every position
is written several times within it."""


_REPORTED = 200
"""Losses, and other events, that are reported as they are, the newest. Older
ones are added by partition."""


_LARGEST_RANGE = 50_000
"""Offsets up to which the records that wait are counted by reading. Beyond,
offsets are reported: nobody counts on the last digit of so many."""


_SYNC_FOLLOWS = timedelta(seconds=10)
"""How long the sync that proves a suspicion, or takes it back, may be behind
the end of the target: another producer writes it, and another consumer of the
agent reads it."""


class SuspectedDrops:
    """Finds them, and has their records counted.

    Parameters
    ----------
    patience
        How much newer what their task copies must be.
    filtered
        Topics of which a transform drops records on purpose.
    known
        What was suspected before a restart.
    """

    def __init__(
        self,
        patience: timedelta,
        filtered: FilteredTopics | None = None,
        known: Iterable[SuspectedDrop] = (),
    ) -> None:
        self._filtered = filtered or FilteredTopics()
        self._suspicions = DroppedTailDetector(
            patience=patience,
            known={(each.topic, each.partition): each for each in known},
        )
        self._wanted: dict[
            TopicPartition, tuple[RangeRequest, OffsetRange]
        ] = {}
        self._found: dict[TopicPartition, SuspectedDrop] = {}
        self._counted: dict[TopicPartition, tuple[OffsetRange, int]] = {}
        self._moved: dict[TopicPartition, datetime] = {}

    def look(
        self,
        view: FlowView,
        tracker: SkipTracker,
        assignments: Iterable[Assignment],
    ) -> None:
        """Take a survey that the tracker has taken."""
        if view.source is None or view.target is None:
            return
        tasks = {
            place: (each.connector, each.task)
            for each in assignments
            for place in each.partitions
        }
        # Others are not judged: without a transform these are none.
        places = {*tasks, *self._suspicions.waiting, *self._found}
        positions = tracker.positions(places)
        suspected = self._suspicions.look(
            view.source.at, view.source.ends, positions, tasks
        )
        left = {
            place: found
            for place, found in self._found.items()
            if place not in suspected
        }
        self._moved = {
            place: min(self._moved.get(place, view.source.at), view.source.at)
            for place, found in left.items()
            if positions.get(place, found.first) > found.first
        }
        # A suspicion is taken back, or proved, by what is read next.
        self._found = {
            place: found
            for place, found in left.items()
            if tracker.awaits(
                place, found.end, soon=self._is_near(place, view.source.at)
            )
        }
        self._wanted = {}
        for place, span in suspected.items():
            counted = self._counted.get(place)
            if counted is not None and counted[0] == span:
                self._note(place, *counted)
            elif len(span) > _LARGEST_RANGE:
                self._note(place, span, len(span))
            elif (request := tracker.count(place, span)) is not None:
                self._wanted[place] = request, span
                if counted is not None and counted[0].first == span.first:
                    self._note(place, *counted)
        self._counted = {
            k: v for k, v in self._counted.items() if k in suspected
        }

    def _is_near(self, place: TopicPartition, at: datetime) -> bool:
        """Return whether the mirror has just copied more of a partition.

        The end of the target shows how many records that were, not which:
        one that was copied behind ten dropped ones looks like the first.
        """
        moved = self._moved.get(place)
        return moved is not None and at - moved < _SYNC_FOLLOWS

    def wanted(self) -> list[RangeRequest]:
        """Return which records to count."""
        return [request for request, _ in self._wanted.values()]

    def count(self, request: RangeRequest, records: int) -> None:
        """Take how many records there are."""
        place = request.place
        asked, span = self._wanted.get(place, (None, None))
        if asked != request or span is None:
            return
        del self._wanted[place]
        self._counted[place] = span, records
        self._note(place, span, records)

    @property
    def left_behind(self) -> frozenset[TopicPartition]:
        """Partitions that are under suspicion, or will soon be."""
        return self._suspicions.left_behind

    def found(self) -> tuple[SuspectedDrop, ...]:
        """Return the partitions under suspicion that hold records."""
        return tuple(s for _, s in sorted(self._found.items()))

    def _note(
        self, place: TopicPartition, span: OffsetRange, records: int
    ) -> None:
        if not records:
            return  # only marks of transactions, or what was compacted
        topic, partition = place
        self._found[place] = SuspectedDrop(
            topic=topic,
            partition=partition,
            first=span.first,
            end=span.end,
            count=records,
            since=self._suspicions.since(place),
            filtered=self._filtered.matches(topic),
        )


_BUSY, _IDLE = timedelta(milliseconds=250), timedelta(seconds=1)
"""How long to rest between two steps, while ranges wait to be read and while
none does."""

VIEWS_KEPT = 20
"""Surveys that wait while both sides are read. Older ones are joined to the
next: only the newest ends count, and all syncs."""


class SkipsWorker:
    """Watches what the mirror of one flow skips and repeats.

    Parameters
    ----------
    flow
        Name of the flow.
    positions
        What the mirror says of itself.
    store
        Where the state is kept.
    examiner
        Reads both sides.
    merged
        Returns whether a topic is fed by several flows.
    exactly_once
        Whether the mirror writes in transactions; `None` for what its
        configuration says.
    patience
        From when records that wait are suspected.
    memory
        How long what happened is reported by name.
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
        store: SkipsStore,
        examiner: RangeExaminer,
        merged: Callable[[str], bool],
        exactly_once: bool | None,
        patience: timedelta,
        memory: timedelta,
        clock: Callable[[], datetime],
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
        self._filtered = filtered or FilteredTopics()
        self._window = window
        self._exactly_once = exactly_once
        self._clock = clock
        self._memory = memory
        self._tracker = self._load()
        self._foreign = self._tracker.noisy_partitions()
        self._first_copies: Mapping[TopicPartition, tuple[str, int]] = {}
        self._events = self._sum_up(store.events())
        self._batches = RangeQueue()
        self._left_out_at: datetime | None = None
        self._suspects = SuspectedDrops(
            patience, self._filtered, store.suspected()
        )
        self._views: deque[FlowView] = deque()
        self._view: FlowView | None = None
        self._lock = Lock()
        self._seen: SkipsObservation | None = None
        self._missing = MissingCopies()
        self._tallies: dict[str, SkipCounters] = {}

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
        tracker = self._tracker
        return {
            place: CopiedPartition(
                copies=state.copies.copy(),
                marked=tracker.marked,
                shared=bool(state.heads),
                noisy=state.noisy,
            )
            for place in places
            if (state := tracker.states.get(place)) is not None
        }

    def missing(self) -> MissingCopies:
        """Return what is not at the target, as far as it was compared."""
        with self._lock:
            return self._missing

    def foreign(self) -> frozenset[TopicPartition]:
        """Return the source partitions at whose copies others write, too:
        other producers, or two tasks of the mirror.
        """
        with self._lock:
            return self._foreign

    def first_copies(self) -> Mapping[TopicPartition, tuple[str, int]]:
        """Return where the mirror began in recreated topics, with their ids,
        as far as copies show that.
        """
        with self._lock:
            return self._first_copies

    def _load(self) -> SkipTracker:
        tracker = self._store.load()
        tracker.marked = tracker.marked or bool(self._exactly_once)
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
            self._tracker.marked = True
        # None may be known for a while: then it does as before.
        if connectors and all(c.read_committed for c in connectors):
            self._left_out_at = self._clock()
        self._tracker.may_resume_at_end = may_resume_at_end(connectors)
        for view in views:
            self._view = view
            judged = {
                topic: remote
                for topic, remote in view.names.items()
                if not self._merged(topic)
            }
            # As it is, nearly always: then it has its partitions already.
            alike = len(judged) == len(view.names)
            self._tracker.follow(
                view if alike else replace(view, names=judged)
            )
            self._suspects.look(view, self._tracker, self._assignments())
        return bool(views)

    def _assignments(self) -> list[Assignment]:
        """Return what tasks have that may drop what they read.

        Without a transform nothing is dropped that does not move the
        position: what waits there is stuck, in the producer for example, and
        that is the business of the lag.
        """
        plain = {
            connector.name
            for connector in self._positions.connectors()
            if not connector.transforms
        }
        return [
            each
            for each in self._positions.assignments()
            if each.connector not in plain
        ]

    def _read(self) -> bool:
        wanted = [*self._tracker.requests(), *self._suspects.wanted()]
        self.interval = _BUSY if wanted else _IDLE
        now = self._clock()
        batch = self._batches.next(wanted, now)
        for request in self._batches.too_large:
            self._tracker.answer(request, None, now)
        if not batch:
            return bool(self._batches.too_large)
        last = self._left_out_at
        try:
            readings = self._examiner.answer(
                batch,
                committed=last is not None and now - last < _AFTER,
                transactional=self._tracker.marked,
            )
        except SourceError as e:
            self._batches.fail(batch, e, now)
            self._publish()
            return bool(self._batches.too_large)
        for request, reading in zip(batch, readings, strict=True):
            if reading is None:
                self._batches.hold(request, now)
                continue
            self._batches.succeed(request)
            if request.only_count:
                self._suspects.count(request, len(reading.source))
            else:
                self._tracker.answer(request, reading, self._clock())
        return True

    def _keep(self) -> None:
        found = list(self._tracker.events)
        self._store.save(self._tracker, self._since())
        self._store.save_suspected(self._suspects.found(), self._clock())
        if found:
            self._events = self._sum_up([*self._events, *found])
        self._publish()

    def _since(self) -> datetime:
        return self._clock() - self._memory

    def _sum_up(self, events: Iterable[SkipEvent]) -> list[SkipEvent]:
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
            tallies=self._copy_tallies(sorted(topics)),
            events=tuple(
                (event, tracker.missing(event))
                for event in self._events
                if event.at >= since
            ),
            suspicions=self._suspects.found(),
            left_behind=self._suspects.left_behind,
            foreign=tuple(
                (topic, found)
                for topic, found in sorted(tracker.foreign.items())
                if topic in topics
            ),
            excesses=tuple(
                (topic, tally.excess)
                for topic, tally in sorted(tracker.tallies.items())
                if tally.excess is not None and topic in view.names
            ),
            unread=self._batches.unread(),
            blind=tracker.blind,
            merged=len(view.names) - len(topics),
            problems=view.comparison_problems,
        )
        missing = MissingCopies(
            accounted=tracker.unaccounted(),
            skipped=tracker.missing_records(),
            dropped={
                (each.topic, each.partition): (each.first, each.end)
                for each in seen.suspicions
                if each.filtered
            },
        )
        with self._lock:
            self._seen = seen
            self._foreign = tracker.noisy_partitions()
            self._first_copies = dict(tracker.first_copies)
            self._missing = missing

    def _copy_tallies(
        self, topics: Iterable[str]
    ) -> tuple[tuple[str, SkipCounters], ...]:
        """Return copies, as the tracker goes on counting, and those of before
        where nothing was counted; 0 where nothing ever was.
        """
        before, counted = self._tallies, self._tracker.tallies
        self._tallies = {}
        for topic in topics:
            tally, copy = counted.get(topic), before.get(topic, _NOTHING)
            if tally is not None and not _is_alike(copy, tally):
                copy = replace(tally)
            self._tallies[topic] = copy if tally is not None else _NOTHING
        return tuple(self._tallies.items())


_NOTHING = SkipCounters()


def _is_alike(copy: SkipCounters, tally: SkipCounters) -> bool:
    return (
        copy == tally
        and copy.passed == tally.passed
        and copy.samples is tally.samples
    )
