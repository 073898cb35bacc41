"""What the mirror's internal topics said last, kept for other threads."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from threading import Lock

from ..domain.mirror_records import (
    Assignment,
    Checkpoint,
    CommitCadence,
    Committed,
    Companion,
    Connector,
    Heartbeat,
    MirrorFact,
    Sync,
    TaskCount,
    TaskState,
)

__all__ = ["MirrorState"]


@dataclass(frozen=True, kw_only=True, slots=True)
class OptionalTopic:
    """How one topic is doing that a mirror need not have."""

    absent: bool = False
    """Whether it is known not to be there."""

    problem: str | None = None
    """What keeps it from being read, if anything does."""

    unread: int | None = None
    """Partitions not yet read to their end; `None` before the first look."""

    @property
    def readable(self) -> bool:
        """Whether all that it says is known."""
        return self.problem is None and not self.absent and self.unread == 0


class OptionalTopics:
    """Written by the tails, read by everyone; no method waits for I/O."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._found: dict[str, OptionalTopic] = {}

    def get(self, kind: str) -> OptionalTopic:
        """Return what is known of a topic, by its kind."""
        with self._lock:
            return self._found.get(kind, OptionalTopic())

    def miss(self, kind: str) -> None:
        """Note that a topic is not there."""
        with self._lock:
            self._found[kind] = OptionalTopic(absent=True)

    def fail(self, kind: str, problem: str | None) -> None:
        """Note why a topic cannot be read; `None` if it can."""
        with self._lock:
            found = self._found.get(kind, OptionalTopic())
            self._found[kind] = replace(found, absent=False, problem=problem)

    def catch_up(self, kind: str, unread: int) -> None:
        """Note how many partitions are not yet read to their end."""
        with self._lock:
            found = self._found.get(kind, OptionalTopic())
            self._found[kind] = replace(found, unread=unread)


HISTORY = 2000
"""States of tasks that are kept: hours of a mirror that restarts all the
time."""


