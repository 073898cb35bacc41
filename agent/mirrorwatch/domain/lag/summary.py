"""Lag of one topic, from that of its partitions."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ..topic_configs import TopicConfigs
from .headroom import find_headroom
from .observation import LagStatus, Standing, TopicLag
from .track import Track
from .trend import Trend

__all__ = ["Surroundings", "summarize"]

LOOK_TWICE = timedelta(seconds=10)
"""How long a position may stand while records wait before the topic is said
not to move: less is one batch of a busy mirror."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Surroundings:
    """What is known beside the partitions."""

    now: datetime
    topic_class: str
    configs: TopicConfigs | None
    trend: Trend
    starts: Mapping[int, int]
    flow_moved_at: datetime | None
    """When anything of the flow last went on."""


def summarize(
    topic: str, tracks: Mapping[int, Track], around: Surroundings
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
            Standing(
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


def _age(waiting: Mapping[int, Track], now: datetime) -> tuple[float, bool]:
    ages = [
        (max(0.0, now.timestamp() - since[0]), since[1])
        for track in waiting.values()
        if (since := track.waiting_since()) is not None
    ]
    return max(ages, default=(0.0, False))


def _origin(track: Track) -> str:
    return track.position.origin if track.position else ""


def _stuck(track: Track, now: datetime) -> timedelta:
    """Return how long a partition has not moved while records waited."""
    since = track.waiting_since()
    waited = 0.0 if since is None else now.timestamp() - since[0]
    stood = now - track.moved_at
    return max(timedelta(), min(stood, timedelta(seconds=waited)))


def _status(track: Track, stuck: timedelta, around: Surroundings) -> LagStatus:
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
