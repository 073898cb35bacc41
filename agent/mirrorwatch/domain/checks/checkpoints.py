"""The check ``checkpoints``: where groups would go on at the target."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from ..checkpoints import CheckpointsObservation
from ..verdicts import Evidence, Health, Verdict
from ..words import agree, counted
from .finding import Finding, conclude, seconds

__all__ = ["judge_checkpoints"]

STALE = timedelta(minutes=5)
"""Oldest look at the groups that is still believed: there is one each 20 s,
and each of a hundred groups may take a while to answer."""

SHOWN = 20
"""Stale checkpoints that the evidence names."""


def judge_checkpoints(
    flow: str, seen: CheckpointsObservation | None, now: datetime
) -> Verdict:
    """Judge the checkpoints of a flow's mirror.

    Parameters
    ----------
    flow
        Name of the flow.
    seen
        Checkpoints of groups that move.
    now
        The time.
    """
    return conclude(
        _find(seen, now),
        flow=flow,
        check="checkpoints",
        now=now,
        evidence={} if seen is None else _evidence(seen),
    )


def _find(
    seen: CheckpointsObservation | None, now: datetime
) -> Iterator[Finding]:
    if seen is None:
        yield Finding(
            Health.UNKNOWN, "The checkpoints have not been looked at yet"
        )
        return
    if seen.absent is not None:
        yield Finding(Health.OFF, seen.absent)
        return
    if now - seen.at > STALE:
        yield Finding(
            Health.UNKNOWN,
            f"The consumer groups were last asked for {seconds(now - seen.at)}"
            " ago: the source does not answer, or the agent hangs",
        )
        return
    for problem in seen.problems:
        yield Finding(Health.UNKNOWN, problem)
    if seen.overdue:
        count = len(seen.overdue)
        oldest = min(seen.overdue, key=lambda found: found.since)
        yield Finding(
            Health.WARNING,
            f"{counted(count, 'checkpoint')} {agree(count, 'have been')} "
            f"stale for up to {seconds(now - oldest.since)}: {oldest}. After "
            "a failover that group would read again what it has read",
        )
    if seen.groups:
        more = (
            f"; {counted(seen.unasked, 'more group')} "
            + agree(seen.unasked, "are not looked at")
            if seen.unasked
            else ""
        )
        yield Finding(
            Health.OK,
            f"Checkpoints follow the {counted(seen.groups, 'group')} that "
            f"{agree(seen.groups, 'have any')}{more}",
        )
    elif not seen.problems:
        yield Finding(
            Health.OFF, "No consumer group of this flow has a checkpoint"
        )


def _evidence(seen: CheckpointsObservation) -> Evidence:
    found: dict[str, str | int | float | bool | None] = {"groups": seen.groups}
    if seen.unasked:
        found["groups_not_asked"] = seen.unasked
    if seen.interval is not None:
        found["interval_seconds"] = seen.interval.total_seconds()
    for number, overdue in enumerate(seen.overdue[:SHOWN], start=1):
        found[f"stale_{number}"] = str(overdue)
    return found
