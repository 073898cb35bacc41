"""The check ``position``: positions that were reset, lost or overtaken."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ..copies.pair import EventKind
from ..finding import Code, Finding, Health, Numbers, Subject
from ..lag.model import STALE, LagObservation
from ..losses.model import CRITICAL_FOR
from ..offsets import name_ranges
from ..report import Evidence, Verdict, conclude, topic_subject
from ..skips.model import SkipsObservation
from . import texts
from .model import PositionObservation, Reset, ResetKind

__all__ = ["PositionLimits", "judge_position"]


def health_of(reset: Reset) -> Health:
    """Return how bad a reset is."""
    if (
        reset.harmless
        or reset.is_in_doubt
        or reset.kind
        in {
            ResetKind.REWIND,
            ResetKind.SYNCS_GONE,
            ResetKind.UNVERIFIED,
        }
    ):
        return Health.WARNING
    if reset.kind is ResetKind.SOURCE_RECREATED and _is_empty(reset):
        return Health.WARNING
    return Health.CRITICAL


def _is_empty(reset: Reset) -> bool:
    empty = (reset.log_end or 0) <= (reset.first or 0)
    return reset.settled is None and empty


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
        Skips observation: it shows the records that a mirror left out of a
        truncated log, and a position does not.
    """
    return conclude(
        _find(seen, limits, now, lag, skips),
        flow=flow,
        check="position",
        now=now,
        evidence={} if seen is None else _evidence(seen),
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


NEAR = timedelta(minutes=1)
"""Window before a truncated log is detected by its position, in which its
skipped records may have been found."""


def _prove(
    reset: Reset, skips: SkipsObservation | None
) -> tuple[Reset, int | None]:
    """Return a truncated log by what is proved to be left out, and how many
    records that are; `None` where it is not more than the position shows.

    A log may have grown before its end was seen, so that a position that
    seems to be at the truncation offset may lie beyond it.
    """
    if (
        skips is None
        or reset.kind is not ResetKind.BEYOND
        or reset.settled is None
        or reset.partition is None
    ):
        return reset, None
    found = [
        (event.ranges, missing)
        for event, missing in skips.events
        if event.kind is EventKind.SKIPPED
        and event.place == (reset.topic, reset.partition)
        and event.at > reset.began - NEAR
        and not event.filtered
        and event.ranges
        and event.ranges[0][0] <= (reset.first or 0)
    ]
    missing = sum(number for _, number in found)
    if not missing or missing < reset.count:
        return reset, None
    first = min(ranges[0][0] for ranges, _ in found)
    end = max(ranges[-1][1] for ranges, _ in found) + 1
    return replace(reset, first=first, end=end, harmless=False), missing


def _resets(
    seen: PositionObservation,
    limits: PositionLimits,
    now: datetime,
    skips: SkipsObservation | None,
) -> Iterator[Finding]:
    """Yield one finding of a code and topic, the worst and newest first."""
    recent: list[Reset] = []
    proved: dict[int, int] = {}
    for each in seen.resets:
        if each.away and each.settled is None:
            continue  # nothing of it is there
        reset, missing = _prove(each, skips)
        if missing is not None:
            proved[reset.number] = missing
        health = health_of(reset)
        may_lack = (
            reset.kind is ResetKind.UNVERIFIED
            or reset.is_in_doubt
            or reset.is_in_truncated_log
            or reset.gone
            or reset.unseen
        )
        window = (
            limits.lost_window
            if health is Health.CRITICAL or may_lack
            else limits.rewind_window
        )
        if reset.settled is None or now - reset.settled <= window:
            recent.append(reset)
    recent.sort(key=lambda r: (-health_of(r), bool(r.settled), -r.number))
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
            **_numbers(resets, proved),
        )
        yield replace(found, past=all(r.settled for r in resets))


CODES = {
    ResetKind.EXPIRED: texts.EXPIRED_UNREAD,
    ResetKind.UNVERIFIED: texts.UNVERIFIABLE,
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
    return CODES[reset.kind]


def _subject(resets: Sequence[Reset]) -> Subject:
    first = resets[0]
    if first.kind is ResetKind.OTHER_CLUSTER:
        return {"cluster": first.topic}
    if first.kind is ResetKind.SOURCE_RECREATED:
        return {"topic": first.topic}
    return topic_subject(first.topic, (r.partition for r in resets))


def _numbers(resets: Sequence[Reset], proved: Mapping[int, int]) -> Numbers:
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
        records[_certainty(reset, proved)] += _count_of(reset, proved)
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
    if any(r.is_in_truncated_log for r in resets):
        numbers["records_at_most"] = None
    if first.kind is ResetKind.SOURCE_RECREATED:
        gone = sum(r.gone for r in resets)
        unseen = not gone and any(r.unseen for r in resets)
        numbers["old_records_at_most"] = None if unseen else gone
    return numbers


IN_QUESTION = {ResetKind.BEYOND, ResetKind.SOURCE_RECREATED}
"""Resets that leave out records only if the mirror resumes where it was."""


def _certainty(reset: Reset, proved: Mapping[int, int]) -> str:
    if reset.kind is ResetKind.UNVERIFIED or reset.at_most:
        return "records_at_most"
    if reset.kind in IN_QUESTION and reset.settled is None:
        return "records_at_risk"
    is_truncated = reset.kind is ResetKind.BEYOND and not reset.harmless
    if (is_truncated or reset.at_least) and reset.number not in proved:
        return "records_at_least"
    return "records"


def _count_of(reset: Reset, proved: Mapping[int, int]) -> int:
    """Return how many records a reset left out, may leave out, or repeats."""
    is_open = reset.kind in IN_QUESTION and reset.settled is None
    is_ahead = is_open and (reset.log_end or 0) < (reset.end or 0)
    return 0 if is_ahead else proved.get(reset.number, reset.count)


def _evidence(seen: PositionObservation) -> Evidence:
    return {
        "partitions": seen.partitions,
        "resets": sum(seen.counts.values()),
        "open_resets": sum(
            r.settled is None and not r.away for r in seen.resets
        ),
    }
