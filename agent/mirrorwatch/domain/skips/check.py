"""The check ``skips``: whether what goes in comes out, once."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import ClassVar

from ..lag.model import LagObservation
from ..report import (
    Evidence,
    Finding,
    Health,
    Verdict,
    agree,
    conclude,
    counted,
    seconds,
    topic_subject,
)
from ..topics import filtered_note
from .model import (
    LOSSES,
    ForeignRecords,
    SkipEvent,
    SkipKind,
    SkipsObservation,
    SuspectedDrop,
)

__all__ = ["SkipsLimits", "judge_skips"]


_RANGES_SHOWN = 3
_EVENTS_SHOWN = 10


def show_skips(
    seen: SkipsObservation | None, since: datetime, lost_since: datetime
) -> Evidence:
    """Return the counters of all topics, and the newest places.

    Parameters
    ----------
    seen
        What was counted.
    since
        From when on repeats are named.
    lost_since
        From when on ranges that cannot be verified are named.
    """
    if seen is None:
        return {}
    tallies = [tally for _, tally in seen.tallies]
    lost = [
        (x, n)
        for x, n in seen.events
        if x.kind in LOSSES and n and not x.filtered
    ]
    filtered = [f"{n:,} of {topic}" for topic, n in _filtered(seen).items()]
    repeats, doubts = (
        [(x, x.count) for x, _ in seen.events if x.kind is kind and x.at >= at]
        for kind, at in (
            (SkipKind.REPEATED, since),
            (SkipKind.UNVERIFIABLE, lost_since),
        )
    )
    dropped = sum(t.filtered for t in tallies)
    suspected = [
        f"{s.count} of "
        + _label_of(s.topic, s.partition, [(s.first, s.end - 1)])
        for s in seen.suspicions
    ]
    return {
        "skipped_records": sum(t.skipped - t.filtered for t in tallies),
        "recovered_records": sum(t.recovered for t in tallies),
        "repeated_records": sum(t.repeated for t in tallies),
        "unverifiable_offsets": sum(t.unverifiable for t in tallies),
        "compacted_offsets": sum(t.compacted for t in tallies),
        "suspected_records": sum(s.count for s in seen.suspicions),
        "partitions": seen.partitions,
        **dict(_number("skip", _ranges(lost))),
        **({"filtered_records": dropped} if dropped else {}),
        **dict(_number("filtered", filtered)),
        **dict(_number("suspected", suspected)),
        **dict(_number("unverifiable", _ranges(doubts))),
        **dict(_number("repeat", _ranges(repeats))),
    }


def _filtered(
    seen: SkipsObservation, since: datetime | None = None
) -> dict[str, int]:
    """Return how many records are missing of each filtered topic, the most
    last.
    """
    found: Counter[str] = Counter()
    for event, missing in seen.events:
        if event.filtered and (since is None or event.at >= since):
            found[event.topic] += missing
    return {t: n for t, n in reversed(found.most_common()) if n}


def _show_foreign(seen: SkipsObservation | None, since: datetime) -> Evidence:
    found = [] if seen is None else _foreign_since(seen, since)
    return dict(
        _number("foreign", [f"{f.records} in {topic}" for topic, f in found])
    )


def _label_of(
    topic: str, partition: int, ranges: Sequence[tuple[int, int]]
) -> str:
    shown = ranges[-_RANGES_SHOWN:]
    names = ", ".join(f"{a} to {b}" if a != b else str(a) for a, b in shown)
    more = " and others" if len(ranges) > len(shown) else ""
    return f"{topic} partition {partition} (source offsets {names}{more})"


def _ranges(events: Iterable[tuple[SkipEvent, int]]) -> list[str]:
    return [
        f"{count} of {_label_of(x.topic, x.partition, x.ranges)}"
        for x, count in events
    ]


def _number(what: str, places: Sequence[str]) -> Iterator[tuple[str, str]]:
    newest = places[-_EVENTS_SHOWN:]
    for number, place in enumerate(newest, start=1):
        yield f"{what}_{number}", place


STALE = timedelta(minutes=1)
"""Both sides are compared once a tick. One that was not for this long waits
for a cluster that does not answer, or hangs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SkipsLimits:
    """Limits of the check `skips`."""

    lost_window: timedelta = field(
        default=timedelta(hours=1),
        metadata={"title": "Critical after a skip for", "gt": timedelta()},
    )
    """How long skipped records keep the check critical, and ranges that cannot
    be verified keep it at warning: they may be lost. The default is that of
    lost probes. `mirrorwatch_skipped_records_total` keeps the total."""

    warning_window: timedelta = field(
        default=timedelta(minutes=10),
        metadata={"title": "Warning for", "gt": timedelta()},
    )
    """How long duplicates keep the check at warning. The default is that of
    late probes."""

    suspect_after: timedelta = field(
        default=timedelta(minutes=2),
        metadata={"title": "Suspect after", "gt": timedelta()},
    )
    """How much newer the records must be that the same task copies for other
    partitions, before records that it does not copy are suspected to be
    dropped. Two flush intervals of MirrorMaker, so that all positions have
    been committed since."""

    unread_after: ClassVar[timedelta] = timedelta(minutes=2)
    """How long a range may wait to be verified before the check is unknown. A
    few seconds are normal, and a minute after a crash of a MirrorMaker with
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
        What was counted.
    limits
        Limits of the check.
    now
        The time.
    lag
        What is known of its lag: which topics are hidden.
    """
    hidden = None if lag is None else lag.hidden
    return conclude(
        _find(seen, limits, now, hidden),
        flow=flow,
        check="skips",
        now=now,
        evidence={
            **show_skips(
                seen, now - limits.warning_window, now - limits.lost_window
            ),
            **_show_foreign(seen, now - limits.lost_window),
        },
    )


