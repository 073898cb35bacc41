"""Lag of one topic, of all of its partitions."""

from collections.abc import (
    Callable,
    Container,
    Iterator,
    Mapping,
)
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from types import MappingProxyType

from ..cluster_view import (
    FOR_EVER,
    ClusterView,
    FlowView,
    TopicConfigs,
    TopicPartition,
)
from .filtered_tails import FilteredTails
from .model import Headroom, LagStatus, StalledPartition, TopicLag
from .partition import PartitionLag

__all__ = ["LagContext", "LagTrend", "TopicSummaries", "summarize"]


def find_headrooms(
    configs: TopicConfigs | None,
    *,
    age: float,
    tracks: Mapping[int, PartitionLag],
    starts: Mapping[int, int],
    rates: Mapping[int, float],
    dropped: Mapping[int, int],
    now: float,
) -> tuple[Headroom, ...]:
    """Return what is left before records are lost, by time and by size.

    Parameters
    ----------
    configs
        Configuration of the source topic; `None` if unknown.
    age
        Age in seconds of the oldest record not yet copied, by which it
        expires; 0 if none waits.
    tracks
        Its partitions.
    starts
        Their log starts.
    rates
        Records a second written to each of them, as far as known.
    dropped
        Offsets up to which a transform drops what waits, on purpose.
    now
        The time, in seconds since 1970.

    Returns
    -------
    tuple
        The one that ends first, and those that last longer of which a
        smaller share is left: any of them may be judged the worst.
    """
    if configs is None or not configs.deletes:
        return ()
    found = [
        *_by_time(configs, age),
        *_by_size(
            dict(_find_full(configs, tracks, starts, now)),
            starts,
            rates,
            dropped,
        ),
    ]
    worst: list[Headroom] = []
    for each in sorted(found, key=lambda h: (h.remaining, h.share)):
        if not worst or each.share < worst[-1].share:
            worst.append(each)
    return tuple(worst)


def _by_time(configs: TopicConfigs, age: float) -> Iterator[Headroom]:
    if configs.retention_ms in (None, FOR_EVER):
        return
    kept = configs.retention_ms / 1000
    left = max(0.0, kept - age)
    yield Headroom(
        remaining=timedelta(seconds=left), share=left / kept if kept else 0.0
    )


def _by_size(
    full: Mapping[int, PartitionLag],
    starts: Mapping[int, int],
    rates: Mapping[int, float],
    dropped: Mapping[int, int],
) -> Iterator[Headroom]:
    """Yield estimates: no broker shows sizes to everyone, but a log that was
    shortened before keeps about as many records as it does now.

    Notes
    -----
    Each partition is as full as its own records make it: keys may send nearly
    all to one.
    """
    for partition, track in full.items():
        start, rate = starts[partition], rates.get(partition, 0.0)
        if rate > 0:
            next_offset = max(track.next_offset, dropped.get(partition, 0))
            left = max(0, next_offset - start)
            yield Headroom(
                remaining=timedelta(seconds=left / rate),
                share=left / (track.end - start),
                estimated=True,
            )


def _find_full(
    configs: TopicConfigs | None,
    tracks: Mapping[int, PartitionLag],
    starts: Mapping[int, int],
    now: float,
) -> Iterator[tuple[int, PartitionLag]]:
    """Yield the partitions that lose records by their size. Where some wait,
    the others lose nothing; nor do those that are known to lose them by time
    before they are full.
    """
    if configs is None or not is_bounded_by_size(configs):
        return
    kept = configs.retention_ms
    by_time = kept not in (None, FOR_EVER)
    waiting = {p: track for p, track in tracks.items() if track.records}
    for partition, track in (waiting or tracks).items():
        if 0 < starts.get(partition, 0) < track.end and not (
            by_time and track.expires_by_time(now, (kept or 0) / 1000)
        ):
            yield partition, track


def is_bounded_by_size(configs: TopicConfigs | None) -> bool:
    """Return whether records of a topic are known to go by its size."""
    return (
        configs is not None
        and configs.deletes
        and configs.retention_bytes not in (None, FOR_EVER)
    )


RATES_OVER = 60.0
"""Seconds over which rates are taken: longer than one burst of a mirror."""

DRAIN_OVER = 10.0
"""Seconds that a mirror must have gone on before its rate is believed: less
is one batch of it."""

BUCKET = 120.0
"""Seconds of one period whose smallest lag counts, at least: bursts come and
go within it, so its minimum grows only if the mirror never catches up."""

KEEPS = 0.75, 1.5
"""Shares of the length that a period should have within which it keeps its
own: how often a mirror commits is measured, and never twice the same."""

