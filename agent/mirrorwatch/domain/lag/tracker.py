"""Lag of all topics of a flow, from survey to survey."""

from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise

from ..cluster_view import (
    FOR_EVER,
    ClusterView,
    FlowView,
    PartitionView,
    Position,
    PositionSource,
    TopicConfigs,
    TopicPartition,
)
from ..mirror_records import FLUSH, LONGEST_FLUSH, REFRESH, Connector
from .model import (
    EstimateBounds,
    FirstRecord,
    Headroom,
    LagObservation,
    LagStatus,
    ReadAt,
    StalledPartition,
    TopicLag,
)

__all__ = [
    "PROOF_FLUSHES",
    "EndHistory",
    "LagContext",
    "LagTracker",
    "LagTrend",
    "PartitionLag",
    "summarize",
]


KEPT = 64
"""Entries for each partition. When there are more, every other one goes but
the first, whose record is the one that waits."""


@dataclass(slots=True)
class EndHistory:
    """The ends of one partition that were seen, and when first."""

    entries: list[tuple[int, float]] = field(default_factory=list)
    """End offset and time in seconds since 1970, both growing."""

    floor: int | None = None
    """Highest end that was seen before those; `None` at first."""

    @property
    def last(self) -> int:
        """The end that was seen last."""
        return self.entries[-1][0] if self.entries else 0

    def see(self, end: int, now: float) -> None:
        """Take an end; one below the last starts afresh."""
        if self.entries and end < self.entries[-1][0]:
            self.entries.clear()
            self.floor = None
        if not self.entries or end > self.entries[-1][0]:
            self.entries.append((end, now))
        if len(self.entries) > KEPT:
            self.entries[1:] = self.entries[1::2]

    def pass_(self, position: int) -> None:
        """Forget what lies at or below a position."""
        passed = 0
        while (
            passed < len(self.entries) - 1
            and self.entries[passed][0] <= position
        ):
            passed += 1
        if passed:
            self.floor = self.entries[passed - 1][0]
            del self.entries[:passed]

    def written_at(self, position: int) -> tuple[float, bool] | None:
        """Return when the record at a position was first seen to be there.

        Returns
        -------
        tuple or None
            The time, and whether the record may be older than that: it was
            there when the agent first looked. `None` if there is no record.
        """
        for index, (end, at) in enumerate(self.entries):
            if end > position:
                before = self.entries[index - 1][0] if index else self.floor
                return at, before is None or before > position
        return None


