"""The check ``position``: whether the mirror lost its place."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ..lag.model import STALE, LagObservation
from ..report import (
    Evidence,
    Finding,
    Health,
    Numbers,
    Subject,
    Verdict,
    agree,
    conclude,
    counted,
    every,
    seconds,
    topic_subject,
)
from ..skips.model import SkipKind, SkipsObservation
from .model import PositionObservation, Reset, ResetKind

__all__ = ["PositionLimits", "judge_position"]


NAMED = 3


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


def reason_of(
    resets: Sequence[Reset],
    source: str,
    target: str,
    *,
    moves: bool = False,
    commits: bool = True,
    missing: int | None = None,
) -> str:
    """Return one sentence about resets of one kind in one topic.

    Parameters
    ----------
    resets
        The resets, at least one, all of them open or none, all of one health.
    source
        Alias of the source.
    target
        Alias of the target.
    moves
        Whether the mirror copied anything lately.
    commits
        Whether it has committed offsets that can be reset.
    missing
        Records that are proved to be left out; `None` where only positions
        say how many.
    """
    first = resets[0]
    match first.kind:
        case ResetKind.EXPIRED | ResetKind.UNVERIFIED:
            return _expired(resets, source, target, moves=moves)
        case ResetKind.BEYOND:
            return _beyond(resets, source, commits=commits, missing=missing)
        case ResetKind.REWIND:
            copies = "copies" if first.settled is None else "copied"
            return (
                f"MirrorMaker was rewound and {copies} {_records(resets)} "
                f"again: {_where(resets)}. Rewinding skips no record; "
                f"{target} may hold duplicates"
            )
        case ResetKind.SOURCE_RECREATED:
            return _recreated(resets, source, target, commits=commits)
        case ResetKind.TARGET_RECREATED:
            gone = counted(first.gone, "offset")
            copies = f" ({gone})" if first.gone else ""
            return (
                f"{first.topic} was deleted and recreated at {target}: "
                "records copied to its "
                f"{counted(first.places, 'partition')}{copies} are gone "
                "there"
            ) + (
                ", and MirrorMaker does not copy them again. If they are "
                "needed, reset its committed offsets of the topic"
                if commits
                else ". Check that MirrorMaker copies them again"
            )
        case _:
            return _of_flow(first)


OF_ENDS = frozenset({ResetKind.UNVERIFIED, ResetKind.REWIND})
"""What means something else where positions are ends at the target."""


def _of_ends(resets: Sequence[Reset], source: str, target: str) -> str:
    """Return the sentence where positions are ends at the target."""
    first, records, where = resets[0], _records(resets), _where(resets)
    if first.kind is ResetKind.UNVERIFIED:
        return (
            f"Up to {records} may have expired at {source} before the mirror "
            f"copied them: {where}. Whether it had cannot be verified any more"
        )
    then = (
        "Check that the mirror copies them again"
        if first.settled is None
        else "The mirror has copied up to there again"
    )
    return (
        f"Log of {first.topic} at {target} was truncated: it lost {records} "
        f"that had been copied, {where}. {then}"
    )


def _expired(
    resets: Sequence[Reset], source: str, target: str, *, moves: bool
) -> str:
    number = _count(resets)
    them = agree(number, "them")
    if resets[0].kind is ResetKind.UNVERIFIED:
        return (
            f"Up to {_records(resets)} may have expired at {source} before "
            f"MirrorMaker copied {them}: {_where(resets)}. Whether these "
            "offsets were records or transaction markers cannot be verified "
            "any more"
        )
    are = "It is" if number == 1 else "They are"
    at_most = "At most " if any(r.at_most for r in resets) else ""
    what = (
        f"{at_most}{_records(resets)} expired at {source} before MirrorMaker "
        f"copied {them}"
    )
    if resets[0].settled is None and resets[0].from_end:
        return (
            f"{what}: {_where(resets)}. The mirror resumes at the log end "
            "(auto.offset.reset is latest), so that records up to there are "
            "skipped, too. Set its committed offset to the log start before "
            "it resumes"
        )
    if resets[0].settled is None and moves:
        return (
            f"{what}, and more expire until it copies there: "
            f"{_where(resets)}. MirrorMaker runs and copies other records: "
            "check its log for these partitions, or raise retention at "
            f"{source} now"
        )
    if resets[0].settled is None:
        return (
            f"{what}, and more expire while replication is stopped: "
            f"{_where(resets)}. Start MirrorMaker or raise retention at "
            f"{source} now"
        )
    if resets[0].away:
        return (
            f"{what}, and {agree(number, 'their')} topic was deleted or is no "
            f"longer replicated: {_where(resets)}. {are} lost for {target}"
        )
    return (
        f"{what}, and MirrorMaker resumed after {them}: "
        f"{_where(resets)}. {are} lost for {target}"
    )


def _begin_anew(*, commits: bool) -> str:
    how = (
        "Delete its committed offsets of the topic"
        if commits
        else "Let it copy the topic from the start"
    )
    return f"{how} before it resumes"


def _beyond(
    resets: Sequence[Reset],
    source: str,
    *,
    commits: bool,
    missing: int | None,
) -> str:
    first = resets[0]
    place = f"{first.topic}[{first.partition}]"
    if first.settled is None:
        passed = [r for r in resets if (r.log_end or 0) >= (r.end or 0)]
        if passed:
            return (
                f"Log of {first.topic} at {source} was truncated below "
                "MirrorMaker's position and has grown past it. If "
                "MirrorMaker resumes there, "
                f"{_unread(passed, 'are never copied')}, {_where(passed)}. "
                + _begin_anew(commits=commits)
            )
        more = len(resets) - 1
        others = f" (and {more} more of its partitions)" if more else ""
        return (
            f"MirrorMaker's position in {place}, {first.end}{others}, is "
            f"beyond the log end offset at {source}, {first.log_end}. Check "
            "for a truncated log or a different cluster. If the log grows "
            "past the position before MirrorMaker resets it, records below "
            "it are never copied"
        )
    if first.harmless and first.from_end:
        return (
            f"Log of {place} at {source} was truncated below MirrorMaker's "
            "position, and MirrorMaker resumed in it. If it resumes at the "
            "log end (auto.offset.reset is latest), it skipped what was "
            "written before: its position does not show that. Run the audit"
        )
    if first.harmless:
        return (
            f"Log of {place} at {source} was truncated below MirrorMaker's "
            "position, and MirrorMaker resumed at or before the truncation "
            "offset; the target may still hold the truncated records"
        )
    number = _count(resets) if missing is None else missing
    at_least = "at least " if missing is None else ""
    return (
        f"Log of {first.topic} at {source} was truncated below MirrorMaker's "
        f"position, and MirrorMaker resumed there: {at_least}"
        f"{counted(number, 'new record')} "
        f"{agree(number, 'were never copied')}, {_where(resets)}"
    )


def _recreated(
    resets: Sequence[Reset], source: str, target: str, *, commits: bool
) -> str:
    first = resets[0]
    made = f"{first.topic} was deleted and recreated at {source}"
    fewer = first.away and first.end is None
    if fewer or all(r.end is None and not r.summed for r in resets):
        how = (
            "with fewer partitions"
            if fewer
            else "before MirrorMaker had a position in it"
        )
        return f"{made} {how}"
    if first.settled is not None and first.harmless:
        return (
            f"{made} and at {target}, and MirrorMaker restarted from the "
            "beginning"
            if all(reset.now for reset in resets)
            else f"{made}, and MirrorMaker restarted from the beginning; the "
            "target may also hold the old records"
        )
    if first.settled is not None:
        return f"{made}, and {_uncopied(resets, target)}"
    if _is_empty(first):
        return (
            f"{made} and is empty: MirrorMaker keeps its old position, "
            f"{first.end}, until it copies the first record"
        )
    passed = [r for r in resets if (r.log_end or 0) >= (r.end or 0)]
    if passed:
        return (
            f"{made} and has grown past MirrorMaker's old position. If "
            f"MirrorMaker resumes there, {_records(passed)} of the new topic "
            f"{agree(_count(passed), 'are never copied')}, {_where(passed)}. "
            + _begin_anew(commits=commits)
        )
    return (
        f"{made} and is shorter than MirrorMaker's old position, "
        f"{first.end}. MirrorMaker restarts from the beginning only if it "
        "fetches before the topic grows past that position. "
        + _begin_anew(commits=commits)
    )


def _lost_with_topic(resets: Sequence[Reset]) -> str:
    gone = sum(reset.gone for reset in resets)
    if gone:
        return (
            f". Of the old topic, up to {counted(gone, 'record')} seen by the "
            f"last survey {agree(gone, 'were not copied')}"
        )
    if any(reset.unseen for reset in resets):
        return (
            ". Whether all records of the old topic were copied is not "
            "known: mirrorwatch had not seen its end"
        )
    return ""


def _uncopied(resets: Sequence[Reset], target: str) -> str:
    if resets[0].is_in_doubt:
        return (
            f"more records were written to {target} since than MirrorMaker "
            f"had to copy: whether it copied {_records(resets)} of the new "
            f"topic cannot be verified, {_where(resets)}"
        )
    at_least = "at least " if any(r.at_least for r in resets) else ""
    return (
        f"MirrorMaker resumed at its old position: {at_least}"
        f"{_records(resets)} of the new topic "
        f"{agree(_count(resets), 'were never copied')}, {_where(resets)}"
    )


def _of_flow(reset: Reset) -> str:
    begins = (
        "MirrorMaker starts at the log end, and records not yet copied are "
        "lost"
        if reset.from_end
        else "MirrorMaker starts from the beginning and copies all "
        "retained records again"
    )
    match reset.kind:
        case ResetKind.OFFSETS_GONE if reset.settled is None:
            return (
                f"MirrorMaker's offsets topic {reset.topic} was deleted, "
                "with the positions of "
                f"{counted(reset.places, 'partition')}: {begins}"
            )
        case ResetKind.OFFSETS_GONE:
            return (
                f"MirrorMaker's offsets topic {reset.topic} was replaced, "
                f"and the positions of {counted(reset.places, 'partition')} "
                f"are lost: {begins}"
            )
        case ResetKind.OFFSETS_DELETED:
            return (
                f"Committed offsets of {counted(reset.places, 'partition')} "
                f"were deleted, including those of {reset.topic}: unless a "
                f"running MirrorMaker commits them again, {begins}"
            )
        case ResetKind.SYNCS_GONE:
            return (
                f"MirrorMaker's offset-syncs topic {reset.topic} was "
                "replaced: consumer group offsets are not translated until "
                "new records are copied"
            )
        case _:
            return (
                f"{reset.topic} answers with cluster id {reset.now}, "
                f"expected {reset.before}. Check bootstrap.servers. If the "
                "cluster was replaced, set "
                f"clusters.{reset.topic}.cluster_id to the new id"
            )


def _is_empty(reset: Reset) -> bool:
    empty = (reset.log_end or 0) <= (reset.first or 0)
    return reset.settled is None and empty


def _count(resets: Sequence[Reset]) -> int:
    return sum(reset.count for reset in resets)


def _records(resets: Sequence[Reset]) -> str:
    return counted(_count(resets), "record")


def _unread(resets: Sequence[Reset], clause: str) -> str:
    count = _count(resets)
    return f"{counted(count, 'new record')} {agree(count, clause)}"


def _where(resets: Sequence[Reset]) -> str:
    """Return partitions and offsets, the last one not included."""
    parts = [
        f"{r.topic}[{r.partition}] offsets [{r.first}, {r.end})"
        for r in resets
        if not r.summed
    ][:NAMED]
    more = sum(r.summed or 1 for r in resets) - len(parts)
    return ", ".join(parts) + (f" and {more} more" if more > 0 else "")


MOVES = timedelta(minutes=2)
"""A mirror that copies anything commits it within the flush interval, 60 s by
default: after two of them without a word it is stopped."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PositionLimits:
    """Limits of the check `position`."""

    commits: bool = True
    """Whether the mirror has committed offsets that can be reset."""

    lost_window: timedelta = field(
        default=timedelta(hours=1),
        metadata={"title": "Critical after a loss for", "gt": timedelta()},
    )
    """How long a position reset that skipped records keeps the check critical
    after MirrorMaker has resumed. The default is that of lost probes.
    `mirrorwatch_position_resets_total` keeps the total."""

    rewind_window: timedelta = field(
        default=timedelta(minutes=10),
        metadata={"title": "Warning after a rewind for", "gt": timedelta()},
    )
    """How long a position reset that only duplicated records keeps the check
    at warning. Every crash of MirrorMaker causes one, and no record is
    lost."""


