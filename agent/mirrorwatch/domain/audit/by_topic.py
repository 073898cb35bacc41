"""What is compared of a topic whose mirror does not keep partitions.

The copies of one source partition are in all partitions of the target, so
that all of a topic is compared as one. There are no offset-syncs.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from .facts import FirstSince, Log, PairedLogs, PlanSteps, SourceLog, ask
from .nightly import UNCUT, UNPAIRED, NightlyInputs, waiting
from .plan import (
    NOTHING,
    AuditedEnd,
    AuditSpan,
    Cut,
    PartitionPair,
    Unverifiable,
)
from .ranges import (
    EPOCH,
    SKIPPED,
    AlignedOffsets,
    PlanningOutcome,
    Settled,
    asked_from_of,
    find_loss,
    first_record,
    hides_its_time,
    later,
    limit_of,
    settled_of,
    to_gap,
    to_pair,
)
from .window import (
    EXPIRED,
    UNTIMED,
    AdHoc,
    has_expired,
    window_span,
)

__all__ = ["plan_topic_night", "plan_topic_window"]


COMPACTED = (
    "compacted, and the mirror does not keep partitions: which record of a "
    "key is the newest is not known"
)

NO_TARGET = Log(
    side="target", cluster="", topic_partition=("", 0), topic_id=""
)
"""The target of a partition that exists at the source only."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Offsets:
    """An offset of each log, by partition; of a source also by its flow."""

    sources: Mapping[tuple[str, str, int], int]
    targets: Mapping[int, int]


class _Topic:
    """All partitions of a topic, frozen."""

    def __init__(self, parts: Sequence[PairedLogs]) -> None:
        self.parts = parts
        self.sources = [s for part in parts for s in part.sources]
        self.targets = {
            part.topic_partition[1]: part.target
            for part in parts
            if part.target is not None
        }
        self.timestamps = all(part.timestamps for part in parts)
        unsure = {part.starts_at_end for part in parts if part.sources}
        self.starts_at_end = next(iter(unsure)) if len(unsure) == 1 else None

    def asked_from(
        self,
        ends: Mapping[tuple[str, str, int], AuditedEnd],
        slack: timedelta,
    ) -> PlanSteps[Mapping[tuple[str, str, int], int]]:
        """Return from which offset of each source copies are due."""
        found = yield from asked_from_of(
            self.sources,
            [*self.targets.values()],
            ends,
            slack,
            starts_at_end=self.starts_at_end,
        )
        keys = [source.key for source in self.sources]
        return dict(zip(keys, found, strict=True))

    @property
    def logs(self) -> list[Log]:
        return [*(s.log for s in self.sources), *self.targets.values()]

    def give_up(self, reason: str) -> list[PlanningOutcome]:
        """Return that nothing of it can be compared."""
        gaps = tuple(
            to_gap(source, reason, len(source.log.retained))
            for source in self.sources
        )
        return [PlanningOutcome(unverifiable=gaps)]

    def pairs(
        self,
        start: _Offsets,
        end: _Offsets,
        positions: Mapping[tuple[str, str, int], int | None],
        *,
        cut: Cut,
        cut_at: datetime | None = None,
        asked_from: Mapping[tuple[str, str, int], int],
    ) -> Iterator[PartitionPair]:
        """Yield what is compared of each partition."""
        first = self.sources[0]
        for part in self.parts:
            number = part.topic_partition[1]
            keys = [source.key for source in part.sources]
            facts = part
            if not keys:
                # What its target holds is of other partitions.
                log = replace(
                    first.log,
                    topic_partition=(first.log.topic_partition[0], number),
                    retained=NOTHING,
                )
                nothing = SourceLog(flow=first.flow, log=log)
                facts = replace(part, sources=(nothing,))
            yield to_pair(
                facts,
                _of_part(start, keys, number),
                _of_part(end, keys, number),
                positions=[positions.get(key) for key in keys] or [None],
                cut=cut,
                cut_at=cut_at,
                asked_from=[asked_from.get(key, 0) for key in keys],
            )