@dataclass(slots=True)
class PartitionLag:
    """What is kept of one partition between two surveys."""

    epoch: tuple[str, str | None]
    """Ids of the topic at the source and at the target."""

    moved_at: datetime
    """When the position last went on; at first, when it was first seen."""

    position: Position | None = None
    """Where the mirror is, by what it says."""

    end: int = 0
    """End at the source."""

    ends: EndHistory = field(default_factory=EndHistory)
    """Where it was before."""

    claim: EstimateBounds = field(default_factory=EstimateBounds)
    """What estimates still have to prove."""

    nothing_until: int = 0
    """Offset up to which no data record follows the position: only markers
    of transactions, or offsets that compaction emptied."""

    head_at: float | None = None
    """Timestamp of the record that is next, in seconds since 1970."""

    read_for: int | None = None
    """Position for which the record that is next was read."""

    def move(
        self,
        position: Position,
        end: int,
        now: datetime,
        moved_at: datetime | None = None,
    ) -> None:
        """Take where the mirror and the source are.

        Parameters
        ----------
        position
            Where the mirror is.
        end
            End at the source.
        now
            When both were asked for.
        moved_at
            After a time in which nobody could look: when the mirror last
            moved, if it did meanwhile. `None` if there was a look just before.
        """
        before = self.position
        if position == before and end == self.end:
            return  # most partitions, most of the time
        if before is None or position.offset != before.offset:
            if before is not None and position.offset > before.offset:
                self.moved_at = moved_at or now
            self.nothing_until, self.head_at, self.read_for = 0, None, None
        self.position, self.end = position, end
        if moved_at is not None and self.ends.last <= self.next_offset:
            # The record that is next came meanwhile: it has to be read.
            self.ends = EndHistory()
        self.ends.see(end, now.timestamp())
        self.ends.pass_(self.next_offset)

    def wants_head(self, at: datetime | None) -> bool:
        """Whether the record that is next should be read.

        Parameters
        ----------
        at
            When the position was last asked for.
        """
        return (
            self.records > 0
            and self.read_for != self.next_offset
            and (self.moved_at != at or self.waits_unseen)
        )

    def take_head(self, head: FirstRecord) -> None:
        """Take what was read; it is void if the position moved meanwhile."""
        if self.next_offset != head.wanted.position:
            return
        if head.offset is None:
            self.nothing_until = head.wanted.end
        else:
            self.nothing_until = head.offset
            self.read_for = head.offset
        if head.written_at is not None:
            self.head_at = head.written_at.timestamp()
        self.ends.pass_(self.next_offset)

    @property
    def next_offset(self) -> int:
        """Next source offset to copy, beyond what needs no copy."""
        position = 0 if self.position is None else self.position.offset
        return max(self.nothing_until, position)

    @property
    def records(self) -> int:
        """Offsets that wait."""
        return max(0, self.end - self.next_offset)

    @property
    def begun(self) -> bool:
        """Whether anything of the partition was ever copied."""
        return self.position is not None and (
            self.position.origin is not PositionSource.START
        )

    def waiting_since(self) -> tuple[float, bool] | None:
        """Return when the oldest record that waits was written.

        Returns
        -------
        tuple or None
            Seconds since 1970, and whether it may be earlier; `None` if
            nothing waits.
        """
        if not self.records:
            return None
        found = self.ends.written_at(self.next_offset)
        if found is None:
            return None
        at, may_be_older = found
        if may_be_older and self.head_at is not None:
            return min(at, self.head_at), False
        return at, may_be_older

    @property
    def waits_unseen(self) -> bool:
        """Whether what waits was there before the agent looked."""
        since = self.waiting_since()
        return since is not None and since[1]


def find_headroom(
    configs: TopicConfigs | None,
    *,
    age: float,
    tracks: Mapping[int, PartitionLag],
    starts: Mapping[int, int],
    rate: float,
) -> Headroom | None:
    """Return what is left before records are lost, by time or by size.

    Parameters
    ----------
    configs
        How the source topic is configured; `None` if that is not known.
    age
        Age in seconds of the oldest record not yet copied, 0 if none waits.
    tracks
        Its partitions.
    starts
        Their log starts.
    rate
        Records a second written to the topic.
    """
    if configs is None or not configs.deletes:
        return None
    found = [*_by_time(configs, age), *_by_size(configs, tracks, starts, rate)]
    return min(found, key=lambda h: h.remaining, default=None)


def _by_time(configs: TopicConfigs, age: float) -> Iterator[Headroom]:
    if configs.retention_ms in (None, FOR_EVER):
        return
    kept = configs.retention_ms / 1000
    left = max(0.0, kept - age)
    yield Headroom(
        remaining=timedelta(seconds=left), share=left / kept if kept else 0.0
    )


def _by_size(
    configs: TopicConfigs,
    tracks: Mapping[int, PartitionLag],
    starts: Mapping[int, int],
    rate: float,
) -> Iterator[Headroom]:
    """Yield estimates: no broker shows sizes to everyone, but a log that was
    shortened before keeps about as many records as it does now.
    """
    if configs.retention_bytes in (None, FOR_EVER) or rate <= 0:
        return
    each = rate / max(1, len(tracks))
    for partition, track in tracks.items():
        start = starts.get(partition, 0)
        if start > 0 and track.end > start:
            left = max(0, track.next_offset - start)
            yield Headroom(
                remaining=timedelta(seconds=left / each),
                share=left / (track.end - start),
                estimated=True,
            )


RATES_OVER = 60.0
"""Seconds over which rates are taken: longer than one burst of a mirror."""

DRAIN_OVER = 10.0
"""Seconds that a mirror must have gone on before its rate is believed: less
is one batch of it."""

