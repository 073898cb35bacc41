"""The consumer group of a mirror: what stands for connectors and tasks."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..cluster_view import FlowView, TopicPartition
from ..report import (
    Evidence,
    Finding,
    Health,
    Subject,
    agree,
    counted,
    seconds,
)

__all__ = [
    "GroupMemory",
    "GroupTasks",
    "SplitLoop",
    "SplitLoopDetector",
    "find_group",
    "show_group",
]


USUAL_COMMITS = 3
"""Commit intervals for which all positions must stand while the target grows:
a rebalance takes one."""

STANDS = timedelta(minutes=USUAL_COMMITS)
"""So many of the usual ones, a minute each (``offset.commit.interval.ms``),
where the mirror does not commit less often."""

COPIED_AGAIN = 100
"""Records by which the target must have grown meanwhile: a mirror that is
about to commit has copied a few, too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SplitLoop:
    """A mirror that copies on and commits nothing."""

    since: datetime
    """When any position moved last."""

    partitions: int
    written: int


class SplitLoopDetector:
    """Finds a mirror whose positions stand while the target grows.

    Parameters
    ----------
    merged
        Returns of a source topic whether others write to its target topic as
        well: what it grows by is not of this mirror.

    Notes
    -----
    MirrorMaker 1 splits a batch with a record that is too large, and sends
    it again without end (KAFKA-8350). Then its flush never ends, so it
    commits no partition, and copies all others.
    """

    def __init__(
        self, merged: Callable[[str], bool] = lambda _: False
    ) -> None:
        self._merged = merged
        self._positions: Mapping[TopicPartition, int | None] = {}
        self._since: datetime | None = None
        self._written: dict[TopicPartition, int] = {}
        """Ends at the target since then, each where it was first known: one
        without a leader has not grown when it has one again."""

        self._ids: frozenset[str] = frozenset()

    def take(
        self, view: FlowView, cadence: timedelta | None = None
    ) -> SplitLoop | None:
        """Learn from a survey; return the loop, if there is one.

        Parameters
        ----------
        view
            What was seen.
        cadence
            How often the mirror commits, if that is known.
        """
        if view.source is None or view.target is None or not view.caught_up:
            self._since = None
            return None
        seen = {k: p for k, p in view.partitions.items() if p is not None}
        positions = {k: f.position for k, f in view.committed.items()}
        ids = frozenset(p.target_id for p in seen.values() if p.target_id)
        written = {
            key: p.target_end
            for key, p in seen.items()
            if p.target_end is not None and not self._merged(key[0])
        }
        waiting = sum(
            p.committed is not None
            and p.committed.position is not None
            and p.committed.position < p.source_end
            for p in seen.values()
        )
        if (
            self._since is None
            or positions != self._positions
            or ids != self._ids
            or not waiting
        ):
            self._positions, self._ids = positions, ids
            self._since, self._written = view.at, written
            return None
        grown = sum(
            max(0, end - self._written.setdefault(key, end))
            for key, end in written.items()
        )
        stands = max(STANDS, USUAL_COMMITS * (cadence or timedelta()))
        if view.at - self._since < stands or grown < COPIED_AGAIN:
            return None
        return SplitLoop(since=self._since, partitions=waiting, written=grown)


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupMemory:
    """What is kept of a mirror's group over restarts of the agent."""

    had_members: bool = False
    """Whether it ever had members: then it does not run without any."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupTasks:
    """The consumer group with which a mirror reads its source."""

    name: str
    cluster: str
    title: str
    state: str
    since: datetime
    members: tuple[str, ...]
    always_members: bool
    had_members: bool
    rebalances: int = 0
    """How often its members changed within the last hour."""

    expired: int = 0
    """Committed offsets that are gone, as a group without members loses
    them (``offsets.retention.minutes``); the last known ones are used."""

    loop: SplitLoop | None = None
    """That it copies the same records again and again, if it does."""

    @property
    def shown(self) -> str:
        """Its name and cluster."""
        return f"Consumer group {self.name} at {self.cluster}"


USUAL_REBALANCES = 12
"""In an hour: a mirror rebalances for each new topic, and looks for topics
every five minutes (``metadata.max.age.ms``)."""


def find_group(
    group: GroupTasks, grace: timedelta, now: datetime
) -> Iterator[Finding]:
    """Find what is wrong with a mirror's consumer group.

    Parameters
    ----------
    group
        The group.
    grace
        How long it may have no members, or rebalance.
    now
        The time.
    """
    lasted = now - group.since
    # Without members it copies nothing: others write to the target.
    copies = bool(group.members) or not group.always_members
    if group.loop is not None and copies:
        yield _loop(group.loop, group, now)
    if group.rebalances > USUAL_REBALANCES:
        yield Finding(
            "tasks.flapping",
            Health.WARNING,
            f"{group.shown} is flapping: its members changed "
            f"{counted(group.rebalances, 'time')} in the last hour",
            subject=_subject(group),
            numbers={"rebalances": group.rebalances},
        )
    if group.members and group.state == "stable":
        count = len(group.members)
        yield Finding(
            "tasks.ok",
            Health.OK,
            f"{group.shown} is stable with {counted(count, 'member')}",
            subject=_subject(group),
            numbers={"members": count},
        )
    elif group.state in {"empty", "dead"}:
        yield _empty(group, grace, lasted)
    elif lasted >= grace:
        yield Finding(
            "tasks.rebalancing",
            Health.WARNING,
            f"{group.shown} has been rebalancing for {seconds(lasted)} "
            f"({group.state}): nothing is copied meanwhile. Check "
            f"{group.title}'s log",
            subject=_subject(group),
            numbers={"seconds": lasted.total_seconds()},
        )
    else:
        yield Finding(
            "tasks.ok",
            Health.OK,
            f"{group.shown} is rebalancing",
            subject=_subject(group),
            numbers={"members": len(group.members)},
        )


def _subject(group: GroupTasks) -> Subject:
    return {"group": group.name, "cluster": group.cluster}


def _empty(group: GroupTasks, grace: timedelta, lasted: timedelta) -> Finding:
    if not group.always_members and not group.had_members:
        return Finding(
            "tasks.off",
            Health.OFF,
            f"{group.shown} has no members: {group.title} assigns partitions "
            "to itself, or does not run. Tasks cannot be verified; lag shows "
            "whether records are copied",
            subject=_subject(group),
        )
    health = Health.CRITICAL
    reason = (
        f"{group.shown} has had no members for {seconds(lasted)}: "
        f"{group.title} does not run, or hangs. Start it again; its positions "
        "expire offsets.retention.minutes after the last member left"
    )
    if lasted < grace:
        health = Health.UNKNOWN
        reason = f"{group.shown} has no members at the moment"
    elif group.state == "dead" and not group.had_members:
        health = Health.UNKNOWN
        reason = (
            f"{group.shown} does not exist. Check that {group.title} runs, "
            "and mirror.group"
        )
    return Finding(
        "tasks.no-members",
        health,
        reason,
        subject=_subject(group),
        numbers={"seconds": lasted.total_seconds()},
    )


def _loop(loop: SplitLoop, group: GroupTasks, now: datetime) -> Finding:
    return Finding(
        "tasks.uncommitted",
        Health.CRITICAL,
        f"{group.title} commits no position: all have stood for "
        f"{seconds(now - loop.since)} while the target grew by "
        f"{counted(loop.written, 'record')} and records of "
        f"{counted(loop.partitions, 'partition')} "
        f"{agree(loop.partitions, 'wait')}. It copies them again after a "
        "restart. Look for a batch that is too large for the target "
        "(batch-split-total of its producer, max.message.bytes)",
        subject=_subject(group),
        numbers={
            "seconds": (now - loop.since).total_seconds(),
            "written_records": loop.written,
            "partitions": loop.partitions,
        },
    )


def show_group(group: GroupTasks) -> Evidence:
    """Return the evidence of a verdict on a mirror's consumer group."""
    found: dict[str, str | int | float | bool | None] = {
        "read_from": group.shown,
        "state": group.state,
        "members": len(group.members),
        "rebalances": group.rebalances,
        "expired_offsets": group.expired,
    }
    for number, member in enumerate(group.members[:_SHOWN], start=1):
        found[f"member_{number}"] = member
    return found


_SHOWN = 40
