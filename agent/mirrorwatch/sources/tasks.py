"""Tasks of a mirror, as the tick observes them; it never blocks."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..domain.cluster_view import FlowView, TopicPartition
from ..domain.heartbeats import HeartbeatTracker
from ..domain.mirror_records import ConnectorSettings, TaskState
from ..domain.tasks.model import (
    MirrorTask,
    Role,
    Stopped,
    TaskHistory,
    TasksObservation,
    find_cause,
    fold,
)
from ..threads import Latest
from .heartbeats import newest_heartbeats
from .mirror_state import MirrorState

__all__ = [
    "ConnectAnswer",
    "TaskFacts",
    "TasksSource",
    "TasksState",
    "UnassignedPartitions",
]


TaskKey = tuple[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class ConnectAnswer:
    """Last answer of Connect's REST API, or its error."""

    at: datetime | None
    """Time of the request that was last answered; `None` if none was."""

    problem: str | None = None
    """Error since then, if there was one."""

    version: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TasksState:
    """Facts that the workers found about one flow's tasks; each value has one
    writer.
    """

    stopped: Latest[Mapping[TaskKey, Stopped]] = field(
        default_factory=lambda: Latest({})
    )
    unassigned: Latest[frozenset[TopicPartition]] = field(
        default_factory=lambda: Latest(frozenset())
    )
    answer: Latest[ConnectAnswer | None] = field(
        default_factory=lambda: Latest(None)
    )


FRESH = timedelta(seconds=30)
"""Oldest answer of Connect's REST API that is still believed: it is asked
every five seconds, and may need ten to answer while it rebalances."""

NOWHERE = (
    "Task states of the mirror are not available. Set mirror.topics.status "
    "to the worker's status.storage.topic, or mirror.connect.url to its "
    "REST API"
)

STILL_READING = "The mirror's status and configs topics are still being read"

NOT_ANSWERED = "Connect's REST API has not answered for 30 s or more"

NOT_ASKED = "Connect's REST API has not been read yet"


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownTasks:
    """Known states of all connectors and tasks."""

    states: tuple[TaskState, ...] = ()
    origin: str = ""
    """Source of the states, in words."""

    absent: str | None = None
    problems: tuple[str, ...] = ()


class TaskFacts:
    """Chooses between the status topic and Connect's REST API.

    Parameters
    ----------
    positions
        State of the mirror's internal topics.
    state
        State with the last answer of Connect's REST API.
    status
        Name of the status topic, `None` if it is not known.
    cluster
        Alias of the cluster that holds it.
    has_rest
        The REST API is configured.

    Notes
    -----
    The topic rules: it has every state in order, while the API's worker may
    lag behind, and answers only while a worker is up.
    """

    def __init__(
        self,
        *,
        positions: MirrorState,
        state: TasksState,
        status: str | None,
        cluster: str,
        has_rest: bool,
    ) -> None:
        self._positions = positions
        self._state = state
        self._status = status
        self._cluster = cluster
        self._has_rest = has_rest

    def read(self, now: datetime) -> KnownTasks:
        """Return what is known now."""
        topic = self._positions.optional.get("status")
        problems = self._rest_problems(now)
        if self._status is not None and topic.readable:
            if self._positions.behind(now):
                return KnownTasks(problems=(STILL_READING,))
            return KnownTasks(
                states=self._positions.tasks(),
                origin=f"topic {self._status} at {self._cluster}",
                problems=problems,
            )
        if self._has_rest:
            if problems:
                said = () if topic.problem is None else (topic.problem,)
                return KnownTasks(problems=(*problems, *said))
            return KnownTasks(
                states=self._positions.tasks(), origin="Connect's REST API"
            )
        if self._status is None or topic.absent:
            return KnownTasks(
                absent=NOWHERE
                if self._status is None
                else f"The mirror's status topic {self._status} does not "
                f"exist at {self._cluster}, so its task states are "
                "not available"
            )
        return KnownTasks(problems=(topic.problem or STILL_READING,))

    def _rest_problems(self, now: datetime) -> tuple[str, ...]:
        if not self._has_rest:
            return ()
        answer = self._state.answer.get()
        if answer is None:
            return (NOT_ASKED,)
        # A worker that starts again, or rebalances, says nothing for a while.
        if answer.at is not None and now - answer.at <= FRESH:
            return ()
        return (answer.problem or NOT_ANSWERED,)


WINDOW = timedelta(hours=1)
"""In which starts, failures and rebalances are counted: long enough for
restarts with growing pauses, short enough to be over within a shift."""


ALIVE = timedelta(minutes=2)
"""Longest age of a worker's last sign of life: Connect finds a lost one after
ten seconds, and a dedicated mirror starts its tasks within a minute."""


