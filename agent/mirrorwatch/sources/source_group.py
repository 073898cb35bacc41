"""Reads the consumer group in which a mirror keeps its positions."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from ..domain.cluster_view import ClusterView, FlowView
from ..domain.finding import duration
from ..domain.mirror_traits import MirrorTraits
from ..domain.tasks.group import (
    GroupMemory,
    GroupTasks,
    SplitLoop,
    SplitLoopDetector,
)
from ..domain.tasks.model import TasksObservation
from ..exceptions import SourceError
from ..kafka.admin import Cluster
from ..kafka.errors import TIMEOUT
from ..kafka.groups import SourceGroup, read_source_group
from ..state.documents import DocumentStore
from ..threads import Latest
from .mirror_state import PAUSED, MirrorState
from .read_positions import ReadPositions

__all__ = ["SourceGroupWorker"]


WINDOW = timedelta(hours=1)


class SourceGroupWorker:
    """Reads positions, state and members of a mirror's consumer group.

    Parameters
    ----------
    flow
        Name of the flow.
    group
        Name of the group.
    traits
        Traits of the kind of mirror.
    source
        The source, which holds the group.
    positions
        State that receives the positions.
    interval
        Polling interval.
    clock
        Gives the time.
    memory
        Store of the state that must survive a restart of the agent.
    merged
        Returns of a source topic whether other flows write to its target
        topic as well.

    Notes
    -----
    A group without members loses the offsets that are older than
    ``offsets.retention.minutes``, and where consumers assign partitions to
    themselves that happens while the mirror runs. So an offset that is gone
    was deleted only where the group has members; else the last known one
    stands until there is another.
    """

    def __init__(
        self,
        *,
        flow: str,
        group: str,
        traits: MirrorTraits,
        source: Cluster,
        positions: MirrorState,
        interval: timedelta,
        clock: Callable[[], datetime],
        memory: DocumentStore[GroupMemory],
        merged: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self.name = f"mirror group {flow}"
        self.interval = interval
        self.up = False
        self._flow = flow
        self._group = group
        self._traits = traits
        self._source = source
        self._positions = positions
        self._clock = clock
        self._memory = memory
        self._had_members = memory.load().had_members
        self._detector = SplitLoopDetector(merged)
        self._loop: Latest[SplitLoop | None] = Latest(None)
        self._seen: Latest[GroupTasks | None] = Latest(None)
        self._read_at: Latest[datetime | None] = Latest(None)
        self._view: Latest[ClusterView | None] = Latest(None)
        self._problem: Latest[str | None] = Latest(None)
        self._changes: deque[datetime] = deque(maxlen=1000)
        self._read = ReadPositions(positions)
        self._longest = timedelta(seconds=2 * TIMEOUT) + interval + PAUSED
        # Until it was read, no position is known.
        self._positions.catch_up(group, 1)

    def step(self) -> None:
        """Read the group once.

        Raises
        ------
        SourceError
            Raised if it cannot be read.
        StateError
            Raised if what must be kept cannot be; it is with the next step.
        """
        at = self._clock()
        try:
            found = read_source_group(self._source, self._group)
        except SourceError as e:
            self.up = False
            self._problem.set(str(e))
            self._positions.fail(self._group, str(e))
            raise
        gone = self._read.note(
            found.offsets,
            at,
            deletes=bool(found.members),
            is_there=self._is_there,
        )
        self._seen.set(self._to_tasks(found, gone, at))
        self._read_at.set(at)
        self._positions.fail(self._group, None)
        self._problem.set(None)
        self._positions.catch_up(self._group, 0)
        self._positions.expect(self.name, self._clock() + self._longest)
        self.up = True
        if found.members and not self._had_members:
            self._memory.save(GroupMemory(had_members=True))
            self._had_members = True

    def close(self) -> None:
        """Do nothing: the cluster's connections end with the process."""

    def take(self, view: FlowView) -> None:
        """Learn from a survey whether the target grows without commits, and
        which topics there are.
        """
        self._loop.set(self._detector.take(view, self._positions.cadence()))
        if view.source is not None:
            self._view.set(view.source)

    def observe(self, now: datetime) -> Sequence[TasksObservation]:
        """Return what the last reading said."""
        seen, problem = self._seen.get(), self._problem.get()
        read_at = self._read_at.get()
        if seen is None or read_at is None:
            return [
                TasksObservation(
                    flow=self._flow,
                    at=now,
                    problems=(
                        problem
                        or f"Consumer group {self._group} at "
                        f"{self._source.alias} has not been read yet",
                    ),
                )
            ]
        age = now - read_at
        if problem is None and age > 2 * self._longest:
            problem = (
                f"{seen.shown} was last read "
                f"{duration(age.total_seconds())} ago: mirrorwatch hangs"
            )
        if problem is not None:
            # For how long it went on since is not known.
            seen = replace(seen, since=seen.since + age)
        return [
            TasksObservation(
                flow=self._flow,
                at=now,
                origin=seen.shown,
                group=replace(seen, loop=self._loop.get()),
                window=WINDOW,
                rebalances=seen.rebalances,
                problems=() if problem is None else (problem,),
            )
        ]

    def _is_there(self, topic: str, since: datetime) -> bool:
        """Return whether a topic was listed since a time: Kafka leaves out
        the offsets of those that the agent may not describe.
        """
        view = self._view.get()
        return view is not None and view.at >= since and topic in view.topics

    def _to_tasks(
        self, found: SourceGroup, gone: int, at: datetime
    ) -> GroupTasks:
        before = self._seen.get()
        members = tuple(
            f"{client} on {host}" for client, host in found.members
        )
        changed = before is None or before.state != found.state
        if before is not None and before.members != members:
            self._changes.append(at)
        while self._changes and at - self._changes[0] > WINDOW:
            self._changes.popleft()
        return GroupTasks(
            name=self._group,
            cluster=self._source.alias,
            state=found.state,
            since=at if before is None or changed else before.since,
            members=members,
            always_members=self._traits.always_members,
            had_members=bool(members) or self._had_members,
            rebalances=len(self._changes),
            expired=gone,
        )
