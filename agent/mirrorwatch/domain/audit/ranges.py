"""Start and end offsets of the ranges of a pair."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from .facts import (
    AuditFound,
    FirstSince,
    Log,
    Lookup,
    PairedLogs,
    RecordAt,
    SourceLog,
    newest_sync,
    oldest_sync,
)
from .plan import (
    NOTHING,
    AuditedEnd,
    AuditSpan,
    Cut,
    PartitionPair,
    Side,
    SourceRange,
    Stated,
    Unverifiable,
)

__all__ = [
    "EPOCH",
    "EXPIRED",
    "SKIPPED",
    "AlignedOffsets",
    "PlanningOutcome",
    "Settled",
    "align",
    "asked_from_of",
    "cut_of",
    "find_loss",
    "first_record",
    "hides_its_time",
    "later",
    "limit_of",
    "settled_of",
    "start_of",
    "to_gap",
    "to_pair",
]


EPOCH = datetime.fromtimestamp(0, UTC)

LAST = NEVER = datetime.max.replace(tzinfo=UTC)
"""Later than any time that can be asked for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AlignedOffsets:
    """Offsets of all sources and of the target that belong together: what is
    below at a source was copied below at the target.
    """

    sources: tuple[int, ...]
    target: int


def align(
    look: Lookup,
    pair: PairedLogs,
    target: Log,
    slack: timedelta,
    *,
    floor: AlignedOffsets | None = None,
    use_syncs: bool = True,
) -> AlignedOffsets | None:
    """Find offsets from which on both sides can be compared.

    Parameters
    ----------
    look
        Answers questions.
    pair
        The pair.
    target
        Its target partition.
    slack
        By how much records may be out of time order.
    floor
        Offsets not to go below.
    use_syncs
        Offset syncs are of these topics as they are now.

    Returns
    -------
    AlignedOffsets or None
        `None` if no offsets are known to belong together.

    Notes
    -----
    The oldest sync that both sides still hold is one such pair of offsets;
    `slack` after the oldest record that both sides hold is another: one side
    may still hold records, out of time order, that expired at the other. Of
    the two, whichever comes first. The mirror must be past that time, or what
    is before it would come behind it.
    """
    starts = [source.log.retained.start for source in pair.sources]
    if floor is None:
        floor = AlignedOffsets(sources=tuple(0 for _ in starts), target=0)
    least = tuple(map(max, starts, floor.sources))
    target_floor = max(target.retained.start, floor.target)
    if not target.retained.end:
        # Nothing was ever written there, so nothing is paired with anything.
        return AlignedOffsets(sources=least, target=0)
    if pair.copies.offsets:
        both = max(*least, target_floor)
        return AlignedOffsets(sources=(both,), target=both)
    found: list[AlignedOffsets] = []
    if use_syncs and len(pair.sources) == 1:
        sync = oldest_sync(pair.sources[0].syncs, (least[0], target_floor))
        if sync is not None:
            found.append(AlignedOffsets(sources=(sync[0],), target=sync[1]))
    if pair.timestamps:
        timed = _align_by_time(look, pair, target, slack)
        if timed is not None:
            found.append(
                AlignedOffsets(
                    sources=tuple(map(max, timed.sources, least)),
                    target=max(timed.target, target_floor),
                )
            )
    if not found and all(source.at_rest for source in pair.sources):
        ends = tuple(source.log.retained.end for source in pair.sources)
        found.append(AlignedOffsets(sources=ends, target=target.retained.end))
    return min(found, key=lambda aligned: aligned.sources, default=None)