def _of_part(
    offsets: _Offsets, keys: Sequence[tuple[str, str, int]], number: int
) -> AlignedOffsets:
    return AlignedOffsets(
        sources=tuple(offsets.sources[key] for key in keys) or (0,),
        target=offsets.targets.get(number, 0),
    )


def plan_topic_night(
    parts: Sequence[PairedLogs], night: NightlyInputs
) -> PlanSteps[list[PlanningOutcome]]:
    """Work out what a night compares of one topic.

    Parameters
    ----------
    parts
        Its partitions, at the source, at the target, or at both; the topic
        exists on both sides.
    night
        What is the same for all topics.

    Notes
    -----
    A topic that rests is cut at all of its ends. Else by time: what is older
    and comes behind the cut, in another partition, is carried to the next
    night. Where copies have timestamps of their own, the cut is at the
    mirror's positions and at the target's ends, which were read later: what
    the target has of records that are not committed yet is carried.
    """
    topic = _Topic(parts)
    if any(part.compacted for part in parts):
        return topic.give_up(COMPACTED)
    start, since, lost = yield from _start(topic, night)
    if start is None:
        return (
            [PlanningOutcome(unverifiable=lost)]
            if lost
            else topic.give_up(UNPAIRED)
        )
    limit = limit_of(since, night.now, night.settle)
    settled: dict[tuple[str, str, int], Settled] = {}
    for source in topic.sources:
        settled[source.key] = yield from settled_of(
            source, limit, night.latest
        )
    end, cut, at = yield from _end(topic, start, settled, limit)
    if end is None:
        gaps = tuple(
            to_gap(source, UNCUT, settled[source.key].copied - first)
            for source in topic.sources
            if settled[source.key].copied
            > (first := start.sources[source.key])
        )
        return [PlanningOutcome(unverifiable=(*lost, *gaps))]
    outcomes = [PlanningOutcome(unverifiable=lost)]
    positions = {key: found.position for key, found in settled.items()}
    more = cut == "timestamp" and at == limit < night.newest
    asked_from = yield from topic.asked_from(night.ends, night.slack)
    pairs = topic.pairs(
        start,
        end,
        positions,
        cut=cut,
        cut_at=night.newest if cut != "timestamp" else at,
        asked_from=asked_from,
    )
    for part, pair in zip(parts, pairs, strict=True):
        stuck, stated = yield from waiting(
            part, night, [settled[source.key] for source in part.sources]
        )
        outcomes.append(
            PlanningOutcome(
                pair=pair,
                unverifiable=tuple(stuck),
                stated=tuple(stated),
                more=more,
            )
        )
    return outcomes


_Start = tuple[_Offsets | None, datetime | None, tuple[Unverifiable, ...]]


def _start(topic: _Topic, night: NightlyInputs) -> PlanSteps[_Start]:
    """Return from where on a topic is compared, since when, and what is lost.

    Notes
    -----
    It goes on where it was audited up to, in all partitions; one that is new
    begins at its start. Where any of it is lost, no partition goes on: its
    copies may be in any other.
    """
    known = dict(_known(topic, night.ends))
    if not known:
        return (yield from _first_start(topic, night))
    floor = _Offsets(
        sources={
            source.key: known[number].source_end
            if (number := source.log.topic_partition[1]) in known
            and source.key == known[number].key
            else source.log.retained.start
            for source in topic.sources
        },
        targets={
            number: known[number].target_end
            if number in known
            else log.retained.start
            for number, log in topic.targets.items()
        },
    )
    since = min(end.cut_at for end in known.values())
    reasons = list(_losses(topic, known))
    if not reasons:
        return floor, since, ()
    again = any(
        known[number].target_id not in {log.topic_id, ""}
        for number, log in topic.targets.items()
        if number in known
    ) or any(
        end.source_id != source.log.topic_id
        for source in topic.sources
        if (end := night.ends.get(source.key)) is not None
    )
    aligned = yield from _align(topic, night, None if again else floor)
    lost = tuple(
        to_gap(
            source,
            reasons[0],
            None
            if again or aligned is None
            else aligned.sources[source.key] - floor.sources[source.key],
        )
        for source in topic.sources
    )
    return aligned, since, lost


