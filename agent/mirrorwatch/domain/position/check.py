"""The check ``position``: positions that were reset, lost or overtaken."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ..finding import Code, Finding, Health, Numbers, Subject
from ..lag.model import STALE, LagObservation
from ..losses.model import CRITICAL_FOR
from ..offsets import name_ranges
from ..report import Evidence, Verdict, conclude, topic_subject
from ..skips.model import SkipsObservation
from . import texts
from .model import PositionObservation, Reset, ResetKind, resets_of

__all__ = ["PositionLimits", "judge_position"]


def health_of(reset: Reset) -> Health:
    """Return how bad a reset is."""
    if (
        reset.harmless
        or reset.is_unseen
        or reset.kind in {ResetKind.REWIND, ResetKind.SYNCS_GONE}
    ):
        return Health.WARNING
    if reset.kind in IN_QUESTION and reset.settled is not None:
        return Health.WARNING if reset.at_most else Health.CRITICAL
    if reset.kind is ResetKind.SOURCE_RECREATED:
        is_empty = (reset.log_end or 0) <= (reset.first or 0)
        return Health.WARNING if is_empty else Health.CRITICAL
    return Health.CRITICAL


@dataclass(frozen=True, kw_only=True, slots=True)
class PositionLimits:
    """Limits of the check `position`."""

    lost_window: timedelta = CRITICAL_FOR
    """Time the check stays critical after MirrorMaker resumed from a position
    reset that skipped records."""

    rewind_window: timedelta = field(
        default=timedelta(minutes=10),
        metadata={"title": "Warning after a rewind for", "gt": timedelta()},
    )
    """Time the check stays at warning after a position reset that only
    duplicated records. Every crash of MirrorMaker causes one, without loss."""


def judge_position(
    flow: str,
    seen: PositionObservation | None,
    limits: PositionLimits,
    now: datetime,
    lag: LagObservation | None = None,
    *,
    skips: SkipsObservation | None = None,
) -> Verdict:
    """Judge the continuity of the mirror's positions.

    Parameters
    ----------
    flow
        Name of the flow.
    seen
        Observation of the mirror's positions.
    limits
        Limits of the check.
    now
        The time.
    lag
        Lag observation; it tells which topics are hidden.
    skips
        Copies: they show records that expired unread, truncated logs and
        rewinds.
    """
    return conclude(
        _find(seen, limits, now, lag, skips),
        flow=flow,
        check="position",
        now=now,
        evidence={} if seen is None else _evidence(seen, skips),
    )


def _find(
    seen: PositionObservation | None,
    limits: PositionLimits,
    now: datetime,
    lag: LagObservation | None,
    skips: SkipsObservation | None,
) -> Iterator[Finding]:
    if seen is None:
        yield texts.NO_DATA.found(Health.UNKNOWN)
        return
    age = now - seen.at
    if age > STALE:
        yield texts.STALE.found(Health.UNKNOWN, seconds=age.total_seconds())
    yield from _resets(seen, limits, now, skips)
    for problem in seen.problems:
        yield texts.UNREADABLE.found(Health.UNKNOWN, problem=problem)
    if not seen.partitions:
        yield texts.NO_POSITIONS.found(Health.UNKNOWN)
    if lag is not None and lag.hidden:
        yield texts.HIDDEN_TOPICS.found(Health.UNKNOWN, problem=lag.hidden)
    yield texts.OK.found(Health.OK, partitions=seen.partitions)


def _resets(
    seen: PositionObservation,
    limits: PositionLimits,
    now: datetime,
    skips: SkipsObservation | None,
) -> Iterator[Finding]:
    """Yield one finding of a code and topic, the worst and newest first."""
    recent: list[Reset] = []
    for reset in resets_of(seen, skips):
        may_lack = (
            health_of(reset) is Health.CRITICAL
            or reset.at_most
            or reset.gone != 0
            or reset.kind is ResetKind.BEYOND
        )
        window = limits.lost_window if may_lack else limits.rewind_window
        if reset.settled is None or now - reset.settled <= window:
            recent.append(reset)
    recent.sort(key=lambda r: r.began, reverse=True)
    recent.sort(key=lambda r: (-health_of(r), bool(r.settled)))
    groups: dict[tuple[Code, str], list[Reset]] = {}
    for reset in recent:
        code = _code_of(reset, seen)
        groups.setdefault((code, reset.topic), []).append(reset)
    topics = Counter(code for code, _ in groups)
    for (code, _), resets in groups.items():
        found = code.found(
            health_of(resets[0]),
            _subject(resets),
            topics=topics[code],
            source=seen.source,
            target=seen.target,
            **_numbers(resets),
        )
        yield replace(found, past=all(r.settled for r in resets))


CODES = {
    ResetKind.EXPIRED: texts.EXPIRED_UNREAD,
    ResetKind.BEYOND: texts.TRUNCATED,
    ResetKind.REWIND: texts.REWOUND,
    ResetKind.SOURCE_RECREATED: texts.RECREATED,
    ResetKind.TARGET_RECREATED: texts.TARGET_RECREATED,
    ResetKind.OFFSETS_GONE: texts.OFFSETS_DELETED,
    ResetKind.OFFSETS_DELETED: texts.OFFSETS_DELETED,
    ResetKind.SYNCS_GONE: texts.SYNCS_RECREATED,
    ResetKind.OTHER_CLUSTER: texts.OTHER_CLUSTER,
}


def _code_of(reset: Reset, seen: PositionObservation) -> Code:
    if seen.keeps_offsets and reset.kind is ResetKind.REWIND:
        return texts.TARGET_TRUNCATED
    if reset.is_unseen:
        return texts.UNVERIFIABLE
    return CODES[reset.kind]


def _subject(resets: Sequence[Reset]) -> Subject:
    first = resets[0]
    if first.kind is ResetKind.OTHER_CLUSTER:
        return {"cluster": first.topic}
    if first.kind is ResetKind.SOURCE_RECREATED:
        return {"topic": first.topic}
    return topic_subject(first.topic, (r.partition for r in resets))


def _numbers(resets: Sequence[Reset]) -> Numbers:
    """Return what resets of one code and topic concern: records by how
    certainly they do.
    """
    first = resets[0]
    match first.kind:
        case ResetKind.SYNCS_GONE:
            return {}
        case ResetKind.OTHER_CLUSTER:
            return {"found_id": first.now, "expected_id": first.before}
        case ResetKind.OFFSETS_GONE | ResetKind.OFFSETS_DELETED:
            starts_at = "log end" if first.from_end else "beginning"
            return {"partitions": first.places, "starts_at": starts_at}
        case ResetKind.TARGET_RECREATED:
            return {"partitions": first.places, "offsets": first.gone or None}
        case _:
            pass
    records = Counter({"records": 0})
    for reset in resets:
        records[_certainty(reset)] += _count_of(reset)
    unsettled = [r for r in resets if r.settled is None]
    numbers: dict[str, int | str | None] = {
        "resets": sum(r.summed or 1 for r in resets),
        "open_resets": len(unsettled),
        "ranges": name_ranges(
            (r.partition, r.first, r.end - 1)
            for r in resets
            if r.partition is not None
            and r.first is not None
            and r.end is not None
            and r.first < r.end
        ),
        **records,
    }
    if first.kind is ResetKind.EXPIRED:
        numbers["expired_records"] = records.total()
        numbers["expiring_partitions"] = len(unsettled) or None
    if first.kind in IN_QUESTION:
        numbers["skipped_records"] = records["records"] or None
        numbers["position"] = unsettled[0].end if unsettled else None
        numbers["log_end"] = unsettled[0].log_end if unsettled else None
    if first.kind is ResetKind.SOURCE_RECREATED:
        gone = [r.gone for r in resets if r.gone is not None]
        numbers["old_records_at_most"] = sum(gone) if gone else None
    return numbers


IN_QUESTION = {ResetKind.BEYOND, ResetKind.SOURCE_RECREATED}
"""Resets that leave out records only if the mirror resumes where it was."""


def _certainty(reset: Reset) -> str:
    if reset.at_most:
        return "records_at_most"
    if reset.kind in IN_QUESTION and reset.settled is None:
        return "records_at_risk"
    return "records"


def _count_of(reset: Reset) -> int:
    """Return how many records a reset left out, may leave out, or repeats."""
    if reset.kind not in IN_QUESTION:
        return reset.count
    if reset.settled is not None:
        return 0 if reset.harmless else reset.count
    is_ahead = (reset.log_end or 0) < (reset.end or 0)
    return 0 if is_ahead else reset.count


def _evidence(
    seen: PositionObservation, skips: SkipsObservation | None
) -> Evidence:
    return {
        "partitions": seen.partitions,
        "resets": sum(seen.counts.values()),
        "open_resets": sum(r.settled is None for r in resets_of(seen, skips)),
    }
