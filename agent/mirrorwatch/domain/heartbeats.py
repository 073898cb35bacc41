"""Facts about MirrorMaker 2's own signs of life."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from . import heartbeats_texts as texts
from .finding import Finding, Health
from .mirror_records import Heartbeat
from .report import Evidence, Verdict, conclude

__all__ = [
    "HeartbeatTracker",
    "HeartbeatsLimits",
    "HeartbeatsObservation",
    "LastHeartbeat",
    "judge_heartbeats",
]


Pair = tuple[str, str, str]
"""Place, and the aliases that a heartbeat names."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LastHeartbeat:
    """The newest heartbeat of one pair in one topic."""

    beat_at: datetime
    seen_at: datetime
    """Time at which the heartbeat was first seen, by the agent's clock."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HeartbeatLatency:
    """Heartbeats that wait at the source, and their copies."""

    pair: tuple[str, str]
    source: LastHeartbeat
    """The newest one at the source."""

    target: LastHeartbeat
    """The newest one that was copied."""

    waits_since: datetime | None = None
    """Time at which the oldest heartbeat that is not copied was first seen, by
    the agent's clock; `None` if all that were seen are copied."""

    waited_unseen: bool = False
    """Lower bound only: nothing was read before it, so it may have waited."""

    @property
    def behind(self) -> timedelta:
        """Lag of the newest copied heartbeat, by the times of emission."""
        return self.source.beat_at - self.target.beat_at

    def late(self, now: datetime) -> timedelta:
        """Return how long the oldest one has waited to be copied."""
        return now - (self.waits_since or now)


@dataclass(frozen=True, kw_only=True, slots=True)
class HeartbeatsObservation:
    """Heartbeats of one flow."""

    flow: str
    at: datetime
    interval: timedelta | None = None
    """Interval at which a worker of this mirror writes heartbeats at the
    target; `None` if it writes none."""

    worker: LastHeartbeat | None = None
    """The newest one that it wrote."""

    expected_since: datetime | None = None
    carried: tuple[HeartbeatLatency, ...] = ()
    problems: tuple[str, ...] = ()


MOST_WAITING = 720
"""Heartbeats remembered that are not copied: one a look, for an hour."""


class HeartbeatTracker:
    """Remembers when each heartbeat was seen.

    Notes
    -----
    The heartbeats topics are compacted, and clocks of sites differ: so
    staleness is counted from when something new was seen, by our own clock.
    The emitter's clock only tells how old the first of a pair is, and the
    first after a time in which nothing was read.
    """

    def __init__(self) -> None:
        self._beats: dict[Pair, LastHeartbeat] = {}
        self._waiting: dict[tuple[str, str], deque[LastHeartbeat]] = {}
        self._unseen: set[tuple[str, str]] = set()
        self._noted_at: datetime | None = None

    def note(self, beats: Iterable[Heartbeat], now: datetime) -> None:
        """Take the newest heartbeat of each pair."""
        gap = now - (self._noted_at or now)
        self._noted_at = now
        for found in beats:
            key = (found.place, found.source, found.target)
            known = self._beats.get(key)
            if known is not None and known.beat_at == found.beat_at:
                continue
            seen_at = now
            if known is None:
                seen_at = min(found.written_at, now)
            elif gap > HeartbeatsLimits.stale:
                emitted = known.seen_at + (found.beat_at - known.beat_at)
                seen_at = min(emitted, now)
            beat = LastHeartbeat(beat_at=found.beat_at, seen_at=seen_at)
            self._beats[key] = beat
            if found.place == "source":
                pair = (found.source, found.target)
                waiting = self._waiting.setdefault(pair, deque())
                if known is None or gap > HeartbeatsLimits.stale:
                    self._unseen.add(pair)
                if len(waiting) < MOST_WAITING:
                    waiting.append(beat)
        self._forget_copied()

    def _forget_copied(self) -> None:
        for pair, waiting in self._waiting.items():
            copy = self._beats.get(("carried", *pair))
            while copy and waiting and waiting[0].beat_at <= copy.beat_at:
                waiting.popleft()
            if not waiting:
                self._unseen.discard(pair)

    def worker(self, pair: tuple[str, str]) -> LastHeartbeat | None:
        """Return the newest one that a worker wrote at the target."""
        return self._beats.get(("target", *pair))

    def newest(self, pair: tuple[str, str]) -> datetime | None:
        """Return when the last one was seen that proves that a worker lives:
        written at the target by its own, or copied from the source.
        """
        seen = [
            beat.seen_at
            for (place, *names), beat in self._beats.items()
            if place == "carried" or (place == "target" and names == [*pair])
        ]
        return max(seen, default=None)

    def carried(self) -> tuple[HeartbeatLatency, ...]:
        """Return those that were copied at least once."""
        return tuple(
            HeartbeatLatency(
                pair=(source, target),
                source=beat,
                target=copy,
                waits_since=waiting[0].seen_at if waiting else None,
                waited_unseen=(source, target) in self._unseen,
            )
            for (place, source, target), beat in self._by_pair().items()
            if place == "source"
            and (copy := self._beats.get(("carried", source, target)))
            for waiting in [self._waiting[source, target]]
        )

    def _by_pair(self) -> Mapping[Pair, LastHeartbeat]:
        return dict(sorted(self._beats.items()))


