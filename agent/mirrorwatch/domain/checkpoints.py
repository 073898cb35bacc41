"""Facts about the checkpoints of consumer groups."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from . import checkpoints_texts as texts
from .finding import Finding, Health
from .report import Evidence, Verdict, conclude

__all__ = [
    "STALE",
    "CheckpointTracker",
    "CheckpointsObservation",
    "CheckpointsState",
    "DueCheckpoint",
    "GroupOffsets",
    "GroupPartition",
    "StaleCheckpoint",
    "judge_checkpoints",
]


SLACK = 8
"""Times that a group is behind the newest sync, by which its checkpoint may
stay behind the group: the worst that the invariants of ``OffsetSyncStore``
allow since Kafka 3.5."""

GroupPartition = tuple[str, str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupOffsets:
    """Consumer offsets of one group on one partition, at one moment."""

    place: GroupPartition
    """Which group, where."""

    committed: int
    checkpoint: int
    sync: int | None
    """Source offset of the partition's newest sync."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StaleCheckpoint:
    """A group that went on, and whose checkpoint did not."""

    place: GroupPartition
    """Which group, where."""

    committed: int
    checkpoint: int
    since: datetime

    def __str__(self) -> str:
        group, topic, partition = self.place
        return (
            f"group {group} on {topic}[{partition}] is at offset "
            f"{self.committed}, its checkpoint at {self.checkpoint}"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckpointsObservation:
    """Checkpoints of one flow."""

    flow: str
    at: datetime
    interval: timedelta | None = None
    """Interval at which the mirror emits checkpoints; `None` if it emits
    none."""

    groups: int = 0
    unasked: int = 0
    """More groups with checkpoints, which were not asked for."""

    denied: int = 0
    """More groups with checkpoints, which mirrorwatch may not describe."""

    overdue: tuple[StaleCheckpoint, ...] = ()
    missing_since: datetime | None = None
    """Since when the checkpoints topic has been missing, though the mirror is
    configured to emit checkpoints; `None` if it is there, or not for long."""

    absent: str | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class DueCheckpoint:
    """A checkpoint that should not be a group's newest any more."""

    place: GroupPartition
    """Which group, where."""

    checkpoint: int
    since: datetime
    committed: int
    """Consumer offset of the group at that time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckpointsState:
    """State of due checkpoints that is kept over restarts of the agent."""

    due: tuple[DueCheckpoint, ...] = ()
    missing_since: datetime | None = None


KEPT_AFTER = timedelta(minutes=2)
"""Time for which a checkpoint is due before it is persisted: with the next
emissions, once a minute, most have come."""


class CheckpointTracker:
    """Returns which checkpoints are due.

    Notes
    -----
    An idle group emits none, and one that moves between two syncs emits none
    either: its translation does not change. But once a group has passed the
    newest sync, and that lies beyond its checkpoint, the next round of the
    checkpoint task must emit one. The task thins out the syncs it remembers,
    so that of a group behind the newest one the translation is only about as
    fine as the group is behind (`SLACK`). A group that has rested since may
    wait for a sync that the task forgot when it was started again, so only
    moving ones count.

    Parameters
    ----------
    due
        Due checkpoints remembered from before a restart.
    """

    def __init__(self, due: Iterable[DueCheckpoint] = ()) -> None:
        self._due = {each.place: each for each in due}

    def look(
        self,
        readings: Iterable[GroupOffsets],
        patience: timedelta,
        now: datetime,
    ) -> tuple[StaleCheckpoint, ...]:
        """Return what is due for longer than one is patient."""
        before, self._due = self._due, {}
        return tuple(self._judge(readings, before, patience, now))

    def due(self, now: datetime) -> tuple[DueCheckpoint, ...]:
        """Return what is due for so long that it must outlive the agent."""
        return tuple(
            due
            for _, due in sorted(self._due.items())
            if now - due.since >= KEPT_AFTER
        )

    def pass_over(self, gap: timedelta) -> None:
        """Count a time in which no checkpoint could come as none."""
        self._due = {
            place: replace(due, since=due.since + gap)
            for place, due in self._due.items()
        }

    def _judge(
        self,
        readings: Iterable[GroupOffsets],
        before: Mapping[GroupPartition, DueCheckpoint],
        patience: timedelta,
        now: datetime,
    ) -> Iterator[StaleCheckpoint]:
        for found in readings:
            if _translated(found) <= found.checkpoint:
                continue
            due = before.get(found.place)
            if due is None or due.checkpoint != found.checkpoint:
                due = DueCheckpoint(
                    place=found.place,
                    checkpoint=found.checkpoint,
                    since=now,
                    committed=found.committed,
                )
            self._due[found.place] = due
            if now - due.since > patience and found.committed > due.committed:
                yield StaleCheckpoint(
                    place=found.place,
                    committed=found.committed,
                    checkpoint=found.checkpoint,
                    since=due.since,
                )


def _translated(found: GroupOffsets) -> int:
    if found.sync is None:
        return found.checkpoint
    if found.sync <= found.committed:
        return found.sync
    return found.committed - SLACK * (found.sync - found.committed)


STALE = timedelta(minutes=5)
"""Oldest look at the groups that is still believed: there is one each 20 s,
and each of a hundred groups may take a while to answer."""

SHOWN = 20


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
        yield texts.NO_DATA.found(Health.UNKNOWN)
        return
    if seen.absent is not None:
        yield texts.OFF.found(Health.OFF, problem=seen.absent)
        return
    age = now - seen.at
    if age > STALE:
        yield texts.STALE.found(Health.UNKNOWN, seconds=age.total_seconds())
        return
    for problem in seen.problems:
        yield texts.UNREADABLE.found(Health.UNKNOWN, problem=problem)
    if seen.missing_since is not None:
        yield texts.TOPIC_MISSING.found(
            Health.WARNING, seconds=(now - seen.missing_since).total_seconds()
        )
        return
    if seen.overdue:
        oldest = min(seen.overdue, key=lambda found: found.since)
        group, topic, partition = oldest.place
        yield texts.OVERDUE.found(
            Health.WARNING,
            {"group": group, "topic": topic, "partition": partition},
            checkpoints=len(seen.overdue),
            offset=oldest.committed,
            checkpoint_offset=oldest.checkpoint,
            seconds=(now - oldest.since).total_seconds(),
        )
    if seen.groups:
        yield texts.OK.found(
            Health.OK,
            groups=seen.groups,
            groups_not_checked=seen.unasked,
            groups_denied=seen.denied,
        )
    elif not seen.problems:
        yield texts.OFF.found(Health.OFF, problem=NO_GROUPS)


NO_GROUPS = "No consumer group of this flow has a checkpoint"


def _evidence(seen: CheckpointsObservation) -> Evidence:
    found: dict[str, str | int | float | bool | None] = {"groups": seen.groups}
    if seen.unasked:
        found["groups_not_asked"] = seen.unasked
    if seen.denied:
        found["groups_denied"] = seen.denied
    if seen.interval is not None:
        found["interval_seconds"] = seen.interval.total_seconds()
    for number, overdue in enumerate(seen.overdue[:SHOWN], start=1):
        found[f"stale_{number}"] = str(overdue)
    return found