BUCKET = 120.0
"""Seconds of one period whose smallest lag counts: bursts come and go within
it, so its minimum grows only if the mirror never catches up."""

BUCKETS = 5
"""Stretches in a row, each worse than the one before, that make a trend."""

LEAST = 30.0
"""Seconds of lag below which nothing falls behind: jitter grows too."""


@dataclass(slots=True)
class LagTrend:
    """How one topic did in the last minutes."""

    rates: deque[tuple[float, int, int]] = field(default_factory=deque)
    """Time, sum of positions, sum of ends."""

    least: deque[tuple[int, float]] = field(
        default_factory=lambda: deque(maxlen=BUCKETS + 1)
    )
    """Stretch by its number, and the smallest lag in it, in seconds."""

    def see(
        self, now: float, positions: int, ends: int, seconds: float
    ) -> None:
        """Take the state of a topic at one time."""
        self.rates.append((now, positions, ends))
        while now - self.rates[0][0] > RATES_OVER and len(self.rates) > 2:
            self.rates.popleft()
        stretch = int(now // BUCKET)
        if self.least and self.least[-1][0] == stretch:
            seconds = min(seconds, self.least.pop()[1])
        self.least.append((stretch, seconds))

    def stand(self, now: float) -> None:
        """Take that at one time all was as before, and nothing waited."""
        _, positions, ends = self.rates[-1]
        self.see(now, positions, ends, 0.0)

    def stands(self) -> bool:
        """Return whether nothing moved for as long as rates are taken."""
        return self.rates[0][1:] == self.rates[-1][1:]

    def drain(self, records: int) -> timedelta | None:
        """Return how long until nothing waits, if it gets less.

        As fast as since the mirror went on: how long it was stalled before
        says nothing about what it will take.
        """
        stood = self.rates[0]
        for state in self.rates:
            if state[1] != stood[1]:
                break
            stood = state
        (then, positions, ends), (now, position, end) = stood, self.rates[-1]
        passed = now - then
        if not records or passed < DRAIN_OVER:
            return None
        gained = ((position - positions) - (end - ends)) / passed
        return timedelta(seconds=records / gained) if gained > 0 else None

    def end_rate(self) -> float:
        """Return the records a second that are written at the source."""
        (then, _, ends), (now, _, end) = self.rates[0], self.rates[-1]
        return (end - ends) / (now - then) if now > then else 0.0

    def falls_behind(self) -> bool:
        """Return whether the smallest lag grew from period to period."""
        *whole, last = self.least or [(0, 0.0)]
        if len(whole) < BUCKETS or whole[-1][1] < LEAST:
            return False
        if last[1] < whole[-1][1]:
            return False  # it still goes on, and has caught up already
        return all(
            later[0] == earlier[0] + 1 and later[1] > earlier[1]
            for earlier, later in pairwise(whole)
        )


LOOK_TWICE = timedelta(seconds=10)
"""How long a position may be stalled while records wait before the topic is
said not to move: less is one batch of a busy mirror."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LagContext:
    """What is known beside the partitions."""

    now: datetime
    topic_class: str
    configs: TopicConfigs | None
    trend: LagTrend
    starts: Mapping[int, int]
    flow_moved_at: datetime | None
    """When anything of the flow last went on."""


def summarize(
    topic: str, tracks: Mapping[int, PartitionLag], around: LagContext
) -> TopicLag:
    """Return the lag of a topic.

    Parameters
    ----------
    topic
        Source topic.
    tracks
        Its partitions.
    around
        What is known beside them.
    """
    waiting = {p: t for p, t in tracks.items() if t.end > t.next_offset}
    records = sum(t.records for t in waiting.values())
    seconds, at_least = _age(waiting, around.now)
    trend = around.trend
    trend.see(
        around.now.timestamp(),
        sum(t.next_offset for t in tracks.values()),
        sum(t.end for t in tracks.values()),
        seconds,
    )
    lag = TopicLag(
        topic=topic,
        topic_class=around.topic_class,
        records=records,
        seconds=seconds,
        at_least=at_least,
        headroom=find_headroom(
            around.configs,
            age=seconds,
            tracks=tracks,
            starts=around.starts,
            rate=trend.end_rate(),
        ),
    )
    if not waiting:
        return lag
    stood = {p: _stuck(t, around.now) for p, t in waiting.items()}
    worst = max(waiting, key=lambda p: (stood[p], waiting[p].records))
    track, stuck = waiting[worst], stood[worst]
    return replace(
        lag,
        status=_status(track, stuck, around),
        partition=worst,
        position=track.next_offset,
        origin=_origin(track),
        stuck=stuck,
        standing=tuple(
            StalledPartition(
                partition=p,
                position=t.next_offset,
                origin=_origin(t),
                status=_status(t, stood[p], around),
                stuck=stood[p],
            )
            for p, t in waiting.items()
            if stood[p] > LOOK_TWICE
        ),
        drain=trend.drain(records),
    )


def _age(
    waiting: Mapping[int, PartitionLag], now: datetime
) -> tuple[float, bool]:
    ages = [
        (max(0.0, now.timestamp() - since[0]), since[1])
        for track in waiting.values()
        if (since := track.waiting_since()) is not None
    ]
    return max(ages, default=(0.0, False))


def _origin(track: PartitionLag) -> str:
    return track.position.origin if track.position else ""


def _stuck(track: PartitionLag, now: datetime) -> timedelta:
    """Return how long a partition has not moved while records waited."""
    since = track.waiting_since()
    waited = 0.0 if since is None else now.timestamp() - since[0]
    stood = now - track.moved_at
    return max(timedelta(), min(stood, timedelta(seconds=waited)))


def _status(
    track: PartitionLag, stuck: timedelta, around: LagContext
) -> LagStatus:
    if not track.begun:
        return LagStatus.NOT_BEGUN
    if stuck > LOOK_TWICE:
        # Not from when it moved last: it may have been idle until its records
        # came, and what went on meanwhile says nothing of them.
        since, moved = around.now - stuck, around.flow_moved_at
        others = moved is not None and moved > since + LOOK_TWICE
        return LagStatus.STALLED if others else LagStatus.STOPPED
    if around.trend.falls_behind():
        return LagStatus.FALLING_BEHIND
    return LagStatus.MOVING


Marks = tuple[tuple[int, int, int], ...]
"""Of each partition: number, next offset to copy, end."""


@dataclass(slots=True)
class _Kept:
    """What is kept of one topic."""

    trend: LagTrend = field(default_factory=LagTrend)
    lag: TopicLag | None = None
    marks: Marks = ()
    configs: TopicConfigs | None = None
    unproved: tuple[int, ...] = ()
    """Partitions that are left out, as their position is not known."""

    def holds(self, marks: Marks, configs: TopicConfigs | None) -> bool:
        """Return whether the last lag is also that of now.

        Notes
        -----
        Where nothing waits and nothing is written, time changes nothing.
        """
        return (
            self.lag is not None
            and not self.lag.records
            and marks == self.marks
            and configs is self.configs
            and self.trend.stands()
        )


class TopicSummaries:
    """Summarizes topics, again only where anything changed.

    Parameters
    ----------
    class_of
        Class of a source topic, empty if it has none.
    """

    def __init__(self, class_of: Callable[[str], str]) -> None:
        self._class_of = class_of
        self._kept: dict[str, _Kept] = {}

    def take(
        self,
        view: FlowView,
        source: ClusterView,
        tracks: Mapping[TopicPartition, PartitionLag],
        configs: Mapping[str, TopicConfigs],
    ) -> tuple[TopicLag, ...]:
        """Return the lag of every topic, by name.

        Parameters
        ----------
        view
            What was seen.
        source
            The source in it.
        tracks
            All partitions of which the lag can be said.
        configs
            How source topics are configured, as far as that is known.
        """
        moved_at = max(
            (t.moved_at for t in tracks.values() if t.begun), default=None
        )
        before, self._kept = self._kept, {}
        found, unproved = [], view.unproved
        for topic in sorted(view.names):
            partitions = range(source.topics[topic].partitions)
            own = {
                p: track
                for p in partitions
                if (track := tracks.get((topic, p))) is not None
            }
            marks = tuple((p, t.next_offset, t.end) for p, t in own.items())
            kept = self._kept[topic] = before.get(topic) or _Kept()
            left_out = tuple(p for p in partitions if (topic, p) in unproved)
            if left_out != kept.unproved:
                # Sums of other partitions are no trend.
                kept.trend, kept.lag = LagTrend(), None
                kept.unproved = left_out
            if left_out and not own:
                continue
            if kept.lag is not None and kept.holds(marks, configs.get(topic)):
                kept.trend.stand(view.at.timestamp())
                found.append(kept.lag)
                continue
            around = LagContext(
                now=view.at,
                topic_class=self._class_of(topic),
                configs=configs.get(topic),
                trend=kept.trend,
                starts={
                    p: source.starts.get((topic, p), 0) for p in partitions
                },
                flow_moved_at=moved_at,
            )
            kept.marks, kept.configs = marks, around.configs
            kept.lag = summarize(topic, own, around)
            found.append(kept.lag)
        return tuple(found)


PROOF_FLUSHES = 3
"""Flushes within which an estimate must be proved: one to come, one to be
written, one to spare."""


class LagTracker:
    """Follows the lag of one flow.

    Parameters
    ----------
    flow
        Name of the flow.
    class_of
        Class of a source topic, empty if it has none.
    configs
        How source topics are configured, as far as that is known.
    """

    def __init__(
        self,
        *,
        flow: str,
        class_of: Callable[[str], str],
        configs: Callable[[], Mapping[str, TopicConfigs]],
    ) -> None:
        self._flow = flow
        self._configs = configs
        self._tracks: dict[TopicPartition, PartitionLag] = {}
        self._summaries = TopicSummaries(class_of)
        self._unknown = 0
        self._at: datetime | None = None
        self._whole_at: datetime | None = None
        """When all was seen last."""

        self._missed = False
        """Whether a survey since then did not see all."""

        self._unread: dict[TopicPartition, PartitionLag] = {}
        """Partitions whose next record may have come while nobody could
        look, or before the agent did."""

    def take(
        self,
        view: FlowView,
        connectors: Iterable[Connector] = (),
        cadence: timedelta | None = None,
    ) -> LagObservation:
        """Learn from a survey, and say what the lag is.

        Parameters
        ----------
        view
            What was seen.
        connectors
            The mirror's connectors, for their intervals.
        cadence
            How often it commits by what was seen, where they do not say it.
        """
        connectors = list(connectors)
        flush = max(
            (c.flush or cadence or FLUSH for c in connectors),
            default=cadence or FLUSH,
        )
        # Until it is known how often it commits, estimates have to do.
        said = cadence or all(c.flush for c in connectors)
        proof = PROOF_FLUSHES * (flush if said else LONGEST_FLUSH)
        refresh = max((c.refresh for c in connectors), default=REFRESH)
        problems = [*view.problems]
        if view.unproved_problem is not None:
            problems.append(view.unproved_problem)
        if not view.caught_up:
            problems.append(
                "MirrorMaker's internal topics are still being read"
            )
        topics: tuple[TopicLag, ...] = ()
        if view.source is not None and view.caught_up:
            self._unknown, self._at = 0, view.at
            self._move(view, proof, self._gap(view, flush))
            problems.extend(self._find_unread(view.at, flush))
            topics = self._summaries.take(
                view, view.source, self._tracks, self._configs()
            )
        else:
            self._missed = True
        return LagObservation(
            flow=self._flow,
            at=view.at,
            topics=topics,
            flush=flush,
            refresh=refresh,
            unknown_partitions=self._unknown,
            configs_known=bool(self._configs()) or not topics,
            problems=tuple(problems),
        )

    def wanted(self) -> Iterator[ReadAt]:
        """Yield where a record should be read, the longest wait first.

        It shows whether data waits at all, or only markers, and since when.
        A mirror that goes on needs neither.
        """
        places = [
            (track.moved_at, place, track)
            for place, track in self._tracks.items()
            if track.wants_head(self._at)
        ]
        for _, place, track in sorted(places, key=lambda p: p[:2]):
            yield ReadAt(place, track.next_offset, track.end)

    def resolve(self, heads: Iterable[FirstRecord]) -> None:
        """Take what was read; it is void if the mirror moved meanwhile."""
        for head in heads:
            track = self._tracks.get(head.wanted.place)
            if track is not None:
                track.take_head(head)

    def empty_until(
        self, foreign: Container[TopicPartition] = ()
    ) -> Mapping[TopicPartition, int]:
        """Return up to where no data follows positions, where any was read.

        Parameters
        ----------
        foreign
            Partitions at whose copies others write, too: what follows a
            position that is counted back from these does not follow the
            mirror's.
        """
        return {
            place: track.nothing_until
            for place, track in self._tracks.items()
            if track.nothing_until
            and (
                place not in foreign
                or _origin(track) != PositionSource.ESTIMATE
            )
        }

    def _gap(self, view: FlowView, flush: timedelta) -> datetime | None:
        """Return when all was seen last, if that was before the mirror's last
        commit at least, and it is seen again now.
        """
        whole = view.target is not None
        before, missed = self._whole_at, self._missed
        self._missed = not whole
        if not whole:
            return None
        self._whole_at = view.at
        if before is None or not missed or view.at - before <= flush:
            return None
        return before

    def _find_unread(self, now: datetime, flush: timedelta) -> Iterator[str]:
        """Yield why it is not known yet how long records wait.

        A mirror that runs has committed since; of another one that has to be
        read before it is said.
        """
        self._unread = {
            place: track
            for place, track in self._unread.items()
            if track is self._tracks.get(place)
            and track.waits_unseen
            and now - track.moved_at > flush
        }
        if self._unread:
            topic, partition = min(self._unread)
            yield (
                f"How long records of {topic}[{partition}] have waited is not "
                "known yet: they were there before mirrorwatch could look"
            )

    def _move(
        self, view: FlowView, patience: timedelta, gap: datetime | None
    ) -> None:
        tracks = self._tracks
        for key in tracks.keys() - view.partitions.keys():
            del tracks[key]
        for key, seen in view.partitions.items():
            if seen is None:
                self._unknown += 1
                continue
            if seen.unproved:
                tracks.pop(key, None)
                continue
            track = tracks.get(key)
            target_id = seen.target_id
            if track is not None and view.target is None:
                # A target that does not answer is not another target.
                target_id = track.epoch[1]
            if track is None or track.epoch[0] != seen.source_id:
                # What was recreated begins now; what the agent sees first may
                # have stood for long, and the mirror wrote when it moved.
                told = None if track else seen.proved_at
                track = tracks[key] = PartitionLag(
                    epoch=(seen.source_id, target_id),
                    moved_at=min(told or view.at, view.at),
                )
                self._unread[key] = track
            elif track.epoch[1] != target_id:
                # Its records wait as before, whatever became of the copies.
                track.epoch = (seen.source_id, target_id)
                track.claim = EstimateBounds()
            position = self._locate(seen, track.claim, view.at, patience)
            if position is None or position.offset > seen.source_end:
                self._unknown += 1
                del tracks[key]
                continue
            moved_at = None
            if gap is not None:
                # It may have stopped meanwhile, after what it wrote last.
                self._unread[key] = track
                moved_at = min(max(gap, seen.proved_at or gap), view.at)
            track.move(position, seen.source_end, view.at, moved_at)

    def _locate(
        self,
        seen: PartitionView,
        claim: EstimateBounds,
        now: datetime,
        patience: timedelta,
    ) -> Position | None:
        """Return where the mirror is; `None` if nothing says so."""
        proved = seen.proved
        if proved is None:
            start = seen.source_start
            if start is None:
                return None
            return Position(start, PositionSource.START)
        estimate = seen.estimate
        # An end below the sync, of another time, claims less than is proved.
        if estimate is not None and claim.believe(
            estimate, proved.offset, now, patience
        ):
            return Position(estimate, PositionSource.ESTIMATE)
        return proved
