"""The check ``position``: whether the mirror lost its place."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import islice

from ..lag.model import STALE, LagObservation
from ..report import (
    CheckFinding,
    Evidence,
    Finding,
    Health,
    Verdict,
    agree,
    conclude,
    counted,
    every,
    seconds,
)
from ..skips.model import SkipKind, SkipsObservation
from .model import PositionObservation, Reset, ResetKind

__all__ = ["PositionLimits", "judge_position"]


NAMED = 3
"""Partitions that a sentence names."""


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
        case ResetKind.BEYOND | ResetKind.JUMPED:
            return _beyond(
                resets, source, target, commits=commits, missing=missing
            )
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


def _jumped(resets: Sequence[Reset], target: str) -> str:
    number = sum(reset.gone for reset in resets)
    return (
        f"{counted(number, 'record')} of {resets[0].topic} "
        f"{agree(number, 'are')} missing at {target}: the mirror's position "
        "had expired, and it resumed at the log end (auto.offset.reset is "
        "latest). To copy what the source still holds, set its committed "
        "offset back to the log start"
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
    target: str,
    *,
    commits: bool,
    missing: int | None,
) -> str:
    first = resets[0]
    if first.kind is ResetKind.JUMPED:
        return _jumped(resets, target)
    place = f"{first.topic}[{first.partition}]"
    if first.settled is None:
        passed = [r for r in resets if (r.log_end or 0) >= (r.end or 0)]
        if passed:
            return (
                f"Log of {first.topic} at {source} was truncated below "
                "MirrorMaker's position and has grown past it. If "
                "MirrorMaker resumes there, "
                f"{_unread(passed, 'are never copied')}, {_where(passed)}. "
                f"{_begin_anew(commits=commits)}"
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
            "written before: its position does not show that, see skips"
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
    gone = sum(reset.gone for reset in resets)
    lost = (
        f". Of the old topic, up to {counted(gone, 'record')} seen by the "
        f"last survey {agree(gone, 'were not copied')}"
        if gone
        else ". Whether all records of the old topic were copied is not "
        "known: mirrorwatch had not seen its end"
        if any(reset.unseen for reset in resets)
        else ""
    )
    fewer = first.away and first.end is None
    if fewer or all(r.end is None and not r.summed for r in resets):
        how = (
            "with fewer partitions"
            if fewer
            else "before MirrorMaker had a position in it"
        )
        return f"{made} {how}{lost}"
    if first.settled is not None and first.harmless:
        return (
            f"{made} and at {target}, and MirrorMaker restarted from the "
            f"beginning{lost}"
            if all(reset.now for reset in resets)
            else f"{made}, and MirrorMaker restarted from the beginning; the "
            f"target may also hold the old records{lost}"
        )
    if first.settled is not None:
        return f"{made}, and {_uncopied(resets, target)}{lost}"
    if _is_empty(first):
        return (
            f"{made} and is empty: MirrorMaker keeps its old position, "
            f"{first.end}, until it copies the first record{lost}"
        )
    passed = [r for r in resets if (r.log_end or 0) >= (r.end or 0)]
    if passed:
        return (
            f"{made} and has grown past MirrorMaker's old position. If "
            f"MirrorMaker resumes there, {_records(passed)} of the new topic "
            f"{agree(_count(passed), 'are never copied')}, {_where(passed)}. "
            f"{_begin_anew(commits=commits)}{lost}"
        )
    return (
        f"{made} and is shorter than MirrorMaker's old position, "
        f"{first.end}. MirrorMaker restarts from the beginning only if it "
        "fetches before the topic grows past that position. "
        f"{_begin_anew(commits=commits)}{lost}"
    )


def _uncopied(resets: Sequence[Reset], target: str) -> str:
    """Return what MirrorMaker left out of a recreated topic."""
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
    """Return whether a new topic holds nothing yet."""
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

SHOWN = 10
"""Resets that a verdict shows, of each kind and topic one sentence: anyone who
reads that many looks for one cause."""


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
        yield CheckFinding(Health.UNKNOWN, "Positions have not been read yet")
        return
    if now - seen.at > STALE:
        yield CheckFinding(
            Health.UNKNOWN,
            f"Positions were last read {seconds(now - seen.at)} ago",
        )
    yield from islice(_resets(seen, limits, now, skips), SHOWN)
    for problem in seen.problems:
        yield CheckFinding(Health.UNKNOWN, problem)
    if not seen.partitions:
        yield CheckFinding(
            Health.UNKNOWN,
            "No position of MirrorMaker is known yet. Check that it has "
            "copied records",
        )
    if lag is not None and lag.hidden:
        yield CheckFinding(Health.UNKNOWN, lag.hidden)
    yield CheckFinding(
        Health.OK,
        f"Positions of {every(seen.partitions, 'partition')} are continuous",
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
    """Yield what happened, by kind and topic, the worst and newest first."""
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
    for _, resets in ordered:
        resets.sort(key=lambda r: bool(r.summed))  # the first is named
        yield CheckFinding(
            health_of(resets[0]),
            _of_ends(resets, seen.source, seen.target)
            if seen.keeps_offsets and resets[0].kind in OF_ENDS
            else reason_of(
                resets,
                seen.source,
                seen.target,
                moves=moves,
                commits=limits.commits,
                missing=sum(proved[r.number] for r in resets)
                if resets[0].number in proved
                else None,
            ),
        )


def _evidence(seen: PositionObservation) -> Evidence:
    return {
        "partitions": seen.partitions,
        "resets": sum(seen.counts.values()),
        "open_resets": sum(
            r.settled is None and not r.away for r in seen.resets
        ),
    }
