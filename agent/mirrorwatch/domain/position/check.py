"""The check ``position``: whether the mirror lost its place."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice

from ..report import CheckFinding, Evidence, Health, Verdict, conclude, seconds
from ..wording import agree, counted, every
from .model import PositionObservation, Reset, ResetKind

__all__ = ["PositionLimits", "judge_position"]


NAMED = 3
"""Partitions that a sentence names."""


def health_of(reset: Reset) -> Health:
    """Return how bad a reset is."""
    if reset.harmless or reset.kind in {
        ResetKind.REWIND,
        ResetKind.SYNCS_GONE,
    }:
        return Health.WARNING
    if reset.kind is ResetKind.SOURCE_RECREATED and _is_empty(reset):
        return Health.WARNING
    return Health.CRITICAL


def reason_of(resets: Sequence[Reset], source: str, target: str) -> str:
    """Return one sentence about resets of one kind in one topic.

    Parameters
    ----------
    resets
        The resets, at least one, all of them open or none, all of one health.
    source
        Alias of the source.
    target
        Alias of the target.
    """
    first = resets[0]
    match first.kind:
        case ResetKind.EXPIRED:
            return _expired(resets, source, target)
        case ResetKind.BEYOND:
            return _beyond(resets, source)
        case ResetKind.REWIND:
            copies = "copies" if first.settled is None else "copied"
            return (
                f"The mirror went back and {copies} {_records(resets)} "
                f"again: {_where(resets)}. Nothing is lost by that, but "
                f"{target} may hold them twice"
            )
        case ResetKind.SOURCE_RECREATED:
            return _recreated(resets, source)
        case ResetKind.TARGET_RECREATED:
            gone = counted(first.gone, "offset")
            copies = f" ({gone})" if first.gone else ""
            return (
                f"{first.topic} was made again at {target}: what had been "
                f"copied of its {counted(first.places, 'partition')}{copies} "
                "is gone there, and the mirror goes on without copying it "
                "again; reset its committed offsets of the topic if it is "
                "needed"
            )
        case _:
            return _of_flow(first)


def _expired(resets: Sequence[Reset], source: str, target: str) -> str:
    what = f"{_records(resets)} expired at {source}"
    if resets[0].settled is None:
        return (
            f"{what} before the mirror copied them, and more will while it "
            f"stands: {_where(resets)}. Start it, or let the source keep "
            "its records longer, now"
        )
    if resets[0].away:
        return (
            f"{what} before the mirror copied them, and their topic is no "
            f"longer there to be copied: {_where(resets)}. They are lost for "
            f"{target}"
        )
    return (
        f"{what} before the mirror copied them, and it went on behind them: "
        f"{_where(resets)}. They are lost for {target}"
    )


def _beyond(resets: Sequence[Reset], source: str) -> str:
    first = resets[0]
    place = f"{first.topic}[{first.partition}]"
    if first.settled is None:
        passed = [r for r in resets if (r.log_end or 0) >= (r.end or 0)]
        if passed:
            return (
                f"The log of {first.topic} at {source} was cut below the "
                "mirror's position and has grown past it: if the mirror goes "
                f"on there, {_unread(passed, 'are never read')}, "
                f"{_where(passed)}. Delete its committed offsets of the topic "
                "before it goes on"
            )
        more = len(resets) - 1
        others = f" (and {more} more of its partitions)" if more else ""
        return (
            f"The mirror's position of {place}, {first.end}{others}, lies "
            f"beyond the end of the log at {source}, {first.log_end}: was it "
            "cut, or read from another cluster? What is written below the "
            "position is not read if the log passes it before the mirror "
            "begins anew"
        )
    if first.harmless:
        return (
            f"The log of {place} at {source} was cut below the mirror's "
            "position, and the mirror has begun anew; the target still "
            "holds what was cut off"
        )
    return (
        f"The log of {first.topic} at {source} was cut below the mirror's "
        "position, and the mirror went on there: "
        f"{_unread(resets, 'were never read')}, {_where(resets)}"
    )


def _recreated(resets: Sequence[Reset], source: str) -> str:
    first = resets[0]
    made = f"{first.topic} was made again at {source}"
    gone = sum(reset.gone for reset in resets)
    lost = (
        f". Of the old one, up to {counted(gone, 'record')} "
        + agree(gone, "were not yet copied")
        if gone
        else ""
    )
    if first.settled is not None and first.harmless:
        return (
            f"{made}, and the mirror has begun anew with its first record; "
            f"the target holds the old ones too{lost}"
        )
    if first.settled is not None:
        return (
            f"{made}, and the mirror went on at its old position: "
            f"{_records(resets)} of the new topic "
            f"{agree(_count(resets), 'were never read')}, "
            f"{_where(resets)}{lost}"
        )
    if _is_empty(first):
        return (
            f"{made}, and is empty: the mirror's position is still that in "
            f"the old topic, {first.end}, until the first record is copied"
            f"{lost}"
        )
    passed = [r for r in resets if (r.log_end or 0) >= (r.end or 0)]
    if passed:
        return (
            f"{made}, and has grown past the mirror's old position: if the "
            f"mirror goes on there, {_records(passed)} of the new topic "
            f"{agree(_count(passed), 'are never read')}, {_where(passed)}. "
            "Delete its committed "
            f"offsets of the topic before it goes on{lost}"
        )
    return (
        f"{made}, and is shorter than the mirror's old position, "
        f"{first.end}: the mirror begins anew only if it looks before the "
        "topic has grown past that; delete its committed offsets of the "
        f"topic before it goes on{lost}"
    )


def _of_flow(reset: Reset) -> str:
    begins = (
        "the mirror begins at the ends of all topics, and what was not yet "
        "copied is never read"
        if reset.from_end
        else "the mirror begins with everything that the source still holds, "
        "and copies it again"
    )
    match reset.kind:
        case ResetKind.OFFSETS_GONE if reset.settled is None:
            return (
                f"The mirror's offsets topic {reset.topic} is gone, and with "
                "it the positions of "
                f"{counted(reset.places, 'partition')}: {begins}"
            )
        case ResetKind.OFFSETS_GONE:
            return (
                f"The mirror's offsets topic {reset.topic} is not the one "
                "that it was, and the positions of "
                f"{counted(reset.places, 'partition')} are lost: {begins}"
            )
        case ResetKind.OFFSETS_DELETED:
            return (
                "Committed positions of "
                f"{counted(reset.places, 'partition')} were deleted, of "
                f"{reset.topic} among them: where no mirror reads on, {begins}"
            )
        case ResetKind.SYNCS_GONE:
            return (
                f"The mirror's offset-syncs topic {reset.topic} is not the "
                "one that it was: offsets of consumer groups are not "
                "translated until records are copied again"
            )
        case _:
            return (
                f"{reset.topic} answers with the cluster id {reset.now} and "
                f"not {reset.before}: does bootstrap.servers lead to the "
                f"right cluster? If another one has replaced it, set "
                f"clusters.{reset.topic}.cluster_id to the new id"
            )


def _is_empty(reset: Reset) -> bool:
    """Tell whether a new topic holds nothing yet."""
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
        for r in resets[:NAMED]
    ]
    more = len(resets) - NAMED
    return ", ".join(parts) + (f" and {more} more" if more > 0 else "")


STALE = timedelta(minutes=2)
"""The survey asks every tick and waits seconds for each answer; older than
this, it hangs."""

SHOWN = 10
"""Resets that a verdict tells, of each kind and topic one sentence: whoever
reads that many looks for one cause."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PositionLimits:
    """Limits of the check `position`."""

    lost_window: timedelta = field(
        default=timedelta(hours=1),
        metadata={"title": "Critical after a loss for", "gt": timedelta()},
    )
    """How long a reset that skipped records keeps the verdict critical after
    the mirror continued: as long as a lost probe does. The counter keeps it
    for good."""

    rewind_window: timedelta = field(
        default=timedelta(minutes=10),
        metadata={"title": "Warning after a rewind for", "gt": timedelta()},
    )
    """How long a reset that only duplicates records keeps it at warning:
    every crash of the mirror does that, and nothing is lost."""