def _known(
    topic: _Topic, ends: Mapping[tuple[str, str, int], AuditedEnd]
) -> Iterator[tuple[int, AuditedEnd]]:
    """Yield up to where partitions were audited, by their number."""
    flow, name = topic.sources[0].key[:2]
    for part in topic.parts:
        number = part.topic_partition[1]
        keys = [source.key for source in part.sources] or [
            (flow, name, number)
        ]
        found = next((ends[key] for key in keys if key in ends), None)
        if found is not None:
            yield number, found


def _losses(topic: _Topic, known: Mapping[int, AuditedEnd]) -> Iterator[str]:
    """Yield why partitions cannot go on where they were audited up to."""
    first = topic.sources[0]
    for part in topic.parts:
        end = known.get(part.topic_partition[1])
        if end is None:
            continue
        target = part.target or replace(
            NO_TARGET,
            topic_id=end.target_id,
            retained=AuditSpan(end.target_end, end.target_end),
        )
        sources: Iterable[SourceLog] = part.sources or [
            SourceLog(
                flow=first.flow,
                log=replace(
                    first.log,
                    retained=AuditSpan(end.source_end, end.source_end),
                ),
            )
        ]
        for source in sources:
            reason = find_loss(source, end, target)
            if reason is not None:
                yield reason


def _first_start(topic: _Topic, night: NightlyInputs) -> PlanSteps[_Start]:
    """Return where a topic begins that was never audited."""
    whole = all(log.retained.start == 0 for log in topic.logs)
    times = []
    for source in topic.sources:
        first = yield from first_record(source.log)
        if first.written_at is not None:
            times.append(first.written_at)
    since = min(times, default=None)
    if whole and topic.starts_at_end is False:
        return _at(topic, "start"), since, ()
    aligned = yield from _align(topic, night, None)
    lost: tuple[Unverifiable, ...] = ()
    if aligned is not None and whole and topic.starts_at_end is None:
        lost = tuple(
            to_gap(source, SKIPPED, offset)
            for source in topic.sources
            if (offset := aligned.sources[source.key])
        )
    return aligned, since, lost


def _at(topic: _Topic, which: str) -> _Offsets:
    return _Offsets(
        sources={s.key: getattr(s.log.retained, which) for s in topic.sources},
        targets={
            number: getattr(log.retained, which)
            for number, log in topic.targets.items()
        },
    )


def _align(
    topic: _Topic, night: NightlyInputs, floor: _Offsets | None
) -> PlanSteps[_Offsets | None]:
    """Find offsets from which on all partitions can be compared.

    Notes
    -----
    By time: `slack` after the oldest record of each log that has lost some,
    and after the oldest copy, where it is not known whether the mirror read
    what was there before.
    """
    if not any(log.retained.end for log in topic.targets.values()):
        return _at(topic, "start")
    timed = None
    if topic.timestamps:
        timed = yield from _align_by_time(topic, night)
    if timed is None:
        rests = all(source.at_rest for source in topic.sources)
        return _at(topic, "end") if rests else None
    if floor is None:
        return timed
    return _Offsets(
        sources={
            key: max(offset, floor.sources[key])
            for key, offset in timed.sources.items()
        },
        targets={
            number: max(offset, floor.targets[number])
            for number, offset in timed.targets.items()
        },
    )


def _align_by_time(
    topic: _Topic, night: NightlyInputs
) -> PlanSteps[_Offsets | None]:
    begins, copies = [], []
    for log in topic.logs:
        first = yield from first_record(log)
        if first.written_at is None:
            continue
        if log.side == "target":
            copies.append(first.written_at)
        if log.retained.start:
            begins.append(first.written_at)
    if topic.starts_at_end is not False and copies:
        begins.append(min(copies))
    begin = later(max(begins), night.slack) if begins else EPOCH
    found = yield from _since(topic, begin)
    passed = all(
        source.position is not None
        and source.position >= found.sources[source.key]
        and found.sources[source.key] < source.log.retained.end
        for source in topic.sources
        if len(source.log.retained)
    )
    return found if passed else None