def _find(
    seen: SkipsObservation | None,
    limits: SkipsLimits,
    now: datetime,
    hidden: str | None,
) -> Iterator[Finding]:
    if seen is None:
        yield Finding(
            "skips.no-data",
            Health.UNKNOWN,
            "Source and target have not been compared yet",
        )
        return
    lost_since = now - limits.lost_window
    yield from _find_losses(seen, lost_since)
    yield from _find_excesses(seen, lost_since)
    yield from _find_doubts(seen, limits, now)
    yield from _find_foreign(seen, lost_since, now)
    yield from _find_blindness(seen, limits, now, hidden)
    if seen.partitions or not seen.merged:
        missing = _filtered(seen, lost_since)
        notes = (_note_merged(seen), filtered_note(missing.values()))
        yield Finding(
            "skips.ok",
            Health.OK,
            "; ".join(
                [
                    "No record was skipped or duplicated on "
                    + counted(seen.partitions, "partition"),
                    *filter(None, notes),
                ]
            ),
            numbers={
                "partitions": seen.partitions,
                "merged_topics": seen.merged,
                "filtered_records": sum(missing.values()),
            },
        )
    else:
        yield Finding(
            "skips.off",
            Health.OFF,
            "All topics are merged from several flows, so their offsets "
            "cannot be compared. The audit compares their records",
            numbers={"merged_topics": seen.merged},
        )


_EXPLAINED = {
    SkipKind.SKIPPED: (
        "were skipped, although records before and after were copied"
    ),
    SkipKind.TRUNCATED: (
        "were copied and are gone: the log at the target was truncated, "
        "and MirrorMaker does not copy them again. If they are needed, "
        "reset its committed offsets of the topic"
    ),
    SkipKind.SAMPLED: (
        "were skipped; the rest of a range too long to read may be "
        "missing, too. Check whether MirrorMaker's offsets were set "
        "forward, and run the audit"
    ),
    SkipKind.HEAD: (
        "were never copied: MirrorMaker started after them. Check "
        "auto.offset.reset of its consumer"
    ),
    SkipKind.TAIL: (
        "are below the committed position but not at the target. Check "
        "errors.tolerance and MirrorMaker's log"
    ),
    SkipKind.UNVERIFIABLE: (
        "cannot be verified: the records or their copies are gone "
        "or were changed"
    ),
    SkipKind.REPEATED: "were duplicated; none was lost",
}
"""What happened to records, and what to do."""


def _find_counted(
    code: str,
    health: Health,
    counts: Iterable[tuple[SkipEvent, int]],
) -> Iterator[Finding]:
    topics: dict[str, list[tuple[SkipEvent, int]]] = {}
    for event, count in reversed(list(counts)):
        if count and event.kind in _KINDS[code]:
            topics.setdefault(event.topic, []).append((event, count))
    for topic, those in topics.items():
        newest, records = those[0]
        kinds = Counter[str]()
        for event, count in those:
            kinds[event.kind.value] += count
        rest = kinds.total() - records
        partitions = {event.partition for event, _ in those}
        yield Finding(
            code,
            health,
            ("At least " if newest.kind is SkipKind.SAMPLED else "")
            + f"{counted(records, 'record')} of {_label(newest)} "
            + agree(records, _EXPLAINED[newest.kind])
            + (f"; {rest} more in other ranges" if rest else ""),
            subject=topic_subject(topic, partitions),
            numbers={
                "records": kinds.total(),
                "partitions": len(partitions),
                **(kinds if len(_KINDS[code]) > 1 else {}),
            },
        )


_KINDS = {
    "skips.dropped": LOSSES - {SkipKind.TRUNCATED},
    "skips.truncated": {SkipKind.TRUNCATED},
    "skips.unverifiable": {SkipKind.UNVERIFIABLE},
    "skips.duplicated": {SkipKind.REPEATED},
}


def _find_losses(seen: SkipsObservation, since: datetime) -> Iterator[Finding]:
    recent = [
        (x, n) for x, n in seen.events if x.at >= since and not x.filtered
    ]
    for code in ("skips.dropped", "skips.truncated"):
        yield from _find_counted(code, Health.CRITICAL, recent)