def judge_position(
    flow: str,
    seen: PositionObservation | None,
    limits: PositionLimits,
    now: datetime,
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
    """
    return conclude(
        _find(seen, limits, now),
        flow=flow,
        check="position",
        now=now,
        evidence={} if seen is None else _evidence(seen),
    )


def _find(
    seen: PositionObservation | None, limits: PositionLimits, now: datetime
) -> Iterator[CheckFinding]:
    if seen is None:
        yield CheckFinding(Health.UNKNOWN, "No position was looked at yet")
        return
    if now - seen.at > STALE:
        yield CheckFinding(
            Health.UNKNOWN,
            f"Positions were last looked at {seconds(now - seen.at)} ago",
        )
    yield from islice(_resets(seen, limits, now), SHOWN)
    for problem in seen.problems:
        yield CheckFinding(Health.UNKNOWN, problem)
    if not seen.partitions:
        yield CheckFinding(
            Health.UNKNOWN,
            "No position of the mirror is known yet: has it copied anything?",
        )
    yield CheckFinding(
        Health.OK,
        "The mirror kept its place in " + every(seen.partitions, "partition"),
    )


def _resets(
    seen: PositionObservation, limits: PositionLimits, now: datetime
) -> Iterator[CheckFinding]:
    """Yield what happened, by kind and topic, the worst and newest first."""
    groups: dict[tuple[object, ...], list[Reset]] = {}
    for reset in seen.resets:
        if reset.away and reset.settled is None:
            continue  # nothing of it is there
        health = health_of(reset)
        window = (
            limits.lost_window
            if health is Health.CRITICAL
            else limits.rewind_window
        )
        if reset.settled is None or now - reset.settled <= window:
            key = (
                -health,
                reset.settled is not None,
                reset.away,
                reset.kind,
                reset.topic,
            )
            groups.setdefault(key, []).append(reset)
    ordered = sorted(
        groups.items(), key=lambda g: (*g[0][:2], -g[1][-1].number)
    )
    for _, resets in ordered:
        yield CheckFinding(
            health_of(resets[0]), reason_of(resets, seen.source, seen.target)
        )


def _evidence(seen: PositionObservation) -> Evidence:
    return {
        "partitions": seen.partitions,
        "resets": sum(seen.counts.values()),
        "open_resets": sum(
            r.settled is None and not r.away for r in seen.resets
        ),
    }
