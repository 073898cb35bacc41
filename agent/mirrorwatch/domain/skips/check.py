"""The check ``skips``: each record copied, and once."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import ClassVar

from ..copies.journal import CopyEvent
from ..copies.pair import LOSSES, EventKind
from ..finding import Code, Finding, Health
from ..lag.model import LagObservation
from ..losses.model import CRITICAL_FOR
from ..offsets import name_ranges
from ..report import Evidence, Verdict, conclude, topic_subject
from . import texts
from .model import SkipsObservation

__all__ = ["SkipsLimits", "judge_skips"]


def _totals(seen: SkipsObservation | None) -> Evidence:
    if seen is None:
        return {}
    counters = [counted for _, counted in seen.counters]
    return {
        "skipped_records": sum(t.skipped - t.filtered for t in counters),
        "recovered_records": sum(t.recovered for t in counters),
        "repeated_records": sum(t.repeated for t in counters),
        "unverifiable_offsets": sum(t.unverifiable for t in counters),
        "filtered_records": sum(t.filtered for t in counters),
    }


STALE = timedelta(minutes=1)
"""Both sides are compared once a tick. One that was not for this long waits
for a cluster that does not answer, or hangs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SkipsLimits:
    """Limits of the check `skips`."""

    lost_window: timedelta = CRITICAL_FOR
    """Time the check stays critical after skipped records, and at warning
    after ranges that cannot be verified: they may be lost."""

    warning_window: timedelta = field(
        default=timedelta(minutes=10),
        metadata={"title": "Warning for", "gt": timedelta()},
    )
    """Time the check stays at warning after duplicates. The default is that of
    late probes."""

    read_rate: int = field(
        default=2**20,
        metadata={
            "title": "Read per second and side",
            "gt": 0,
            "unit": "bytes",
        },
    )
    """Bytes per second that are read from each side to compare ranges where
    offset syncs alone prove nothing: with an exactly-once mirror, another
    producer at the target, or many drops. Ranges beyond that are unverifiable
    until the next audit."""

    unread_after: ClassVar[timedelta] = timedelta(minutes=2)
    """Timeout for verifying a range, after which the check is unknown. A few
    seconds are normal, and a minute after a crash of a MirrorMaker with
    thousands of partitions."""


def judge_skips(
    flow: str,
    seen: SkipsObservation | None,
    limits: SkipsLimits,
    now: datetime,
    lag: LagObservation | None = None,
) -> Verdict:
    """Judge whether the mirror wrote every record, and each once.

    Parameters
    ----------
    flow
        Name of the flow.
    seen
        Skips and repeats that were counted.
    limits
        Limits of the check.
    now
        The time.
    lag
        Lag observation; it tells which topics are hidden.
    """
    hidden = None if lag is None else lag.hidden
    return conclude(
        _find(seen, limits, now, hidden),
        flow=flow,
        check="skips",
        now=now,
        evidence=_totals(seen),
    )


def _find(
    seen: SkipsObservation | None,
    limits: SkipsLimits,
    now: datetime,
    hidden: str | None,
) -> Iterator[Finding]:
    if seen is None:
        yield texts.NO_DATA.found(Health.UNKNOWN)
        return
    lost_since = now - limits.lost_window
    yield from _find_losses(seen, lost_since)
    yield from _find_excesses(seen, lost_since)
    yield from _find_doubts(seen, limits, now)
    yield from _find_foreign(seen, lost_since, now)
    yield from _find_blindness(seen, limits, now, hidden)
    if not seen.partitions and seen.merged:
        yield texts.OFF.found(Health.OFF, merged_topics=seen.merged)
        return
    filtered = sum(
        missing
        for event, missing in seen.events
        if event.filtered and event.at >= lost_since
    )
    yield texts.OK.found(
        Health.OK,
        partitions=seen.partitions,
        merged_topics=seen.merged or None,
        filtered_records=filtered or None,
    )


_Counts = list[tuple[CopyEvent, int]]
"""Events, and how many of their records are still missing."""