def _align_by_time(
    look: Lookup, pair: PairedLogs, target: Log, slack: timedelta
) -> AlignedOffsets | None:
    logs = [target, *(source.log for source in pair.sources)]
    begin = None
    for log in logs:
        first = first_record(look, log)
        if first.written_at is None:
            return None
        time = later(first.written_at, slack)
        begin = time if begin is None else max(begin, time)
    there = look(FirstSince(target, begin or EPOCH))
    sources = []
    for source in pair.sources:
        here = look(FirstSince(source.log, begin or EPOCH))
        if here.offset is None or here.offset >= source.log.retained.end:
            return None
        passed = source.position is not None and source.position >= here.offset
        if there.offset is None and not passed:
            # What is before that time may be copied yet.
            return None
        sources.append(here.offset)
    return AlignedOffsets(
        sources=tuple(sources), target=there.within(target.retained)
    )


def first_record(look: Lookup, log: Log) -> AuditFound:
    """Ask for the first record that is still there."""
    return look(FirstSince(log, EPOCH))


def later(time: datetime, by: timedelta) -> datetime:
    """Return a later time, or the last one there is."""
    return LAST if LAST - time < by else time + by


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanningOutcome:
    """Planning result of one pair: its ranges, or why it is unverifiable."""

    pair: PartitionPair | None = None
    """Ranges to compare; `None` if there are none."""

    unverifiable: tuple[Unverifiable, ...] = ()
    stated: tuple[Stated, ...] = ()
    more: bool = False


def to_pair(
    facts: PairedLogs,
    start: AlignedOffsets,
    end: AlignedOffsets,
    *,
    positions: Sequence[int | None],
    cut: Cut,
    cut_at: datetime | None = None,
    asked_from: Sequence[int] = (),
) -> PartitionPair:
    """Return what is compared.

    Parameters
    ----------
    facts
        The pair.
    start
        First offsets.
    end
        Offsets after the last ones.
    positions
        Proved next data offset to copy of each source.
    cut
        Method by which the end offsets were aligned.
    cut_at
        Time of what comes after.
    asked_from
        Offset of each source from which the mirror was asked for records, if
        that need not be all.
    """
    target = facts.target
    return PartitionPair(
        flow=facts.sources[0].flow,
        cluster=facts.cluster,
        target_topic=facts.topic_partition[0],
        partition=facts.topic_partition[1],
        sources=tuple(
            SourceRange(
                flow=source.flow,
                cluster=source.log.cluster,
                topic=source.log.topic_partition[0],
                partition=source.log.topic_partition[1],
                span=AuditSpan(first, last),
                # What was written and copied while the offsets were frozen
                # may have an old timestamp: then no cut by time leaves its
                # copy out, and its record is looked for behind the range.
                retained=AuditSpan(
                    source.log.retained.start,
                    max(source.log.retained.end, source.later_end),
                ),
                position=position,
                topic_id=source.log.topic_id,
                read_committed=source.read_committed,
                asked_from=asked,
            )
            for source, first, last, position, asked in zip(
                facts.sources,
                start.sources,
                end.sources,
                positions,
                asked_from or [0] * len(facts.sources),
                strict=True,
            )
        ),
        span=AuditSpan(start.target, end.target),
        retained=NOTHING if target is None else target.retained,
        timestamps=facts.timestamps,
        compacted=facts.compacted,
        cut=cut,
        topic_id="" if target is None else target.topic_id,
        cut_at=cut_at,
        copies=facts.copies,
        absent=facts.absent,
    )


def to_gap(
    source: SourceLog, reason: str, records: int | None = None
) -> Unverifiable:
    """Return that a source partition cannot be audited.

    Parameters
    ----------
    source
        The partition.
    reason
        Reason, in words for a person.
    records
        Number of offsets in the gap, if known.
    """
    topic, partition = source.log.topic_partition
    return Unverifiable(
        flow=source.flow,
        topic=topic,
        partition=partition,
        reason=reason,
        records=records,
    )


EXPIRED = "expired at the {side} before the audit"

SHORTENED = (
    "the log at the {side} was truncated: records audited before are gone"
)

RECREATED = (
    "the topic at the {side} was deleted and recreated since the last audit"
)

