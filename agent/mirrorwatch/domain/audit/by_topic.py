"""Audit ranges of topics whose mirror does not preserve partitions.

The copies of one source partition are in all partitions of the target. So one
sum of the topic is compared, of the records whose timestamps lie in whole
hours: offsets cannot be cut at the same record on both sides.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from .facts import FirstSince, Log, Lookup, PairedLogs, SourceLog
from .nightly import NOWHERE, UNCUT, NightlyInputs, waiting
from .plan import (
    NOTHING,
    AuditedEnd,
    AuditSpan,
    PartitionPair,
    TimeWindow,
    Unverifiable,
)
from .ranges import (
    EPOCH,
    EXPIRED,
    SKIPPED,
    AlignedOffsets,
    PlanningOutcome,
    Settled,
    find_loss,
    first_record,
    hides_its_time,
    later,
    limit_of,
    settled_of,
    to_gap,
    to_pair,
)
from .window import AdHoc, has_expired, window_spans

__all__ = ["plan_topic_night", "plan_topic_window"]


COMPACTED = (
    "compacted, and the mirror does not keep partitions: which record of a "
    "key is the newest is not known"
)

UNTIMED = (
    "the mirror keeps neither partitions nor timestamps: which records of "
    "both sides belong together is not known"
)

HOUR = timedelta(hours=1)


def plan_topic_night(
    look: Lookup, parts: Sequence[PairedLogs], night: NightlyInputs
) -> list[PlanningOutcome]:
    """Work out what a night compares of one topic.

    Parameters
    ----------
    look
        Answers questions.
    parts
        Its partitions, at the source, at the target, or at both.
    night
        Planning inputs shared by all topics.

    Notes
    -----
    The logs are read to their ends, from the first record that is not older
    than the hours: a copy may be in any partition, later than its neighbours.
    """
    refused = _refused(parts)
    if refused is not None:
        return refused
    since, oldest, lost = _since(look, parts, night)
    limit = limit_of(oldest, night.now, night.settle)
    settled: list[Settled] = []
    for source in _sources(parts):
        found = settled_of(look, source, limit, night.latest)
        settled.append(found)
    if any(map(hides_its_time, settled)):
        return _give_up(parts, UNCUT)
    times = [s.waiting_since for s in settled if s.waiting_since is not None]
    whole = _whole_hours(limit - night.slack)
    until = _whole_hours(min([limit, *times]) - night.slack)
    hours = TimeWindow(since, max(since, until))
    spans = {}
    for log in _logs(parts):
        first = look(FirstSince(log, since))
        spans[log] = AuditSpan(first.within(log.retained), log.retained.end)
    outcomes = [PlanningOutcome(unverifiable=tuple(lost))]
    more = until == whole > since and limit < night.newest
    left = iter(settled)
    for part in parts:
        own = [next(left) for _ in part.sources]
        stuck, stated = waiting(part, night, own)
        outcomes.append(
            PlanningOutcome(
                pair=_pair(parts, part, spans, hours),
                unverifiable=tuple(stuck),
                stated=tuple(stated),
                more=more,
            )
        )
    return outcomes


def plan_topic_window(
    look: Lookup, parts: Sequence[PairedLogs], adhoc: AdHoc
) -> list[PlanningOutcome]:
    """Work out what an ad hoc audit compares of one topic.

    Parameters
    ----------
    look
        Answers questions.
    parts
        As in `plan_topic_night`.
    adhoc
        Planning inputs shared by all topics.
    """
    refused = _refused(parts)
    if refused is not None:
        return refused
    spans = window_spans(look, _logs(parts), adhoc)
    if isinstance(spans, str):
        return _give_up(parts, spans)
    return [
        PlanningOutcome(pair=_pair(parts, part, spans, None)) for part in parts
    ]


def _sources(parts: Sequence[PairedLogs]) -> list[SourceLog]:
    return [source for part in parts for source in part.sources]


def _logs(parts: Sequence[PairedLogs]) -> list[Log]:
    targets = [part.target for part in parts if part.target is not None]
    return [*(source.log for source in _sources(parts)), *targets]


def _whole_hours(time: datetime) -> datetime:
    return EPOCH + (time - EPOCH) // HOUR * HOUR


def _refused(parts: Sequence[PairedLogs]) -> list[PlanningOutcome] | None:
    """Return why nothing of a topic can be compared, if so."""
    if all(part.target is None for part in parts):
        return _give_up(parts, NOWHERE.format(cluster=parts[0].cluster))
    if any(part.compacted for part in parts):
        return _give_up(parts, COMPACTED)
    if not all(part.timestamps for part in parts):
        return _give_up(parts, UNTIMED)
    return None


def _give_up(
    parts: Sequence[PairedLogs], reason: str
) -> list[PlanningOutcome]:
    gaps = tuple(
        to_gap(source, reason, len(source.log.retained))
        for source in _sources(parts)
        if len(source.log.retained)
    )
    return [PlanningOutcome(unverifiable=gaps)]


def _pair(
    parts: Sequence[PairedLogs],
    part: PairedLogs,
    spans: Mapping[Log, AuditSpan],
    hours: TimeWindow | None,
) -> PartitionPair:
    """Return what is compared of one partition."""
    if not part.sources:
        # What its target holds is of other partitions.
        first = _sources(parts)[0]
        log = replace(
            first.log,
            topic_partition=(
                first.log.topic_partition[0],
                part.topic_partition[1],
            ),
            retained=NOTHING,
        )
        part = replace(part, sources=(replace(first, log=log),))
    here = [spans.get(source.log, NOTHING) for source in part.sources]
    there = NOTHING if part.target is None else spans[part.target]
    pair = to_pair(
        part,
        AlignedOffsets(
            sources=tuple(s.start for s in here), target=there.start
        ),
        AlignedOffsets(sources=tuple(s.end for s in here), target=there.end),
        positions=[source.position for source in part.sources],
        cut="window" if hours is None else "timestamp",
        cut_at=None if hours is None else hours.end,
    )
    return replace(pair, hours=hours)


_Since = tuple[datetime, datetime | None, list[Unverifiable]]
"""Since when a topic is compared, time of the oldest record that may be in
it, and what is lost."""


def _since(
    look: Lookup, parts: Sequence[PairedLogs], night: NightlyInputs
) -> _Since:
    """Work out since when a topic is compared: it goes on where it was audited
    up to, unless any of it is lost.
    """
    known = dict(_known(parts, night.ends))
    if not known:
        return _first_since(look, parts, night, None)
    since = _whole_hours(min(end.cut_at for end in known.values()))
    reason = next(_losses(parts, known), None)
    for log in _logs(parts):
        if not log.retention.kept_since(since, night.now) and (
            has_expired(look, log, since)
        ):
            reason = reason or EXPIRED.format(side=log.side)
    if reason is None:
        return since, since, []
    return _first_since(look, parts, night, reason)


def _first_since(
    look: Lookup,
    parts: Sequence[PairedLogs],
    night: NightlyInputs,
    reason: str | None,
) -> _Since:
    """Work out since when a topic is compared that does not go on.

    Notes
    -----
    That is `slack` after the oldest record of the logs that have lost some,
    and after the oldest copy, where it is not known whether the mirror read
    what was there before.
    """
    begins: list[datetime] = []
    copies: list[datetime] = []
    oldest: list[datetime] = []
    for log in _logs(parts):
        first = first_record(look, log)
        if first.written_at is not None:
            times = copies if log.side == "target" else oldest
            times.append(first.written_at)
            if log.retained.start:
                begins.append(first.written_at)
    starts_at_end = {part.starts_at_end for part in parts if part.sources}
    if starts_at_end != {False} and copies:
        if not begins and True not in starts_at_end:
            reason = reason or SKIPPED
        begins.append(min(copies))
    lost = [] if reason is None else [_whole_gap(parts, reason)]
    if not begins:
        return EPOCH, min(oldest, default=None), lost
    begin = later(max(begins), night.slack + HOUR)
    return _whole_hours(begin), begin, lost


def _whole_gap(parts: Sequence[PairedLogs], reason: str) -> Unverifiable:
    return replace(to_gap(_sources(parts)[0], reason), partition=None)


def _known(
    parts: Sequence[PairedLogs],
    ends: Mapping[tuple[str, str, int], AuditedEnd],
) -> Iterator[tuple[int, AuditedEnd]]:
    """Yield up to where partitions were audited, by their number."""
    flow, name, _ = _sources(parts)[0].key
    for part in parts:
        number = part.topic_partition[1]
        keys = [s.key for s in part.sources] or [(flow, name, number)]
        found = next((ends[key] for key in keys if key in ends), None)
        if found is not None:
            yield number, found


def _losses(
    parts: Sequence[PairedLogs], known: Mapping[int, AuditedEnd]
) -> Iterator[str]:
    """Yield why a topic cannot go on where it was audited up to."""
    for part in parts:
        end = known.get(part.topic_partition[1])
        for source in part.sources:
            if end is not None:
                reason = find_loss(source, end, part.target, by_topic=True)
                if reason is not None:
                    yield reason