class MirrorState:
    """The newest fact of each kind of one flow.

    Written by the tails, read by everyone; no method waits for I/O, and each
    returns a copy.
    """

    def __init__(self) -> None:
        self.optional = OptionalTopics()
        self._lock = Lock()
        self._committed: dict[tuple[str, int], Committed] = {}
        self._cadence = CommitCadence()
        self._syncs: dict[tuple[str, int], Sync] = {}
        self._homes: dict[str, str | None] = {}
        self._ids: dict[str, str] = {}
        self._new_syncs: list[Sync] | None = None
        self._connectors: dict[str, Connector] = {}
        self._companions: dict[str, Companion] = {}
        self._counts: dict[str, int] = {}
        self._assignments: dict[tuple[str, int], Assignment] = {}
        self._tasks: dict[tuple[str, int | None], TaskState] = {}
        self._task_history: deque[TaskState] = deque(maxlen=HISTORY)
        self._heartbeats: dict[tuple[str, str, str], Heartbeat] = {}
        self._checkpoints: dict[tuple[str, str, int], Checkpoint] = {}
        self._problems: dict[str, str] = {}
        self._catching_up: dict[str, int] = {}

    def note(self, fact: MirrorFact) -> None:
        """Take a fact that was read from an internal topic."""
        with self._lock:
            match fact:
                case Committed():
                    self._cadence.see(self._committed.get(fact.key), fact)
                    self._committed[fact.key] = fact
                case Sync():
                    self._syncs[fact.topic, fact.partition] = fact
                    if self._new_syncs is not None:
                        self._new_syncs.append(fact)
                case TaskState():
                    self._tasks[fact.connector, fact.task] = fact
                    self._task_history.append(fact)
                case Heartbeat():
                    pair = (fact.place, fact.source, fact.target)
                    self._heartbeats[pair] = fact
                case Checkpoint():
                    key = (fact.group, fact.topic, fact.partition)
                    self._checkpoints[key] = fact
                case _:
                    self._configure(fact)

    def _configure(
        self, fact: Connector | Companion | TaskCount | Assignment
    ) -> None:
        match fact:
            case Connector():
                self._connectors[fact.name] = fact
                self._companions.pop(fact.name, None)
            case Companion():
                self._connectors.pop(fact.name, None)
                self._companions[fact.name] = fact
            case TaskCount():
                self._counts[fact.connector] = fact.tasks
            case Assignment():
                self._assignments[fact.connector, fact.task] = fact

    def committed(self, topic: str) -> Mapping[int, Committed]:
        """Return the committed offsets of a source topic, by partition."""
        with self._lock:
            return {
                fact.partition: fact
                for fact in self._committed.values()
                if fact.topic == topic
            }

    def all_committed(self) -> Mapping[tuple[str, int], Committed]:
        """Return the committed offset of every source partition."""
        with self._lock:
            return dict(self._committed)

    def cadence(self) -> timedelta | None:
        """Return how often positions are committed, as far as that shows."""
        with self._lock:
            return self._cadence.interval()

    def syncs(self, topic: str) -> Mapping[int, Sync]:
        """Return the newest syncs of a source topic, by partition."""
        with self._lock:
            return {
                fact.partition: fact
                for fact in self._syncs.values()
                if fact.topic == topic
            }

    def all_syncs(self) -> Mapping[tuple[str, int], Sync]:
        """Return the newest sync of every source partition."""
        with self._lock:
            return dict(self._syncs)

    def keep_every_sync(self) -> None:
        """Keep every sync from now on until it is taken, for one reader."""
        with self._lock:
            self._new_syncs = []

    def take_syncs(self) -> tuple[Sync, ...]:
        """Return every sync since the last call, in the topic's order."""
        with self._lock:
            found = tuple(self._new_syncs or ())
            if found:
                self._new_syncs = []
            return found

    def move(self, kind: str, topic_id: str | None) -> None:
        """Note which topic holds a kind of fact, by its id; `None` if it is
        not seen. What another one said is forgotten.
        """
        with self._lock:
            before = self._ids.get(kind)
            self._homes[kind] = topic_id
            if topic_id is None or before == topic_id:
                return
            self._ids[kind] = topic_id
            if before is None:
                return
            if kind == "offsets":
                self._committed.clear()
            elif kind == "syncs":
                self._syncs.clear()

    def homes(self) -> Mapping[str, str | None]:
        """Return the ids of the internal topics that were looked for, by
        kind; `None` for one that is not there.
        """
        with self._lock:
            return dict(self._homes)

    def connectors(self) -> tuple[Connector, ...]:
        """Return the mirror's source connectors."""
        with self._lock:
            return tuple(self._connectors.values())

    def emits_syncs(self) -> bool:
        """Return whether any connector writes syncs; yes if not known."""
        with self._lock:
            connectors = self._connectors.values()
            return not connectors or any(c.emits_syncs for c in connectors)

    def companions(self) -> tuple[Companion, ...]:
        """Return the connectors beside these that are still there."""
        with self._lock:
            return tuple(
                found
                for found in self._companions.values()
                if found.role != "removed"
            )

    def task_counts(self) -> Mapping[str, int]:
        """Return how many tasks each connector has."""
        with self._lock:
            return dict(self._counts)

    def assignments(self) -> tuple[Assignment, ...]:
        """Return what each task of the mirror was given.

        Notes
        -----
        Connect leaves behind what tasks had that are no more, also those of
        connectors that were removed, and of these in the end nothing else.
        """
        with self._lock:
            return tuple(
                found
                for found in self._assignments.values()
                if found.task
                < self._counts.get(found.connector, found.task + 1)
                and found.connector not in self._companions
                and (
                    not self._connectors or found.connector in self._connectors
                )
            )

    def assigned_topics(self) -> frozenset[str]:
        """Return the topics that tasks of the mirror were given."""
        return frozenset(
            topic
            for found in self.assignments()
            for topic, _ in found.partitions
        )

    def tasks(self) -> tuple[TaskState, ...]:
        """Return the state of each connector and task."""
        with self._lock:
            return tuple(self._tasks.values())

    def task_history(self) -> tuple[TaskState, ...]:
        """Return the last states that were written, in the topic's order."""
        with self._lock:
            return tuple(self._task_history)

    def heartbeats(self) -> tuple[Heartbeat, ...]:
        """Return the newest heartbeat of each pair."""
        with self._lock:
            return tuple(self._heartbeats.values())

    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """Return the newest checkpoint of each group and partition."""
        with self._lock:
            return tuple(self._checkpoints.values())

    def fail(self, topic: str, problem: str | None) -> None:
        """Note why an internal topic cannot be read; `None` if it can."""
        with self._lock:
            if problem is None:
                self._problems.pop(topic, None)
            else:
                self._problems[topic] = problem

    def problems(self) -> tuple[str, ...]:
        """Return what keeps internal topics from being read."""
        with self._lock:
            return tuple(self._problems.values())

    def catch_up(self, topic: str, partitions: int) -> None:
        """Note how many partitions of an internal topic, once there, are not
        yet read to their end.
        """
        with self._lock:
            self._catching_up[topic] = partitions

    def behind(self) -> int:
        """Return the partitions of internal topics not yet read to their end.

        Until it is 0, a fact that is missing may only be unread.
        """
        with self._lock:
            return sum(self._catching_up.values())