def _find_excesses(
    seen: SkipsObservation, since: datetime
) -> Iterator[Finding]:
    recent = [each for each in seen.excesses if each[1].at >= since]
    for topic, excess in sorted(recent, key=lambda each: -each[1].missing):
        share = 100 * excess.missing / excess.records
        yield Finding(
            "skips.filter-exceeded",
            Health.CRITICAL,
            f"{excess.missing:,} of {counted(excess.records, 'record')} of "
            f"{topic} ({share:.3g}%) {agree(excess.missing, 'are')} missing "
            f"at the target; topics.filtered allows {100 * excess.at_most:g}%."
            " Check MirrorMaker's transforms, or raise at_most",
            subject={"topic": topic},
            numbers={
                "records": excess.missing,
                "passed_records": excess.records,
                "allowed_share": excess.at_most,
            },
        )


def _find_doubts(
    seen: SkipsObservation, limits: SkipsLimits, now: datetime
) -> Iterator[Finding]:
    topics: dict[str, list[SuspectedDrop]] = {}
    for each in sorted(seen.suspicions, key=lambda s: -s.count):
        if not each.filtered:
            topics.setdefault(each.topic, []).append(each)
    for topic, those in topics.items():
        most, others = those[0], len(those) - 1
        yield Finding(
            "skips.suspected",
            Health.WARNING,
            f"{counted(most.count, 'record')} of {topic} partition "
            f"{most.partition} (source offsets {most.first} to "
            f"{most.end - 1}) "
            f"{agree(most.count, 'have not been copied for')} "
            f"{seconds(now - most.since)}, while the same task copied newer "
            "records of other partitions: suspected to be dropped"
            + (
                f"; same for {counted(others, 'more partition')}"
                if others
                else ""
            ),
            subject=topic_subject(topic, (s.partition for s in those)),
            numbers={
                "records": sum(s.count for s in those),
                "partitions": len(those),
                "seconds": max((now - s.since).total_seconds() for s in those),
            },
        )
    for code, window in (
        ("skips.unverifiable", limits.lost_window),
        ("skips.duplicated", limits.warning_window),
    ):
        recent = [(x, x.count) for x, _ in seen.events if now - x.at <= window]
        yield from _find_counted(code, Health.WARNING, recent)


def _find_foreign(
    seen: SkipsObservation, since: datetime, now: datetime
) -> Iterator[Finding]:
    recent = _foreign_since(seen, since)
    for topic, found in sorted(recent, key=lambda each: each[1].at)[::-1]:
        yield Finding(
            "skips.foreign-producer",
            Health.WARNING,
            f"{counted(found.records, 'record')} of {topic} at the target "
            f"{agree(found.records, 'are')} not from MirrorMaker, the newest "
            f"found {seconds(now - found.at)} ago: another producer writes "
            "there, or a transform alters records. As many dropped records "
            "cannot be proved missing. Find the producer, or run the audit",
            subject={"topic": topic},
            numbers={
                "records": found.records,
                "seconds": (now - found.at).total_seconds(),
            },
        )


def _foreign_since(
    seen: SkipsObservation, since: datetime
) -> list[tuple[str, ForeignRecords]]:
    return [(t, found) for t, found in seen.foreign if found.at >= since]


def _find_blindness(
    seen: SkipsObservation,
    limits: SkipsLimits,
    now: datetime,
    hidden: str | None,
) -> Iterator[Finding]:
    for problem in seen.problems:
        yield Finding("skips.unreadable", Health.UNKNOWN, problem)
    age = now - seen.at
    if age > STALE:
        yield Finding(
            "skips.stale",
            Health.UNKNOWN,
            f"Source and target were last compared {seconds(age)} "
            "ago. Check that both clusters answer",
            numbers={"seconds": age.total_seconds()},
        )
    if seen.blind:
        yield Finding(
            "skips.no-syncs",
            Health.UNKNOWN,
            f"{counted(seen.blind, 'partition')} "
            f"{agree(seen.blind, 'have replicated records')} but no "
            "offset-syncs. Check emit.offset-syncs.enabled of MirrorMaker",
            numbers={"partitions": seen.blind},
        )
    unread = seen.unread
    if unread is not None and now - unread.since > limits.unread_after:
        why = unread.problem or "many records to read"
        yield Finding(
            "skips.pending",
            Health.UNKNOWN,
            f"Verification of {counted(unread.partitions, 'partition')} has "
            f"been pending for {seconds(now - unread.since)}: {why}",
            numbers={
                "partitions": unread.partitions,
                "seconds": (now - unread.since).total_seconds(),
            },
        )
    if hidden is not None:
        yield Finding("skips.hidden-topics", Health.UNKNOWN, hidden)


def _label(event: SkipEvent) -> str:
    return _label_of(event.topic, event.partition, event.ranges)


def _note_merged(seen: SkipsObservation) -> str:
    if not seen.merged:
        return ""
    topics = counted(seen.merged, "merged topic")
    return f"{topics} {agree(seen.merged, 'are compared by the audit only')}"