OF_ANOTHER = "of {flow}, which feeds the same target topic: {reason}"

OTHERWISE = "mirror.keeps_partitions was changed since the last audit"

DELETED = "the topic at the target was deleted since the last audit"

SKIPPED = (
    "before the first record known to be copied, and auto.offset.reset of "
    "the mirror is unknown. With MirrorMaker 2, check that "
    "mirror.topics.configs names the config topic of its Connect workers and "
    "that its connectors are in it"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RangeStarts:
    """Start offsets of the ranges of a pair."""

    aligned: AlignedOffsets | None
    """Offsets that belong together; `None` if none are known."""

    since: datetime | None = None
    """Time of what begins there; `None` if that is not known."""

    lost: tuple[Unverifiable, ...] = ()


def start_of(
    look: Lookup,
    pair: PairedLogs,
    target: Log,
    ends: Mapping[tuple[str, str, int], AuditedEnd],
    slack: timedelta,
) -> RangeStarts:
    """Work out where the ranges of a pair begin on a night.

    Parameters
    ----------
    look
        Answers questions.
    pair
        The pair.
    target
        Its target partition.
    ends
        Up to where partitions were audited.
    slack
        By how much records may be out of time order.

    Notes
    -----
    A pair goes on where it was audited up to. A new one begins at the start
    of both logs, if both are whole. Where something is lost, because it
    expired or the topic is another one, see `align`.
    """
    known = [ends.get(source.key) for source in pair.sources]
    if not any(known):
        return _first_start(look, pair, target, slack)
    before = AlignedOffsets(
        sources=tuple(
            source.log.retained.start if end is None else end.source_end
            for source, end in zip(pair.sources, known, strict=True)
        ),
        target=max(end.target_end for end in known if end is not None),
    )
    since = min(end.cut_at for end in known if end is not None)
    reasons = [
        None if end is None else find_loss(source, end, target)
        for source, end in zip(pair.sources, known, strict=True)
    ]
    if not any(reasons):
        return RangeStarts(aligned=before, since=since)
    recreated = any(
        end is not None and _is_another(source, end, target)
        for source, end in zip(pair.sources, known, strict=True)
    )
    # Offsets and syncs of another topic prove nothing about this one.
    floor = None if recreated else before
    aligned = align(
        look, pair, target, slack, floor=floor, use_syncs=not recreated
    )
    lost = tuple(_lost_of(pair, reasons, before, aligned, sure=not recreated))
    return RangeStarts(aligned=aligned, since=since, lost=lost)


def _lost_of(
    pair: PairedLogs,
    reasons: Sequence[str | None],
    before: AlignedOffsets,
    aligned: AlignedOffsets | None,
    *,
    sure: bool,
) -> Iterator[Unverifiable]:
    """Yield what can no longer be audited of each source.

    Notes
    -----
    Where several feed a target and something of one is lost, none goes on: so
    of the others is lost what lies before the new start.
    """
    shared = next(
        OF_ANOTHER.format(flow=source.flow, reason=reason)
        for source, reason in zip(pair.sources, reasons, strict=True)
        if reason is not None
    )
    for n, (source, reason) in enumerate(
        zip(pair.sources, reasons, strict=True)
    ):
        if aligned is None:
            yield to_gap(source, reason or shared)
            continue
        skipped = aligned.sources[n] - before.sources[n]
        if reason is not None:
            yield to_gap(source, reason, skipped if sure else None)
        elif skipped > 0:
            yield to_gap(source, shared, skipped)


def asked_from_of(
    look: Lookup,
    sources: Sequence[SourceLog],
    targets: Sequence[Log],
    ends: Mapping[tuple[str, str, int], AuditedEnd],
    slack: timedelta,
    *,
    starts_at_end: bool | None,
) -> list[int]:
    """Return from which offset of each source the mirror was asked to copy.

    Parameters
    ----------
    look
        Answers questions.
    sources
        The sources.
    targets
        Logs that hold their copies, if there are any.
    ends
        Up to where partitions were audited.
    slack
        By how much records may be out of time order.
    starts_at_end
        As in `PairedLogs`.

    Notes
    -----
    A mirror that begins at the log end skips what a partition held when it
    found it. What is `slack` younger than its first copy came later, as did
    the record of the first sync. Where there is no copy, a position proves
    nothing: a consumer group commits where it begins. What comes behind the
    position of an earlier audit is asked for.
    """
    asked_from = []
    first = None
    for source in sources:
        end, retained = ends.get(source.key), source.log.retained
        known = None
        if end is not None and end.source_id == source.log.topic_id:
            known = end.position
            if known is not None and known <= end.source_end:
                known = 0
        if starts_at_end is False or known == 0:
            asked_from.append(0)
            continue
        if first is None:
            first = _first_copy(look, targets)
        begin = max(retained.start, source.position or 0)
        if first != NEVER:
            since = look(FirstSince(source.log, later(first, slack)))
            begin = since.within(retained)
        sync = oldest_sync(source.syncs, (retained.start, 0))
        if sync is not None:
            begin = min(begin, sync[0])
        asked_from.append(begin if known is None else min(begin, known))
    return asked_from


def _first_copy(look: Lookup, targets: Sequence[Log]) -> datetime:
    """Return the time of the first copy that is known, or `NEVER`."""
    first = NEVER
    for log in targets:
        found = first_record(look, log)
        first = min(first, found.written_at or NEVER)
    return first


def _first_start(
    look: Lookup, pair: PairedLogs, target: Log, slack: timedelta
) -> RangeStarts:
    """Return where a pair begins that was never audited."""
    whole = target.retained.start == 0 and all(
        source.log.retained.start == 0 for source in pair.sources
    )
    aligned: AlignedOffsets | None
    if whole and pair.starts_at_end is False:
        zeros = tuple(0 for _ in pair.sources)
        aligned = AlignedOffsets(sources=zeros, target=0)
    else:
        aligned = align(look, pair, target, slack)
    times = []
    for source in pair.sources:
        first = first_record(look, source.log)
        if first.written_at is not None:
            times.append(first.written_at)
    lost: tuple[Unverifiable, ...] = ()
    if aligned is not None and whole and pair.starts_at_end is None:
        # What is before may have been dropped, or never asked for.
        lost = tuple(
            to_gap(source, SKIPPED, offset)
            for source, offset in zip(
                pair.sources, aligned.sources, strict=True
            )
            if offset
        )
    return RangeStarts(
        aligned=aligned, since=min(times, default=None), lost=lost
    )


def _is_another(source: SourceLog, end: AuditedEnd, target: Log) -> bool:
    return end.source_id != source.log.topic_id or end.target_id not in {
        target.topic_id,
        "",  # there was none, and nothing was audited of it
    }


def find_loss(
    source: SourceLog,
    end: AuditedEnd,
    target: Log | None,
    *,
    by_topic: bool = False,
) -> str | None:
    """Return why a pair cannot go on where it was audited up to."""
    if end.by_topic is not by_topic:
        return OTHERWISE
    recreated: Side | None = None
    if end.source_id != source.log.topic_id:
        recreated = "source"
    elif target is not None and end.target_id not in {target.topic_id, ""}:
        recreated = "target"
    if recreated is not None:
        return RECREATED.format(side=recreated)
    if target is None and end.target_end:
        return DELETED
    ends = [(source.log, end.source_end)]
    if target is not None:
        ends.append((target, end.target_end))
    for log, audited in ends:
        if audited > log.retained.end:
            return SHORTENED.format(side=log.side)
        if audited < log.retained.start:
            return EXPIRED.format(side=log.side)
    return None


DAY = timedelta(days=1)
"""Most that one piece takes of what was missed."""

NIGHT = timedelta(hours=36)
"""From when a stretch is taken for more than one night."""

PIECES = 7
"""Divisor of a backlog of more than a week, which gives the length of a piece:
a record with a timestamp of years ago must not make thousands of nights."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settled:
    """Up to where one source is settled and copied."""

    end: int
    """Offset before which all records are settled."""

    position: int | None
    """Proved next data offset to copy, at most the end of the log."""

    waiting_since: datetime | None = None
    """Timestamp of the record at the position, if it is below `end`."""

    blocked: bool = False

    @property
    def copied(self) -> int:
        """Offset before which all records are settled and, as far as that is
        known, copied.
        """
        if self.position is None:
            return self.end
        return min(self.end, self.position)


def limit_of(
    since: datetime | None, now: datetime, settle: timedelta
) -> datetime:
    """Return the time up to which one piece goes.

    Parameters
    ----------
    since
        Time of what was not audited yet, if it is known.
    now
        The time.
    settle
        Age from which records are settled.
    """
    newest = now - settle
    if since is None or newest - since <= NIGHT:
        return newest
    return since + max(DAY, (newest - since) / PIECES)


def settled_of(
    look: Lookup, source: SourceLog, limit: datetime, latest: datetime
) -> Settled:
    """Find out up to where a source is settled and copied.

    Parameters
    ----------
    look
        Answers questions.
    source
        One of the source partitions that feed a pair.
    limit
        Time from which records are left to later.
    latest
        Latest time that a timestamp can be without being wrong.

    Notes
    -----
    A position below the settled end need not mean that records wait: offsets
    of transaction markers, and those that compaction emptied, are never
    copied. So the first record at the position is looked for.

    Kafka finds the first record that is not older than a time. A record with
    a timestamp that is yet to come hides all that are behind it, for as long
    as that takes, and nothing would be audited any more. Then what is copied
    is taken for settled.
    """
    first = look(FirstSince(source.log, limit))
    end = first.within(source.log.retained)
    blocked = first.written_at is not None and first.written_at > latest
    if blocked:
        end = source.log.retained.end
    position = source.position
    if position is None or position >= end:
        return Settled(
            end=end,
            position=None
            if position is None
            else min(position, source.log.retained.end),
            blocked=blocked,
        )
    head = look(
        RecordAt(
            source.log,
            max(position, source.log.retained.start),
            source.read_committed,
        )
    )
    if head.failed:
        return Settled(end=end, position=position, blocked=blocked)
    if head.offset is None or head.offset >= source.log.retained.end:
        position = source.log.retained.end
        return Settled(end=end, position=position, blocked=blocked)
    return Settled(
        end=end,
        position=head.offset,
        waiting_since=head.written_at if head.offset < end else None,
        blocked=blocked,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class RangeEnds:
    """End offsets of the ranges of a pair."""

    aligned: AlignedOffsets
    """Offsets after the last ones."""

    kind: Cut
    at: datetime
    """Time of what comes after."""


def cut_of(
    look: Lookup,
    pair: PairedLogs,
    target: Log,
    start: AlignedOffsets,
    settled: Sequence[Settled],
    *,
    limit: datetime,
) -> RangeEnds | None:
    """Work out where the ranges of a pair end.

    Parameters
    ----------
    look
        Answers questions.
    pair
        The pair.
    target
        Its target partition.
    start
        Offsets at which the ranges begin.
    settled
        Up to where each source is settled and copied.
    limit
        Time from which records are left to later.

    Returns
    -------
    RangeEnds or None
        `None` if records are settled and copied, but no offsets are known at
        which both sides can be cut.

    Notes
    -----
    A source that rests is cut at both ends. Its end was read before and after
    the target's: so the target's end covers the copies of all its records and
    of no other.

    A mirror that keeps offsets is cut at the same one on both sides.

    Else behind the newest sync: source record *u* is target record *d*, and
    what is below *u* was copied below *d*, for a mirror keeps the order of a
    partition. A mirror before 3.5 writes them when offsets drift only, so
    one that leaves over half of the range is no cut where time can be one.

    Else by time: the first record of each side that is not older than a time
    is the same one, if it was copied. If it was dropped, or several sources
    feed the target, the cut goes through what it should leave whole, and what
    is unmatched at it is carried to the next night.
    """
    if _rests(pair, start, settled):
        ends = tuple(source.log.retained.end for source in pair.sources)
        whole = AlignedOffsets(sources=ends, target=target.retained.end)
        return RangeEnds(aligned=whole, kind="idle", at=limit)
    at = min(
        (s.waiting_since for s in settled if s.waiting_since is not None),
        default=limit,
    )
    at = min(at, limit)
    if pair.copies.offsets:
        copied = min(settled[0].copied, target.retained.end)
        end = max(*start.sources, start.target, copied)
        return RangeEnds(
            aligned=AlignedOffsets(sources=(end,), target=end),
            kind="offset",
            at=at,
        )
    sync = _find_sync(pair, target, start, settled)
    if sync is not None:
        return RangeEnds(aligned=sync, kind="sync", at=at)
    waiting = any(
        s.copied > first
        for s, first in zip(settled, start.sources, strict=True)
    )
    if not pair.timestamps or any(map(hides_its_time, settled)):
        stay = RangeEnds(aligned=start, kind="timestamp", at=at)
        return None if waiting else stay
    timed = _cut_by_time(look, pair, target, start, settled, at=at)
    moved = timed.sources != start.sources
    if waiting and not moved and any(s.blocked for s in settled):
        return None
    return RangeEnds(aligned=timed, kind="timestamp", at=at)


def _rests(
    pair: PairedLogs, start: AlignedOffsets, settled: Sequence[Settled]
) -> bool:
    return all(
        source.steady
        and found.end == source.log.retained.end
        and max(found.position or 0, first) >= source.log.retained.end
        for source, found, first in zip(
            pair.sources, settled, start.sources, strict=True
        )
    )


def hides_its_time(settled: Settled) -> bool:
    """Return whether what waits at the position has no known timestamp."""
    return (
        settled.position is not None
        and settled.position < settled.end
        and settled.waiting_since is None
    )


def _find_sync(
    pair: PairedLogs,
    target: Log,
    start: AlignedOffsets,
    settled: Sequence[Settled],
) -> AlignedOffsets | None:
    if len(pair.sources) != 1:
        return None
    first, copied = start.sources[0], settled[0].copied
    sync = newest_sync(
        pair.sources[0].syncs,
        (first, start.target),
        (copied - 1, target.retained.end - 1),
    )
    if sync is None:
        return None
    # That record itself is on both sides of the sync, so it comes along.
    after = AlignedOffsets(sources=(sync[0] + 1,), target=sync[1] + 1)
    left, taken = copied - after.sources[0], after.sources[0] - first
    return None if pair.timestamps and left > taken else after


def _cut_by_time(
    look: Lookup,
    pair: PairedLogs,
    target: Log,
    start: AlignedOffsets,
    settled: Sequence[Settled],
    *,
    at: datetime,
) -> AlignedOffsets:
    """Return the first records that are not older than a time.

    Notes
    -----
    Kafka finds the first one of a whole log. Where it is before the range on
    one side, and on the other one has expired, the two belong to different
    records, and nothing is cut: it is where time goes on.
    """
    sources, before = [], True
    for source, found, first in zip(
        pair.sources, settled, start.sources, strict=True
    ):
        since = look(FirstSince(source.log, at))
        offset = since.within(source.log.retained)
        before = before and offset < first
        sources.append(max(first, min(offset, found.copied)))
    since = look(FirstSince(target, at))
    target_end = since.within(target.retained)
    if before or target_end < start.target:
        return start
    return AlignedOffsets(sources=tuple(sources), target=target_end)