def judge_position(
    flow: str,
    seen: PositionObservation | None,
    limits: PositionLimits,
    now: datetime,
    lag: LagObservation | None = None,
    *,
    skips: SkipsObservation | None = None,
) -> Verdict:
    """Judge whether the mirror lost its place anywhere.

    Parameters
    ----------
    flow
        Name of the flow.
    seen
        What is known of its positions.
    limits
        Limits of the check.
    now
        The time.
    lag
        What is known of its lag: which topics are hidden.
    skips
        What is known of its skips: what a mirror left out of a truncated log,
        they show, and a position does not.
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
        yield Finding(
            "position.no-data",
            Health.UNKNOWN,
            "Positions have not been read yet",
        )
        return
    age = now - seen.at
    if age > STALE:
        yield Finding(
            "position.stale",
            Health.UNKNOWN,
            f"Positions were last read {seconds(age)} ago",
            numbers={"seconds": age.total_seconds()},
        )
    yield from _resets(seen, limits, now, skips)
    for problem in seen.problems:
        yield Finding("position.unreadable", Health.UNKNOWN, problem)
    if not seen.partitions:
        yield Finding(
            "position.no-positions",
            Health.UNKNOWN,
            "No position of MirrorMaker is known yet. Check that it has "
            "copied records",
        )
    if lag is not None and lag.hidden:
        yield Finding("position.hidden-topics", Health.UNKNOWN, lag.hidden)
    yield Finding(
        "position.ok",
        Health.OK,
        f"Positions of {every(seen.partitions, 'partition')} are continuous",
        numbers={"partitions": seen.partitions},
    )


NEAR = timedelta(minutes=1)
"""How long before a truncated log is noticed by its position, what was left
out of it may have been found."""


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
        if event.kind is SkipKind.SKIPPED
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
    moves = seen.moved_at is not None and now - seen.moved_at <= MOVES
    groups: dict[tuple[object, ...], list[Reset]] = {}
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
            key = (
                -health,
                reset.settled is not None,
                reset.away,
                reset.kind,
                reset.topic,
                reset.is_in_doubt,
                reset.number in proved,
            )
            groups.setdefault(key, []).append(reset)
    ordered = sorted(
        groups.items(),
        key=lambda g: (*g[0][:2], -max(r.number for r in g[1])),
    )
    findings: dict[tuple[str, str], list[list[Reset]]] = {}
    for _, resets in ordered:
        resets.sort(key=lambda r: bool(r.summed))  # the first is named
        code = _code_of(resets[0], seen)
        findings.setdefault((code, resets[0].topic), []).append(resets)
    for (code, _), parts in findings.items():
        first, every_one = parts[0], [r for part in parts for r in part]
        reason = (
            _of_ends(first, seen.source, seen.target)
            if seen.keeps_offsets and first[0].kind in OF_ENDS
            else reason_of(
                first,
                seen.source,
                seen.target,
                moves=moves,
                commits=limits.commits,
                missing=sum(proved[r.number] for r in first)
                if first[0].number in proved
                else None,
            )
        )
        rest = sum(_count_of(r, proved) for part in parts[1:] for r in part)
        if rest:
            reason += f"; {rest:,} more in other ranges"
        if first[0].kind is ResetKind.SOURCE_RECREATED:
            reason += _lost_with_topic(every_one)
        yield Finding(
            code,
            health_of(first[0]),
            reason,
            subject=_subject(every_one),
            numbers=_numbers(every_one, proved),
        )


CODES = {
    ResetKind.EXPIRED: "position.expired-unread",
    ResetKind.UNVERIFIED: "position.unverifiable",
    ResetKind.BEYOND: "position.truncated",
    ResetKind.REWIND: "position.rewound",
    ResetKind.SOURCE_RECREATED: "position.recreated",
    ResetKind.TARGET_RECREATED: "position.target-recreated",
    ResetKind.OFFSETS_GONE: "position.offsets-deleted",
    ResetKind.OFFSETS_DELETED: "position.offsets-deleted",
    ResetKind.SYNCS_GONE: "position.syncs-recreated",
    ResetKind.OTHER_CLUSTER: "position.other-cluster",
}


def _code_of(reset: Reset, seen: PositionObservation) -> str:
    if seen.keeps_offsets and reset.kind is ResetKind.REWIND:
        return "position.target-truncated"
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
        case ResetKind.SYNCS_GONE | ResetKind.OTHER_CLUSTER:
            return {}
        case ResetKind.OFFSETS_GONE | ResetKind.OFFSETS_DELETED:
            return {"partitions": first.places}
        case ResetKind.TARGET_RECREATED:
            return {"partitions": first.places, "offsets": first.gone}
        case _:
            pass
    records = Counter({"records": 0})
    for reset in resets:
        records[_certainty(reset, proved)] += _count_of(reset, proved)
    numbers: dict[str, int | None] = {
        "resets": sum(r.summed or 1 for r in resets),
        "open_resets": sum(r.settled is None for r in resets),
        **records,
    }
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
