"""Ranges that an ad hoc audit compares in one pair."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from .facts import (
    FirstSince,
    Log,
    Lookup,
    PairedLogs,
    newest_sync,
    oldest_sync,
)
from .nightly import NOWHERE
from .plan import NOTHING, AuditSpan, PartitionPair, TimeWindow
from .ranges import (
    AlignedOffsets,
    PlanningOutcome,
    asked_from_of,
    first_record,
    later,
    to_gap,
    to_pair,
)

__all__ = [
    "UNTIMED",
    "AdHoc",
    "has_expired",
    "plan_window",
    "window_spans",
]


EXPIRED = (
    "records of the window may have expired at the {side}: its log starts "
    "at offset {start}"
)

UNTIMED = (
    "the target sets its own timestamps, and no offset syncs are known on "
    "both sides of the window"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class AdHoc:
    """Planning inputs shared by all pairs of an ad hoc audit."""

    now: datetime
    window: TimeWindow
    slack: timedelta


def plan_window(
    look: Lookup, pair: PairedLogs, adhoc: AdHoc
) -> PlanningOutcome:
    """Work out what an ad hoc audit compares of one pair.

    Notes
    -----
    Nothing before the first record that is not older than the window belongs
    to it: that is what Kafka finds. Behind the first one that is younger than
    the window, records may still belong to it that are out of order, so the
    ranges go on for `slack`.

    Where the target puts timestamps of its own on records, a window cannot be
    found there. Then the ranges go from the last sync before it to the first
    one behind it, and all records in them are compared.
    """
    logs = [source.log for source in pair.sources]
    if pair.target is not None and pair.timestamps:
        logs.append(pair.target)
    found = window_spans(look, logs, adhoc)
    if isinstance(found, str):
        return _give_up(pair, found)
    spans = [found[log] for log in logs]
    sources = spans[: len(pair.sources)]
    asked_from = asked_from_of(
        look,
        pair.sources,
        [] if pair.target is None else [pair.target],
        {},
        adhoc.slack,
        starts_at_end=pair.starts_at_end,
    )
    if pair.target is None:
        return _missing_target(pair, sources, asked_from)
    if pair.timestamps:
        whole = _to_pair(pair, sources, spans[-1], asked_from)
        return PlanningOutcome(pair=whole)
    synced = _by_syncs(pair, pair.target, sources[0])
    if synced is None:
        return _give_up(pair, UNTIMED)
    source, target = synced
    return PlanningOutcome(pair=_to_pair(pair, [source], target))


def _give_up(pair: PairedLogs, reason: str) -> PlanningOutcome:
    return PlanningOutcome(
        unverifiable=tuple(to_gap(source, reason) for source in pair.sources)
    )


def _to_pair(
    pair: PairedLogs,
    spans: list[AuditSpan],
    target: AuditSpan,
    asked_from: Sequence[int] = (),
) -> PartitionPair:
    return to_pair(
        pair,
        AlignedOffsets(
            sources=tuple(s.start for s in spans), target=target.start
        ),
        AlignedOffsets(sources=tuple(s.end for s in spans), target=target.end),
        positions=[source.position for source in pair.sources],
        cut="window",
        asked_from=asked_from,
    )


def _missing_target(
    pair: PairedLogs, spans: list[AuditSpan], asked_from: Sequence[int]
) -> PlanningOutcome:
    gaps, read = [], []
    for source, span in zip(pair.sources, spans, strict=True):
        end = max(span.start, min(span.end, source.position or 0))
        read.append(AuditSpan(span.start, end))
        if end < span.end:
            reason = NOWHERE.format(cluster=pair.cluster)
            gaps.append(to_gap(source, reason, span.end - end))
    found = any(map(len, read))
    return PlanningOutcome(
        pair=_to_pair(pair, read, NOTHING, asked_from) if found else None,
        unverifiable=tuple(gaps),
    )


def window_spans(
    look: Lookup, logs: Sequence[Log], adhoc: AdHoc
) -> dict[Log, AuditSpan] | str:
    """Ask where the records of a window are in logs; return the reason if
    some of them may have expired.
    """
    spans = {}
    expired = None
    for log in logs:
        first = look(FirstSince(log, adhoc.window.start))
        # As far behind the window as records may be out of order.
        end = later(adhoc.window.end, adhoc.slack)
        last = look(FirstSince(log, end))
        spans[log] = AuditSpan(
            first.within(log.retained), last.within(log.retained)
        )
        if expired is None and has_expired(look, log, adhoc.window.start):
            expired = log
    if expired is None:
        return spans
    kept = (
        log.retention.kept_since(adhoc.window.start, adhoc.now) for log in logs
    )
    if not any(map(len, spans.values())) and all(kept):
        return spans
    return EXPIRED.format(side=expired.side, start=expired.retained.start)


def has_expired(look: Lookup, log: Log, since: datetime) -> bool:
    """Return whether records of this time and after may have expired."""
    if not log.retained.start:
        return False
    first = first_record(look, log)
    return first.written_at is None or first.written_at > since


def _by_syncs(
    pair: PairedLogs, target: Log, span: AuditSpan
) -> tuple[AuditSpan, AuditSpan] | None:
    if len(pair.sources) != 1:
        return None
    source, end = pair.sources[0], target.retained.end
    whole = not source.log.retained.start and not target.retained.start
    least = (source.log.retained.start, target.retained.start)
    first = newest_sync(source.syncs, least, (span.start, end))
    if first is None and whole and pair.starts_at_end is False:
        first = (0, 0)
    if first is None:
        return None
    last = oldest_sync(source.syncs, (max(span.end, first[0]), first[1]))
    if last is None or last[1] > end:
        if not source.at_rest:
            return None
        last = (source.log.retained.end, end)
    return AuditSpan(first[0], last[0]), AuditSpan(first[1], last[1])