MISSED = 10
"""Intervals without a heartbeat that are too many, whatever the limit."""


CEASED = timedelta(minutes=10)
"""Age of the newest heartbeat at the source from which nobody is taken to
make any: who does is another mirror, and how often it does is not known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HeartbeatsLimits:
    """Limits of the check `heartbeats`."""

    stale: ClassVar[timedelta] = timedelta(minutes=1)
    """Time without heartbeats, or the lag of their copies, from which the
    check is at warning. MirrorMaker emits one every second; Connect detects a
    lost worker after ten seconds, and a rebalance takes some more. Ten
    heartbeat intervals, if that is longer."""


def judge_heartbeats(
    flow: str,
    seen: HeartbeatsObservation | None,
    limits: HeartbeatsLimits,
    now: datetime,
) -> Verdict:
    """Judge the heartbeats of a flow's mirror.

    Parameters
    ----------
    flow
        Name of the flow.
    seen
        Observation of the heartbeats.
    limits
        Limits of the check.
    now
        The time.
    """
    return conclude(
        _find(seen, limits, now),
        flow=flow,
        check="heartbeats",
        now=now,
        evidence={} if seen is None else _evidence(seen, now),
    )


def _find(
    seen: HeartbeatsObservation | None,
    limits: HeartbeatsLimits,
    now: datetime,
) -> Iterator[Finding]:
    if seen is None:
        yield texts.NO_DATA.found(Health.UNKNOWN)
        return
    for problem in seen.problems:
        yield texts.UNREADABLE.found(Health.UNKNOWN, problem=problem)
    yield from _judge_worker(seen, limits, now)
    ceased = max(limits.stale, CEASED)
    waiting = [p for p in seen.carried if p.late(now) > limits.stale]
    yield from _judge_copies(seen, limits, now, ceased)
    ages = [now - pair.source.seen_at for pair in seen.carried]
    if any(age <= ceased for age in ages):
        yield texts.OK.found(Health.OK, pairs=len(ages))
    elif seen.interval is not None and not waiting:
        yield texts.NOT_REPLICATED.found(Health.OK)
    elif ages:
        yield texts.CEASED.found(
            Health.UNKNOWN, seconds=min(ages).total_seconds()
        )
    elif not seen.problems:
        yield texts.OFF.found(Health.OFF)


def _judge_copies(
    seen: HeartbeatsObservation,
    limits: HeartbeatsLimits,
    now: datetime,
    ceased: timedelta,
) -> Iterator[Finding]:
    for pair in seen.carried:
        if now - pair.source.seen_at > ceased:
            continue  # no connector emits any: no fault of this flow
        late, name = pair.late(now), f"{pair.pair[0]}->{pair.pair[1]}"
        subject = {"connection": name}
        if late > limits.stale:
            yield texts.LATE.found(
                Health.WARNING, subject, seconds=late.total_seconds()
            )
        elif pair.waited_unseen and pair.behind > limits.stale:
            yield texts.LAG_UNKNOWN.found(
                Health.UNKNOWN, subject, seconds=pair.behind.total_seconds()
            )


def _judge_worker(
    seen: HeartbeatsObservation, limits: HeartbeatsLimits, now: datetime
) -> Iterator[Finding]:
    if seen.interval is None or seen.problems:
        return
    since = seen.worker.seen_at if seen.worker else seen.expected_since
    patience = max(limits.stale, MISSED * seen.interval)
    if since is not None and now - since > patience:
        yield texts.MISSING.found(
            Health.WARNING,
            seconds=(now - since).total_seconds(),
            interval_seconds=seen.interval.total_seconds(),
        )


def _evidence(seen: HeartbeatsObservation, now: datetime) -> Evidence:
    found: dict[str, str | int | float | bool | None] = {}
    if seen.worker is not None:
        age = (now - seen.worker.seen_at).total_seconds()
        found["worker_heartbeat_age_seconds"] = round(age, 1)
    for pair in seen.carried:
        late = pair.late(now).total_seconds()
        name = f"{pair.pair[0]}->{pair.pair[1]}"
        found[f"{name}_copied_late_seconds"] = round(late, 1)
    return found
