"""The check ``position``: whether the mirror lost its place."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from ..resets import PositionObservation, Reset
from ..verdicts import Evidence, Health, Verdict
from ..words import every
from .finding import Finding, conclude, seconds
from .position_reasons import health_of, reason_of

__all__ = ["PositionLimits", "judge_position"]

STALE = timedelta(minutes=2)
"""The survey asks every tick and waits seconds for each answer; older than
this, it hangs."""

SHOWN = 10
"""Resets that a verdict tells, of each kind and topic one sentence: whoever
reads that many looks for one cause."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PositionLimits:
    """Limits of the check. The configuration gives their reasons."""

    lost_window: timedelta = timedelta(hours=1)
    """How long a reset that lost records keeps the verdict critical."""

    rewind_window: timedelta = timedelta(minutes=10)
    """How long one that only repeats them keeps it at warning."""


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
) -> Iterator[Finding]:
    if seen is None:
        yield Finding(Health.UNKNOWN, "No position was looked at yet")
        return
    if now - seen.at > STALE:
        yield Finding(
            Health.UNKNOWN,
            f"Positions were last looked at {seconds(now - seen.at)} ago",
        )
    yield from islice(_resets(seen, limits, now), SHOWN)
    for problem in seen.problems:
        yield Finding(Health.UNKNOWN, problem)
    if not seen.partitions:
        yield Finding(
            Health.UNKNOWN,
            "No position of the mirror is known yet: has it copied anything?",
        )
    yield Finding(
        Health.OK,
        "The mirror kept its place in " + every(seen.partitions, "partition"),
    )


def _resets(
    seen: PositionObservation, limits: PositionLimits, now: datetime
) -> Iterator[Finding]:
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
        yield Finding(
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
