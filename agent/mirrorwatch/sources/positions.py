"""What the mirror's internal topics said last, kept for other threads."""

from collections import deque
from collections.abc import Mapping
from threading import Lock

from ..domain.positions import (
    Assignment,
    Checkpoint,
    Committed,
    Connector,
    Heartbeat,
    MirrorFact,
    Sync,
    TaskState,
)

__all__ = ["Positions"]


class Positions:
    """The newest fact of each kind of one flow.

    Written by the tails, read by everyone; no method waits for I/O, and each
    returns a copy.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._committed: dict[tuple[str, int], Committed] = {}
        self._syncs: dict[tuple[str, int], Sync] = {}
        self._unbooked: deque[Sync] | None = None
        self._connectors: dict[str, Connector] = {}
        self._assignments: dict[tuple[str, int], Assignment] = {}
        self._tasks: dict[tuple[str, int | None], TaskState] = {}
        self._heartbeats: dict[tuple[str, str], Heartbeat] = {}
        self._checkpoints: dict[tuple[str, str, int], Checkpoint] = {}
        self._problems: dict[str, str] = {}
        self._catching_up: dict[str, int] = {}

    def note(self, fact: MirrorFact) -> None:
        """Take a fact that was read from an internal topic."""
        with self._lock:
            match fact:
                case Committed():
                    self._committed[fact.topic, fact.partition] = fact
                case Sync():
                    self._syncs[fact.topic, fact.partition] = fact
                    if self._unbooked is not None:
                        self._unbooked.append(fact)
                case Connector():
                    self._connectors[fact.name] = fact
                case Assignment():
                    self._assignments[fact.connector, fact.task] = fact
                case TaskState():
                    self._tasks[fact.connector, fact.task] = fact
                case Heartbeat():
                    self._heartbeats[fact.source, fact.target] = fact
                case Checkpoint():
                    key = (fact.group, fact.topic, fact.partition)
                    self._checkpoints[key] = fact

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
            self._unbooked = deque()

    def take_syncs(self) -> tuple[Sync, ...]:
        """Return every sync since the last call, in the topic's order."""
        with self._lock:
            found = tuple(self._unbooked or ())
            if self._unbooked is not None:
                self._unbooked.clear()
            return found

    def connectors(self) -> tuple[Connector, ...]:
        """Return the mirror's source connectors."""
        with self._lock:
            return tuple(self._connectors.values())

    def assignments(self) -> tuple[Assignment, ...]:
        """Return what each task of the mirror was given."""
        with self._lock:
            return tuple(self._assignments.values())

    def tasks(self) -> tuple[TaskState, ...]:
        """Return the state of each connector and task."""
        with self._lock:
            return tuple(self._tasks.values())

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
