"""Joins what was read of both sides into lanes."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Protocol

from ..domain.audit import End, Side, Span, Unverifiable
from ..domain.audit.drafts import Draft, Origin
from ..domain.audit.facts import Feed, LaneFacts, Log, Retention
from ..domain.topic_configs import TopicConfigs
from ..domain.view import TopicPartition
from .offsets import Key, Offsets
from .topics import AuditedTopics

__all__ = ["join_lanes"]

FOR_EVER = Retention.of(-1, -1)
"""Where nothing is deleted by age or size, but only by compaction."""

APPENDED = "LogAppendTime"
"""Timestamps are those of the broker, and not of the records."""

LEADERLESS = "a partition of it has no leader, on one side or the other"

SURPLUS = (
    "the source has no such partition, but the target {cluster} holds "
    "{count} offsets in it"
)


class Told(Protocol):
    """What the mirror of one flow told; see `MirrorReader`."""

    @property
    def read_committed(self) -> bool | None: ...

    @property
    def starts_at_end(self) -> bool | None: ...

    def position(self, place: TopicPartition) -> int | None: ...

    def syncs(self, place: TopicPartition) -> tuple[tuple[int, int], ...]: ...


def join_lanes(
    topics: AuditedTopics,
    offsets: Offsets,
    mirrors: Mapping[str, Told],
    ends: Mapping[tuple[str, str, int], End],
) -> tuple[list[LaneFacts], list[Unverifiable]]:
    """Join what was read of both sides into lanes.

    Parameters
    ----------
    topics
        What the audit is about.
    offsets
        Offsets of both sides.
    mirrors
        What the mirrors told, by flow.
    ends
        Up to where partitions were audited.

    Returns
    -------
    tuple of lists
        What can be compared, and what cannot be.

    Notes
    -----
    What a mirror said of a topic that was deleted and made again says nothing
    of the new one. A changed id tells, and so does a position or a pair that
    is above an end: both are read before the ends that they are compared
    with.
    """
    joining = _Joining(topics, offsets, mirrors, ends)
    lanes, gaps = [], list(joining.surplus())
    for draft in topics.drafts.lanes:
        lane = joining.join(draft)
        if lane is None:
            gaps.append(_gap(draft, LEADERLESS))
        else:
            lanes.append(lane)
    return lanes, gaps


class _Joining:
    def __init__(
        self,
        topics: AuditedTopics,
        offsets: Offsets,
        mirrors: Mapping[str, Told],
        ends: Mapping[tuple[str, str, int], End],
    ) -> None:
        self._topics = topics
        self._offsets = offsets
        self._mirrors = mirrors
        self._ends = ends

    def join(self, draft: Draft) -> LaneFacts | None:
        """Return a lane; `None` where a partition has no leader."""
        goal, key = None, (draft.cluster, draft.place)
        if draft.topic_id is not None:
            end = self._offsets.targets.get(key)
            goal = self._log("target", key, draft.topic_id, end)
            if goal is None:
                return None
        feeds = []
        for origin in draft.origins:
            feed = self._feed(origin, goal)
            if feed is None:
                return None
            feeds.append(feed)
        mirrors = [self._mirrors[feed.flow] for feed in feeds]
        compacted = [
            self._configs(log).compacted
            for log in (goal, *(feed.log for feed in feeds))
            if log is not None
        ]
        return LaneFacts(
            cluster=draft.cluster,
            place=draft.place,
            feeds=tuple(feeds),
            goal=goal,
            timestamps=goal is None
            or self._configs(goal).timestamp_type != APPENDED,
            compacted=any(compacted),
            starts_at_end=_any(m.starts_at_end for m in mirrors),
        )

    def surplus(self) -> Iterator[Unverifiable]:
        """Tell of records in partitions that the source has not."""
        for draft in self._topics.drafts.surplus:
            key = (draft.cluster, draft.place)
            start = self._offsets.starts.get(key)
            end = self._offsets.targets.get(key)
            if start is not None and end is not None and end > start:
                reason = SURPLUS.format(
                    cluster=draft.cluster, count=end - start
                )
                yield _gap(draft, reason)

    def _feed(self, origin: Origin, goal: Log | None) -> Feed | None:
        mirror = self._mirrors[origin.flow]
        key = (origin.cluster, origin.place)
        level = (key, bool(mirror.read_committed))
        end, later = (
            self._offsets.sources.get(level),
            self._offsets.later.get(level),
        )
        log = self._log("source", key, origin.topic_id, end)
        if log is None or later is None:
            return None
        position = mirror.position(origin.place)
        syncs = mirror.syncs(origin.place)
        before = self._ends.get((origin.flow, *origin.place))
        renewed = before is not None and before.source_id != origin.topic_id
        if renewed or (position is not None and position > later):
            position, syncs = None, ()
        if goal is not None and (goal.cluster, goal.place) in (
            self._offsets.unsure
        ):
            position = None
        if syncs and not _speak_of(syncs[-1], later, goal, before):
            syncs = ()
        return Feed(
            flow=origin.flow,
            log=log,
            steady=later == end,
            position=position,
            syncs=syncs,
            read_committed=mirror.read_committed,
            # Read last: what is below was committed or aborted before.
            decided=None
            if mirror.read_committed is not None
            else self._offsets.later.get((key, True), 0),
        )

    def _log(
        self, side: Side, key: Key, topic_id: str, end: int | None
    ) -> Log | None:
        start = self._offsets.starts.get(key)
        if start is None or end is None:
            return None
        log = Log(
            side=side,
            cluster=key[0],
            place=key[1],
            topic_id=topic_id,
            retained=Span(start, max(start, end)),
        )
        configs = self._configs(log)
        if not configs.deletes:
            return replace(log, retention=FOR_EVER)
        retention = Retention.of(configs.retention_ms, configs.retention_bytes)
        return replace(log, retention=retention)

    def _configs(self, log: Log) -> TopicConfigs:
        key = (log.cluster, log.place[0])
        return self._topics.configs.get(key, TopicConfigs())


def _any(told: Iterable[bool | None]) -> bool | None:
    """Tell whether one is so; `None` if one may be."""
    found = {*told}
    return True if True in found else None if None in found else False


def _speak_of(
    pair: tuple[int, int], source_end: int, goal: Log | None, end: End | None
) -> bool:
    """Tell whether syncs can be of both topics, as they are now."""
    if goal is None or not (
        pair[0] < source_end and pair[1] < goal.retained.end
    ):
        return False
    return end is None or end.target_id in {goal.topic_id, ""}


def _gap(draft: Draft, reason: str) -> Unverifiable:
    return Unverifiable(
        flow=draft.flow,
        topic=draft.topic,
        partition=draft.place[1],
        reason=reason,
    )
