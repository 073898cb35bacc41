"""The check ``heartbeats``: MirrorMaker 2's own signs of life."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..heartbeats import HeartbeatsObservation
from ..verdicts import Evidence, Health, Verdict
from .finding import Finding, conclude, seconds

__all__ = ["HeartbeatsLimits", "judge_heartbeats"]

MISSED = 10
"""Intervals without a heartbeat that are too many, whatever the limit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HeartbeatsLimits:
    """Limits of the check. The configuration gives their reasons."""

    stale: timedelta = timedelta(minutes=1)
    """Longest time between two heartbeats, or from one to its copy."""


def judge_heartbeats(
    flow: str,
    seen: HeartbeatsObservation | None,
    limits: HeartbeatsLimits,
    now: datetime,
) -> Verdict:
    """Judge the heartbeats of a flow's mirror.

    Parameters
    ----------
    flow
        Name of the flow.
    seen
        Those that were read.
    limits
        Limits of the check.
    now
        The time.
    """
    return conclude(
        _find(seen, limits, now),
        flow=flow,
        check="heartbeats",
        now=now,
        evidence={} if seen is None else _evidence(seen, now),
    )


def _find(
    seen: HeartbeatsObservation | None,
    limits: HeartbeatsLimits,
    now: datetime,
) -> Iterator[Finding]:
    if seen is None:
        yield Finding(
            Health.UNKNOWN, "The heartbeats have not been looked at yet"
        )
        return
    for problem in seen.problems:
        yield Finding(Health.UNKNOWN, problem)
    yield from _judge_worker(seen, limits, now)
    for pair in seen.carried:
        late = pair.source.beat_at - pair.target.beat_at
        waits = now - pair.source.seen_at <= limits.stale
        if waits and late > limits.stale:
            yield Finding(
                Health.WARNING,
                f"Heartbeats of {pair.pair[0]}->{pair.pair[1]} that wait at "
                f"the source are copied {seconds(late)} late: the mirror is "
                "behind on their topic, or does not copy it any more",
            )
    if seen.carried:
        yield Finding(Health.OK, "Heartbeats are made and copied in time")
    elif seen.interval is not None:
        yield Finding(
            Health.OK,
            "Heartbeats are made in time; none come from the source, so they "
            "prove that a worker lives, and not that it copies",
        )
    elif not seen.problems:
        yield Finding(
            Health.OFF,
            "There are no heartbeats: the mirror has no heartbeat connector, "
            "or emits none, and none come from the source",
        )


def _judge_worker(
    seen: HeartbeatsObservation, limits: HeartbeatsLimits, now: datetime
) -> Iterator[Finding]:
    if seen.interval is None or seen.problems:
        return
    since = seen.worker.seen_at if seen.worker else seen.expected_since
    patience = max(limits.stale, MISSED * seen.interval)
    if since is not None and now - since > patience:
        yield Finding(
            Health.WARNING,
            f"The mirror has written no heartbeat for {seconds(now - since)}, "
            f"and should write one every {seconds(seen.interval)}: is its "
            "worker up, and its heartbeat connector running?",
        )


def _evidence(seen: HeartbeatsObservation, now: datetime) -> Evidence:
    found: dict[str, str | int | float | bool | None] = {}
    if seen.worker is not None:
        age = (now - seen.worker.seen_at).total_seconds()
        found["worker_heartbeat_age_seconds"] = round(age, 1)
    for pair in seen.carried:
        late = (pair.source.beat_at - pair.target.beat_at).total_seconds()
        name = f"{pair.pair[0]}->{pair.pair[1]}"
        found[f"{name}_copied_late_seconds"] = round(late, 1)
    return found