def _since(topic: _Topic, time: datetime) -> PlanSteps[_Offsets]:
    """Ask for the first record of each log that is not older than a time."""
    sources, targets = {}, {}
    for source in topic.sources:
        first = yield from ask(FirstSince(source.log, time))
        sources[source.key] = first.within(source.log.retained)
    for number, log in topic.targets.items():
        first = yield from ask(FirstSince(log, time))
        targets[number] = first.within(log.retained)
    return _Offsets(sources=sources, targets=targets)


_End = tuple[_Offsets | None, Cut, datetime]


def _end(
    topic: _Topic,
    start: _Offsets,
    settled: Mapping[tuple[str, str, int], Settled],
    limit: datetime,
) -> PlanSteps[_End]:
    """Return where what is compared of a topic ends; `None` if records are
    settled and copied, but cannot be cut.
    """
    if all(
        source.steady
        and settled[source.key].end == source.log.retained.end
        and max(settled[source.key].position or 0, start.sources[source.key])
        >= source.log.retained.end
        for source in topic.sources
    ):
        return _at(topic, "end"), "idle", limit
    if not topic.timestamps:
        end = _Offsets(
            sources={
                source.key: max(
                    start.sources[source.key],
                    min(source.position or 0, source.log.retained.end),
                )
                for source in topic.sources
            },
            targets=_at(topic, "end").targets,
        )
        moved = end.sources != start.sources
        return (end if moved else start), "position", limit
    at = min(
        (
            found.waiting_since
            for found in settled.values()
            if found.waiting_since is not None
        ),
        default=limit,
    )
    at = min(at, limit)
    behind = any(
        found.copied > start.sources[key] for key, found in settled.items()
    )
    if any(map(hides_its_time, settled.values())):
        return (None if behind else start), "timestamp", at
    found = yield from _since(topic, at)
    end = _Offsets(
        sources={
            key: max(start.sources[key], min(offset, settled[key].copied))
            for key, offset in found.sources.items()
        },
        targets={
            number: max(start.targets[number], offset)
            for number, offset in found.targets.items()
        },
    )
    blocked = any(found.blocked for found in settled.values())
    if behind and blocked and end.sources == start.sources:
        return None, "timestamp", at
    return end, "timestamp", at


def plan_topic_window(
    parts: Sequence[PairedLogs], adhoc: AdHoc
) -> PlanSteps[list[PlanningOutcome]]:
    """Work out what an ad hoc audit compares of one topic.

    Parameters
    ----------
    parts
        As in `plan_topic_night`.
    adhoc
        What is the same for all topics.
    """
    topic = _Topic(parts)
    if any(part.compacted for part in parts):
        return topic.give_up(COMPACTED)
    if not topic.timestamps:
        return topic.give_up(UNTIMED)
    spans: dict[Log, AuditSpan] = {}
    expired = None
    for log in topic.logs:
        spans[log] = yield from window_span(log, adhoc)
        if expired is None and (yield from has_expired(log, adhoc)):
            expired = log
    if expired is not None and (
        any(map(len, spans.values()))
        or not all(
            log.retention.kept_since(adhoc.window.start, adhoc.now)
            for log in topic.logs
        )
    ):
        reason = EXPIRED.format(
            side=expired.side, start=expired.retained.start
        )
        return topic.give_up(reason)
    start, end = (
        _Offsets(
            sources={
                s.key: getattr(spans[s.log], which) for s in topic.sources
            },
            targets={
                number: getattr(spans[log], which)
                for number, log in topic.targets.items()
            },
        )
        for which in ("start", "end")
    )
    positions = {source.key: source.position for source in topic.sources}
    asked_from = yield from topic.asked_from({}, adhoc.slack)
    pairs = topic.pairs(
        start, end, positions, cut="window", asked_from=asked_from
    )
    return [PlanningOutcome(pair=pair) for pair in pairs]