BUCKETS = 5
"""Stretches in a row, each worse than the one before, that make a trend."""

LEAST = 30.0
"""Seconds of lag below which nothing falls behind: jitter grows too."""


NO_ENDS: Mapping[int, int] = MappingProxyType({})


@dataclass(slots=True)
class LagTrend:
    """Lag trend of one topic in the last minutes.

    Notes
    -----
    There are thousands of them: the two lists of a topic take a quarter of
    what two deques do, which begin at 624 bytes.
    """

    rates: list[tuple[float, int, int, Mapping[int, int]]] = field(
        default_factory=list
    )
    """Time, sum of positions, sum of ends, and ends by partition where these
    are needed."""

    least: list[tuple[int, float, int]] = field(default_factory=list)
    """Stretch by its number, and the smallest lag in it, in seconds and in
    offsets."""

    period: float = BUCKET
    """Seconds of a stretch."""

    def expect_commits(self, within: timedelta) -> None:
        """Let each stretch be so long that positions are committed in it:
        between two commits lag grows, and with each one it falls.
        """
        wanted = max(BUCKET, within.total_seconds())
        low, high = KEEPS
        if not low * wanted <= self.period <= high * wanted:
            self.period = wanted
            self.least.clear()

    def see(
        self,
        now: float,
        positions: int,
        ends: int,
        seconds: float,
        by_partition: Mapping[int, int] = NO_ENDS,
    ) -> None:
        """Take the state of a topic at one time."""
        self.rates.append((now, positions, ends, by_partition))
        while now - self.rates[0][0] > RATES_OVER and len(self.rates) > 2:
            self.rates.pop(0)
        stretch, offsets = int(now // self.period), ends - positions
        if self.least and self.least[-1][0] == stretch:
            _, age, lag = self.least.pop()
            seconds, offsets = min(seconds, age), min(offsets, lag)
        self.least.append((stretch, seconds, offsets))
        del self.least[: -BUCKETS - 1]

    def stand(self, now: float) -> None:
        """Take that at one time all was as before, and nothing waited."""
        _, positions, ends, by_partition = self.rates[-1]
        self.see(now, positions, ends, 0.0, by_partition)

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
        (then, positions, ends, _), (now, position, end, _) = (
            stood,
            self.rates[-1],
        )
        passed = now - then
        if not records or passed < DRAIN_OVER:
            return None
        gained = ((position - positions) - (end - ends)) / passed
        return timedelta(seconds=records / gained) if gained > 0 else None

    def end_rates(self) -> Mapping[int, float]:
        """Return the records a second that are written at the source, by
        partition, as far as ends were seen by partition.
        """
        now, _, _, ends = self.rates[-1]
        then, _, _, before = next(r for r in self.rates if r[3] or r[0] == now)
        return {
            p: (end - before[p]) / (now - then)
            for p, end in ends.items()
            if p in before and now > then
        }

    def falls_behind(self) -> bool:
        """Return whether the smallest lag grew from period to period: its age
        each time; its offsets did not get fewer, as those of a burst do while
        it is read.
        """
        *whole, last = self.least or [(0, 0.0, 0)]
        if len(whole) < BUCKETS or whole[-1][1] < LEAST:
            return False
        if last[1] < whole[-1][1]:
            return False  # it still goes on, and has caught up already
        return whole[-1][2] >= whole[0][2] and all(
            later[0] == earlier[0] + 1 and later[1] > earlier[1]
            for earlier, later in pairwise(whole)
        )


LOOK_TWICE = timedelta(seconds=10)
"""Time for which a position may be stalled while records are pending before
the topic is reported as stalled: less is one batch of a busy mirror."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LagContext:
    """Context of a lag summary, beside the partitions."""

    now: datetime
    topic_class: str
    configs: TopicConfigs | None
    trend: LagTrend
    starts: Mapping[int, int]
    flow_moved_at: datetime | None
    """Time at which any position of the flow last advanced."""

    patience: timedelta
    """Time for which records may be pending, and a position stalled, under a
    running mirror: it may not have committed that they are copied."""

    dropped: Mapping[int, int] = field(default_factory=dict)
    """Source offsets up to which a transform drops what waits, by partition
    and on purpose: none of it is lost when it expires."""

    passed_over: AbstractSet[int] = frozenset()
    """Partitions that wait while their task copies newer records."""

    filtered: bool = False
    """Transform may drop records of the topic on purpose, which an agent that
    has just started has yet to find."""


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
        Context of the summary, beside the partitions.
    """
    waiting = {p: t for p, t in tracks.items() if t.end > t.next_offset}
    records = sum(t.records for t in waiting.values())
    seconds, at_least = _age(waiting, around.now)
    trend = around.trend
    trend.expect_commits(around.patience)
    trend.see(
        around.now.timestamp(),
        sum(t.next_offset for t in tracks.values()),
        sum(t.end for t in tracks.values()),
        seconds,
        {p: t.end for p, t in tracks.items()}
        if is_bounded_by_size(around.configs)
        else NO_ENDS,
    )
    age, just_seen = _expiry_age(waiting, around)
    rates = trend.end_rates()
    headroom = find_headrooms(
        around.configs,
        age=age,
        tracks=tracks,
        starts=around.starts,
        rates=rates,
        dropped=around.dropped,
        now=around.now.timestamp(),
    )
    lag = TopicLag(
        topic=topic,
        topic_class=around.topic_class,
        records=records,
        seconds=seconds,
        at_least=at_least,
        headroom=next(iter(headroom), None),
        scarcer=headroom[1:],
        just_seen=just_seen,
        unmeasured=any(
            p not in rates
            for p, _ in _find_full(
                around.configs, tracks, around.starts, around.now.timestamp()
            )
        ),
    )
    if not waiting:
        return lag
    stood = {p: _stood(p, t, around) for p, t in waiting.items()}
    worst = max(waiting, key=lambda p: (stood[p], waiting[p].records))
    track, stuck = waiting[worst], stood[worst]
    stands = any(stuck > around.patience for stuck in stood.values())
    return replace(
        lag,
        unfilled=stands
        and not headroom
        and is_bounded_by_size(around.configs)
        and not any(around.starts.values()),
        status=_status(track, stuck, around),
        partition=worst,
        position=track.reached,
        origin=track.origin,
        stuck=stuck,
        standing=tuple(
            StalledPartition(
                partition=p,
                position=t.reached,
                origin=t.origin,
                status=_status(t, stood[p], around),
                stuck=stood[p],
            )
            for p, t in waiting.items()
            if stood[p] > LOOK_TWICE
        ),
        # A partition that stands never drains, whatever the others gain.
        drain=None if stands else trend.drain(records),
    )


def _age(
    waiting: Mapping[int, PartitionLag], now: datetime
) -> tuple[float, bool]:
    ages = [
        (max(0.0, now.timestamp() - since[0]), since[1])
        for track in waiting.values()
        if (since := track.waiting_about()) is not None
    ]
    return max(ages, default=(0.0, False))


def _expiry_age(
    waiting: Mapping[int, PartitionLag], around: LagContext
) -> tuple[float, bool]:
    """Return the age of the oldest record that waits as the source counts it,
    and whether the agent has only begun to follow it.

    Notes
    -----
    Kafka deletes by the timestamps of records. One that another mirror copies
    there days later is as old as that when it comes. A mirror that keeps up
    has copied it before that matters.
    """
    now, patience = around.now.timestamp(), around.patience.total_seconds()
    ages = []
    for partition, track in waiting.items():
        if _is_dropped(partition, track, around):
            # Those behind came while the agent looked.
            found = track.ends.written_at(around.dropped[partition])
            if found is not None:
                ages.append((max(0.0, now - found[0]), False))
            continue
        if (found := track.waiting_about()) is None:
            continue
        since, _ = found
        seen_for = now - (track.seen_since() or now)
        followed = (
            seen_for > 2 * patience
            if around.filtered
            else seen_for > patience
            or _stuck(track, around.now) > around.patience
        )
        if followed and track.head_at is not None:
            since = min(since, track.head_at)
        just_seen = not followed and now - since > patience
        ages.append((max(0.0, now - since), just_seen))
    return max(ages, default=(0.0, False))


def _is_dropped(
    partition: int, track: PartitionLag, around: LagContext
) -> bool:
    return around.dropped.get(partition, 0) > track.next_offset


def _stood(
    partition: int, track: PartitionLag, around: LagContext
) -> timedelta:
    """Return how long a partition has not moved while records waited that the
    mirror has to copy.
    """
    if partition in around.passed_over:
        return timedelta()
    stuck = _stuck(track, around.now)
    if around.filtered:
        # An agent that has just started has yet to find what is dropped.
        now = around.now.timestamp()
        seen_for = timedelta(seconds=now - (track.seen_since() or now))
        stuck = min(stuck, seen_for)
    return stuck


def _stuck(track: PartitionLag, now: datetime) -> timedelta:
    """Return how long a partition has not moved while records waited."""
    since, waited = track.waiting_since(), 0.0
    if since is not None:
        first = min(since[0], track.expired_since or since[0])
        waited = now.timestamp() - first
    stood = now - track.stands_since
    return max(timedelta(), min(stood, timedelta(seconds=waited)))


def _status(
    track: PartitionLag, stuck: timedelta, around: LagContext
) -> LagStatus:
    if not track.begun:
        return LagStatus.NOT_BEGUN
    if stuck <= around.patience and around.trend.falls_behind():
        # That it stands shows nothing yet: it may be between two commits.
        return LagStatus.FALLING_BEHIND
    if stuck > LOOK_TWICE:
        # Not from when it moved last: it may have been idle until its records
        # came, and what went on meanwhile says nothing of them.
        since, moved = around.now - stuck, around.flow_moved_at
        others = moved is not None and moved > since + LOOK_TWICE
        return LagStatus.STALLED if others else LagStatus.STOPPED
    return LagStatus.MOVING


Marks = tuple[tuple[int, int, int], ...]
"""Of each partition: number, next offset to copy, end."""


@dataclass(slots=True)
class _Kept:
    """Lag state kept for one topic."""

    trend: LagTrend = field(default_factory=LagTrend)
    lag: TopicLag | None = None
    marks: Marks = ()
    configs: TopicConfigs | None = None
    left_out: tuple[int, ...] = ()
    """Partitions that are left out, as it is not known what waits there."""

    def holds(self, marks: Marks, configs: TopicConfigs | None) -> bool:
        """Return whether the last lag is also that of now.

        Notes
        -----
        Where nothing waits and nothing is written, time changes nothing.
        """
        return (
            self.lag is not None
            and not self.lag.records
            and not self.lag.unmeasured
            and marks == self.marks
            and configs is self.configs
            and self.trend.stands()
        )

    def stand(self, at: datetime) -> TopicLag:
        """Take that all is as before, and return the last lag."""
        assert self.lag is not None  # noqa: S101 - it holds
        self.trend.stand(at.timestamp())
        return self.lag


class TopicSummaries:
    """Summarizes topics, again only where anything changed.

    Parameters
    ----------
    class_of
        Class of a source topic, empty if it has none.
    filtered
        Returns whether a transform may drop records of a source topic on
        purpose.
    """

    def __init__(
        self,
        class_of: Callable[[str], str],
        filtered: Callable[[str], bool],
    ) -> None:
        self._class_of = class_of
        self._filtered = filtered
        self._kept: dict[str, _Kept] = {}

    def take(
        self,
        view: FlowView,
        source: ClusterView,
        tracks: Mapping[TopicPartition, PartitionLag],
        configs: Mapping[str, TopicConfigs],
        patience: timedelta,
        *,
        changed: Container[str],
        tails: FilteredTails,
        unsure: Container[TopicPartition] = (),
    ) -> tuple[TopicLag, ...]:
        """Return the lag of every topic, by name.

        Parameters
        ----------
        view
            Snapshot of the flow in this survey.
        source
            The source in it.
        tracks
            All partitions of which the lag can be said.
        configs
            Configurations of source topics, as far as known.
        patience
            Time for which positions may be stalled under a running mirror.
        changed
            Topics of which anything was seen that was not so before.
        tails
            Records that a transform drops on purpose.
        unsure
            Partitions of which it is not known whether anything waits.
        """
        moved_at = max(
            (t.moved_at for t in tracks.values() if t.begun), default=None
        )
        before, self._kept = self._kept, {}
        dropped = tails.dropped()
        found = []
        for topic in sorted(view.names):
            kept = before.get(topic)
            if (
                kept is not None
                and topic not in changed
                and kept.holds(kept.marks, configs.get(topic))
            ):
                self._kept[topic] = kept
                found.append(kept.stand(view.at))
                continue
            partitions = range(source.topics[topic].partitions)
            own = {
                p: track
                for p in partitions
                if (topic, p) not in unsure
                and (track := tracks.get((topic, p))) is not None
            }
            marks = tuple((p, t.next_offset, t.end) for p, t in own.items())
            kept = self._kept[topic] = before.get(topic) or _Kept()
            left_out = tuple(p for p in partitions if (topic, p) in unsure)
            if left_out != kept.left_out:
                # Sums of other partitions are no trend.
                kept.trend, kept.lag = LagTrend(), None
                kept.left_out = left_out
            if left_out and not own:
                continue
            if kept.holds(marks, configs.get(topic)):
                found.append(kept.stand(view.at))
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
                patience=patience,
                dropped={
                    p: dropped[topic, p][1]
                    for p in own
                    if (topic, p) in dropped
                },
                passed_over=frozenset(
                    p for p in own if tails.is_passed_over((topic, p))
                ),
                filtered=self._filtered(topic),
            )
            kept.marks, kept.configs = marks, around.configs
            kept.lag = summarize(topic, own, around)
            found.append(kept.lag)
        return tuple(found)
