"""What a night compares of one lane."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from .facts import Feed, LaneFacts, RecordAt, Talk, ask
from .plan import AuditedEnd, Stated, Unverifiable
from .ranges import (
    Pairing,
    PlanningOutcome,
    Settled,
    cut_of,
    limit_of,
    settled_of,
    start_of,
    to_gap,
    to_lane,
)

__all__ = ["NOWHERE", "NightlyInputs", "plan_night"]


NOWHERE = (
    "not at the target {cluster}: no record of it is known to be copied. "
    "Check that MirrorMaker's topic filter matches it and that MirrorMaker "
    "may create topics there"
)


def plan_untold(
    lane: LaneFacts,
    ends: Mapping[tuple[str, str, int], AuditedEnd],
    *,
    newest: datetime,
    latest: datetime,
) -> Talk[PlanningOutcome]:
    """Work out what is said of sources whose target does not exist.

    Parameters
    ----------
    lane
        The lane.
    ends
        Up to where partitions were audited; none of an ad hoc audit.
    newest
        Time before which records are settled.
    latest
        Latest time that a timestamp can be without being wrong.

    Notes
    -----
    An empty source needs no target, and a young one may wait for the mirror's
    next look for topics. Where the mirror's position is past records, it read
    them, and they are missing: so they are compared with nothing. Where it is
    not, nobody can say.
    """
    begins, lasts, positions, gaps = [], [], [], []
    for feed in lane.feeds:
        found = yield from settled_of(feed, newest, latest)
        end = ends.get(feed.place)
        known = end is not None and end.source_id == feed.log.topic_id
        begin = feed.log.retained.start
        if known and end is not None:
            begin = max(begin, end.source_end)
        read = begin if found.position is None else found.position
        last = max(begin, min(read, found.end))
        if last < found.end:
            reason = NOWHERE.format(cluster=lane.cluster)
            gaps.append(to_gap(feed, reason, found.end - last))
        begins.append(begin)
        lasts.append(last)
        positions.append(found.position)
    if lasts == begins:
        return PlanningOutcome(unverifiable=tuple(gaps))
    return PlanningOutcome(
        lane=to_lane(
            lane,
            Pairing(sources=tuple(begins), target=0),
            Pairing(sources=tuple(lasts), target=0),
            positions=positions,
            cut="timestamp",
            cut_at=newest,
        ),
        unverifiable=tuple(gaps),
    )


UNPAIRED = (
    "the logs are incomplete, and no pair of source and target offsets is "
    "known"
)

UNCUT = (
    "no pair of source and target offsets is known to start from: "
    "timestamps do not give one, and MirrorMaker wrote no offset sync there"
)

STUCK = (
    "MirrorMaker's position has not moved since the last audit, though "
    "records follow it: they are lag, or were dropped at the end of the "
    "log, which only a later record can show"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class NightlyInputs:
    """What is the same for all lanes of a night."""

    now: datetime
    """When it is planned."""

    settle: timedelta
    """Age from which records are settled."""

    slack: timedelta
    """By how much records may be out of time order."""

    ends: Mapping[tuple[str, str, int], AuditedEnd]
    """Up to where partitions were audited."""

    @property
    def newest(self) -> datetime:
        """Time before which records are settled."""
        return self.now - self.settle

    @property
    def latest(self) -> datetime:
        """Latest time that a timestamp can be without being wrong."""
        return self.now + self.settle


def plan_night(lane: LaneFacts, night: NightlyInputs) -> Talk[PlanningOutcome]:
    """Work out what a night compares of one lane."""
    if lane.goal is None:
        return (
            yield from plan_untold(
                lane, night.ends, newest=night.newest, latest=night.latest
            )
        )
    start = yield from start_of(lane, lane.goal, night.ends, night.slack)
    if start.pairing is None:
        gaps = start.lost or tuple(
            to_gap(feed, UNPAIRED, len(feed.log.retained))
            for feed in lane.feeds
        )
        return PlanningOutcome(unverifiable=gaps)
    limit = limit_of(start.since, night.now, night.settle)
    settled = []
    for feed in lane.feeds:
        found = yield from settled_of(feed, limit, night.latest)
        settled.append(found)
    cut = yield from cut_of(lane, lane.goal, start.pairing, settled, limit)
    if cut is None:
        return PlanningOutcome(
            unverifiable=(
                *start.lost,
                *_uncut(lane, start.pairing, settled),
            )
        )
    more = cut.kind != "idle" and cut.at == limit < night.newest
    at = night.newest if cut.kind == "idle" else cut.at
    stuck, stated = yield from _waiting(lane, night, settled)
    return PlanningOutcome(
        lane=to_lane(
            lane,
            start.pairing,
            cut.pairing,
            positions=[found.position for found in settled],
            cut=cut.kind,
            cut_at=at,
        ),
        unverifiable=(*start.lost, *stuck),
        stated=tuple(stated),
        more=more,
    )


def _waiting(
    lane: LaneFacts, night: NightlyInputs, settled: Sequence[Settled]
) -> Talk[tuple[list[Unverifiable], list[Stated]]]:
    """Tell of settled records that the mirror has not copied."""
    stuck: list[Unverifiable] = []
    stated: list[Stated] = []
    for feed, found in zip(lane.feeds, settled, strict=True):
        if found.position is None or found.position >= found.end:
            continue
        count = found.end - found.position
        end = night.ends.get(feed.place)
        unmoved = end is not None and found.position == end.position
        if unmoved and not (yield from _may_be_left_out(feed, found)):
            stuck.append(to_gap(feed, STUCK, count))
        else:
            stated.append(_in_flight(feed, count))
    return stuck, stated


def _may_be_left_out(feed: Feed, found: Settled) -> Talk[bool]:
    """Tell whether a mirror that reads committed would wait here for ever,
    where it is not known how it reads.
    """
    if feed.decided is None or feed.decided < found.end:
        return False
    position = found.position or 0
    head = yield from ask(RecordAt(feed.log, position, read_committed=True))
    return not head.failed and (
        head.offset is None or head.offset >= found.end
    )


def _in_flight(feed: Feed, count: int) -> Stated:
    topic, partition = feed.log.place
    return Stated(
        flow=feed.flow,
        topic=topic,
        partition=partition,
        kind="in_flight",
        count=count,
    )


def _uncut(
    lane: LaneFacts, start: Pairing, settled: Sequence[Settled]
) -> Iterator[Unverifiable]:
    for feed, found, first in zip(
        lane.feeds, settled, start.sources, strict=True
    ):
        if found.copied > first:
            yield to_gap(feed, UNCUT, found.copied - first)
