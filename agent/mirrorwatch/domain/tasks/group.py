"""The consumer group of a mirror: what stands for connectors and tasks."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..cluster_view import FlowView, TopicPartition
from ..finding import Finding, Health, Subject
from ..report import Evidence
from . import texts

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
    """Time at which any position last moved."""

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
            Snapshot of the flow in this survey.
        cadence
            Commit interval of the mirror, if known.
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
    """State of a mirror's consumer group, kept over restarts of the agent."""

    had_members: bool = False
    """Group has had members before: then the mirror does not run without
    any."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupTasks:
    """The consumer group with which a mirror reads its source."""

    name: str
    cluster: str
    state: str
    since: datetime
    members: tuple[str, ...]
    always_members: bool
    had_members: bool
    rebalances: int = 0
    """Number of membership changes within the last hour."""

    expired: int = 0
    """Committed offsets that are gone, as a group without members loses
    them (``offsets.retention.minutes``); the last known ones are used."""

    loop: SplitLoop | None = None
    """Split loop, in which it copies the same records again and again; `None`
    without one."""

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
        Time for which the group may have no members, or rebalance.
    now
        The time.
    """
    lasted = (now - group.since).total_seconds()
    subject = {"group": group.name, "cluster": group.cluster}
    # Without members it copies nothing: others write to the target.
    copies = bool(group.members) or not group.always_members
    if group.loop is not None and copies:
        yield texts.UNCOMMITTED.found(
            Health.CRITICAL,
            subject,
            seconds=(now - group.loop.since).total_seconds(),
            written_records=group.loop.written,
            partitions=group.loop.partitions,
        )
    if group.rebalances > USUAL_REBALANCES:
        yield texts.FLAPPING.found(
            Health.WARNING,
            subject,
            rebalances=group.rebalances,
            window_seconds=3600,
        )
    brief = lasted < grace.total_seconds()
    if group.state in {"empty", "dead"}:
        yield _empty(group, subject, lasted, brief=brief)
    elif brief or (group.members and group.state == "stable"):
        yield texts.OK.found(Health.OK, subject, members=len(group.members))
    else:
        yield texts.REBALANCING.found(
            Health.WARNING, subject, seconds=lasted, state=group.state
        )


def _empty(
    group: GroupTasks, subject: Subject, lasted: float, *, brief: bool
) -> Finding:
    if not group.always_members and not group.had_members:
        return texts.OFF.found(Health.OFF, subject)
    gone = group.state == "dead" and not group.had_members
    return texts.NO_MEMBERS.found(
        Health.UNKNOWN if brief or gone else Health.CRITICAL,
        subject,
        seconds=lasted,
        state=group.state,
    )


def show_group(group: GroupTasks) -> Evidence:
    """Return the evidence of a verdict on a mirror's consumer group."""
    members = enumerate(group.members[:_SHOWN], start=1)
    return {
        "expired_offsets": group.expired,
        **{f"member_{number}": member for number, member in members},
    }


_SHOWN = 40