class TasksSource:
    """Reports the connectors and tasks of one flow's mirror.

    Parameters
    ----------
    flow
        Name of the flow.
    positions
        State of the mirror's internal topics.
    facts
        Returns the states of tasks.
    state
        State of the tasks, as found by the workers.
    stood
        Returns how long positions have stood while records waited, if that
        is longer than usual.
    aliases
        The mirror's aliases of source and target.
    """

    def __init__(
        self,
        *,
        flow: str,
        positions: MirrorState,
        facts: TaskFacts,
        state: TasksState,
        stood: Callable[[datetime], timedelta | None] = lambda _: None,
        aliases: tuple[str, str] = ("", ""),
    ) -> None:
        self.name = f"tasks {flow}"
        self._stood = stood
        self._aliases = aliases
        self._beats = HeartbeatTracker()
        self.up = False
        self._flow = flow
        self._positions = positions
        self._facts = facts
        self._state = state

    def observe(self, now: datetime) -> Sequence[TasksObservation]:
        known = self._facts.read(now)
        self.up = not known.problems
        history = fold(self._positions.task_history(), now - WINDOW)
        connectors = self._positions.connectors()
        answer = self._state.answer.get()
        return [
            TasksObservation(
                flow=self._flow,
                at=now,
                origin=known.origin,
                tasks=tuple(
                    sorted(
                        self._name(known.states, history),
                        key=lambda t: (
                            t.connector,
                            -1 if t.number is None else t.number,
                        ),
                    )
                ),
                stopped=tuple(self._state.stopped.get().values()),
                unassigned=self._state.unassigned.get(),
                rebalances=history.rebalances,
                window=WINDOW,
                refresh=min((c.refresh for c in connectors), default=None),
                version=answer.version if answer else None,
                unproved=self._unproved(known, now),
                absent=known.absent,
                problems=known.problems,
            )
        ]

    def _unproved(self, known: KnownTasks, now: datetime) -> timedelta | None:
        """Return how long nothing has proved that the states are of today.

        Notes
        -----
        Who is killed writes no state. A worker that beats, or answers, would
        have written that another one is lost; so does one that began to run
        a task since positions stand.
        """
        self._beats.note(newest_heartbeats(self._positions), now)
        stood = self._stood(now)
        if stood is None:
            return None
        answer = self._state.answer.get()
        signs = [
            self._beats.newest(self._aliases),
            answer.at if answer else None,
            *(state.written_at for state in known.states),
        ]
        alive = any(at is not None and now - at <= ALIVE for at in signs)
        return None if alive else stood

    def _name(
        self, states: Sequence[TaskState], history: TaskHistory
    ) -> Iterator[MirrorTask]:
        roles = self._roles()
        found = set()
        for state in states:
            number, key = state.task, (state.connector, state.task)
            if state.state is None:
                continue
            found.add(key)
            yield MirrorTask(
                connector=state.connector,
                role=roles.get(state.connector, "neighbour"),
                number=number,
                state=state.state,
                since=state.written_at,
                worker=state.worker,
                cause=find_cause(state.trace),
                starts=history.starts.get(key, 0),
                failures=history.failures.get(key, 0),
            )
        if not states:
            return
        for given in self._positions.assignments():
            # No worker has begun to run it.
            if (given.connector, given.task) not in found:
                yield MirrorTask(
                    connector=given.connector,
                    role="source",
                    number=given.task,
                    state="UNASSIGNED",
                    since=given.written_at,
                )

    def _roles(self) -> Mapping[str, Role]:
        roles: dict[str, Role] = {
            found.name: found.role
            for found in self._positions.companions()
            if found.role != "removed"
        }
        for connector in self._positions.connectors():
            roles[connector.name] = "source"
        return roles


LOOKS = 2
"""Refresh intervals after which a partition should have been found: one may
just have been missed."""


class UnassignedPartitions:
    """Learns from each survey which partitions belong to no task.

    Parameters
    ----------
    positions
        State of the mirror's internal topics.
    state
        State that receives the partitions that have been unassigned for too
        long.
    """

    def __init__(self, positions: MirrorState, state: TasksState) -> None:
        self._positions = positions
        self._state = state
        self._missed_since: dict[TopicPartition, datetime] = {}

    def take(self, view: FlowView) -> None:
        connectors = self._positions.connectors()
        assignments = self._positions.assignments()
        if view.source is None or not view.caught_up:
            return
        if not connectors or not assignments:
            # Then the tasks themselves are missing.
            self._missed_since.clear()
            self._state.unassigned.set(frozenset())
            return
        settings = ConnectorSettings.of(connectors)
        given = frozenset().union(*(a.partitions for a in assignments))
        # Nearly all are given, so the patterns are asked about few.
        self._missed_since = {
            partition: self._missed_since.get(partition, view.at)
            for partition in view.partitions
            if partition not in given and settings.wants(partition[0])
        }
        patience = LOOKS * max(c.refresh for c in connectors)
        self._state.unassigned.set(
            frozenset(
                partition
                for partition, since in self._missed_since.items()
                if view.at - since > patience
            )
        )