def _find_counted(
    code: Code, health: Health, counts: _Counts, totals: Mapping[str, int]
) -> Iterator[Finding]:
    topics: dict[str, _Counts] = {}
    for event, count in reversed(counts):
        if count and event.kind in _KINDS[code.name]:
            topics.setdefault(event.topic, []).append((event, count))
    for topic, those in topics.items():
        kinds = Counter[str]()
        for event, count in those:
            kinds[event.kind.value] += count
        partitions = {event.partition for event, _ in those}
        found = code.found(
            health,
            topic_subject(topic, partitions),
            records=kinds.total(),
            partitions=len(partitions),
            topics=len(topics),
            ranges=name_ranges(
                (event.partition, first, last)
                for event, _ in those
                for first, last in reversed(event.ranges)
            ),
            **(kinds if len(_KINDS[code.name]) > 1 else {}),
        )
        yield replace(found, total=totals.get(topic))


_KINDS = {
    "skips.dropped": LOSSES - {EventKind.TRUNCATED},
    "skips.truncated": {EventKind.TRUNCATED},
    "skips.unverifiable": {EventKind.UNVERIFIABLE},
    "skips.duplicated": {EventKind.REPEATED},
}


def _find_losses(seen: SkipsObservation, since: datetime) -> Iterator[Finding]:
    recent = [
        (x, n) for x, n in seen.events if x.at >= since and not x.filtered
    ]
    # Counters do not tell these from dropped ones.
    truncated = {x.topic for x, _ in recent if x.kind is EventKind.TRUNCATED}
    totals = {
        topic: counted.skipped - counted.filtered
        for topic, counted in seen.counters
        if topic not in truncated
    }
    yield from _find_counted(texts.DROPPED, Health.CRITICAL, recent, totals)
    yield from _find_counted(texts.TRUNCATED, Health.CRITICAL, recent, {})


def _find_excesses(
    seen: SkipsObservation, since: datetime
) -> Iterator[Finding]:
    recent = [each for each in seen.excesses if each[1].at >= since]
    worst_first = sorted(recent, key=lambda each: -each[1].missing)
    for topic, excess in worst_first:
        yield texts.FILTER_EXCEEDED.found(
            Health.CRITICAL,
            {"topic": topic},
            records=excess.missing,
            passed_records=excess.records,
            share=excess.missing / excess.records,
            allowed_share=excess.at_most,
            topics=len(recent),
        )


def _find_doubts(
    seen: SkipsObservation, limits: SkipsLimits, now: datetime
) -> Iterator[Finding]:
    counters = seen.counters
    for code, window, totals in (
        (
            texts.UNVERIFIABLE,
            limits.lost_window,
            {topic: counted.unverifiable for topic, counted in counters},
        ),
        (
            texts.DUPLICATED,
            limits.warning_window,
            {topic: counted.repeated for topic, counted in counters},
        ),
    ):
        recent = [(x, x.count) for x, _ in seen.events if now - x.at <= window]
        yield from _find_counted(code, Health.WARNING, recent, totals)


def _find_foreign(
    seen: SkipsObservation, since: datetime, now: datetime
) -> Iterator[Finding]:
    recent = [each for each in seen.foreign if each[1].at >= since]
    newest_first = sorted(recent, key=lambda each: each[1].at)[::-1]
    for topic, found in newest_first:
        yield texts.FOREIGN_PRODUCER.found(
            Health.WARNING,
            {"topic": topic},
            records=found.records,
            seconds=(now - found.at).total_seconds(),
            topics=len(recent),
        )


def _find_blindness(
    seen: SkipsObservation,
    limits: SkipsLimits,
    now: datetime,
    hidden: str | None,
) -> Iterator[Finding]:
    for problem in seen.problems:
        yield texts.UNREADABLE.found(Health.UNKNOWN, problem=problem)
    age = now - seen.at
    if age > STALE:
        yield texts.STALE.found(Health.UNKNOWN, seconds=age.total_seconds())
    if seen.without_syncs:
        yield texts.NO_SYNCS.found(
            Health.UNKNOWN, partitions=seen.without_syncs
        )
    unread = seen.unread
    if unread is not None and now - unread.since > limits.unread_after:
        yield texts.PENDING.found(
            Health.UNKNOWN,
            partitions=unread.partitions,
            seconds=(now - unread.since).total_seconds(),
            problem=unread.problem or "many records to read",
        )
    if hidden is not None:
        yield texts.HIDDEN_TOPICS.found(Health.UNKNOWN, problem=hidden)
