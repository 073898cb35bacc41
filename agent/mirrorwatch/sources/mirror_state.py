"""Latest state of a mirror's internal topics.

One thread reads them, and keeps it for the others.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from threading import Lock

from confluent_kafka import OFFSET_BEGINNING, Message
from structlog.typing import FilteringBoundLogger

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
    as_read_by,
)
from ..exceptions import SourceError
from ..kafka.admin import Cluster, Topic
from ..kafka.errors import TIMEOUT, denial
from ..kafka.reader import (
    OffsetConsumer,
    PartitionEnd,
    ReadFailure,
    written_at,
)
from ..ports import InternalTopic, Mirror
from ..state.database import UNDECODABLE

__all__ = ["PAUSED", "MirrorState", "Route", "TailWorker"]


@dataclass(frozen=True, kw_only=True, slots=True)
class OptionalTopic:
    """Reading state of one internal topic that a mirror need not have."""

    absent: bool = False
    """The topic is known not to exist."""

    problem: str | None = None
    """Error that keeps the topic from being read."""

    unread: int | None = None
    """Partitions not yet read to their end; `None` before the first look."""

    again: bool = False
    """The topic is being read again to its end, as nobody read it for a
    while."""

    @property
    def readable(self) -> bool:
        """The topic has been read to its end."""
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
            self._found[kind] = replace(
                found, unread=unread, again=found.again and unread > 0
            )

    def read_again(self, kind: str) -> None:
        """Note that what is known of a topic is old until it is read again."""
        with self._lock:
            if (found := self._found.get(kind)) is not None:
                self._found[kind] = replace(found, again=True)


HISTORY = 2000
"""States of tasks that are kept: hours of a mirror that restarts all the
time. As many of its neighbours, which may be thousands of tasks."""


class MirrorState:
    """The newest fact of each kind of one flow.

    Written by the tails, read by everyone; no method waits for I/O, and each
    returns a copy.
    """

    def __init__(self) -> None:
        self.optional = OptionalTopics()
        self._lock = Lock()
        # By connector: one that was renamed leaves its offsets behind.
        self._committed: dict[str, dict[tuple[str, int], Committed]] = {}
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
        self._of_neighbours: deque[TaskState] = deque(maxlen=HISTORY)
        self._heartbeats: dict[tuple[str, str, str], Heartbeat] = {}
        self._checkpoints: dict[tuple[str, str, int], Checkpoint] = {}
        self._problems: dict[str, str] = {}
        self._catching_up: dict[str, int] = {}
        self._due: dict[str, datetime] = {}
        self._version: tuple[int, ...] | None = None

    def note(self, fact: MirrorFact) -> None:
        """Take a fact that was read from an internal topic."""
        with self._lock:
            match fact:
                case Committed():
                    own = self._committed.setdefault(fact.connector, {})
                    self._cadence.see(own.get(fact.key), fact)
                    own[fact.key] = fact
                case Sync():
                    self._syncs[fact.topic, fact.partition] = fact
                    if self._new_syncs is not None:
                        self._new_syncs.append(fact)
                case TaskState():
                    self._tasks[fact.connector, fact.task] = fact
                    found = self._companions.get(fact.connector)
                    if found is not None and found.role == "neighbour":
                        self._of_neighbours.append(fact)
                    else:
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
                partition: fact
                for (name, partition), fact in self._choose_committed().items()
                if name == topic
            }

    def all_committed(self) -> Mapping[tuple[str, int], Committed]:
        """Return the committed offset of every source partition."""
        with self._lock:
            return self._choose_committed()

    def committed_by(
        self, connector: str
    ) -> Mapping[tuple[str, int], Committed]:
        """Return the offsets that one connector committed."""
        with self._lock:
            return dict(self._committed.get(connector, {}))

    def _choose_committed(self) -> dict[tuple[str, int], Committed]:
        """Return of each source partition the offset that counts.

        Notes
        -----
        Connect keeps the offsets of a connector that was deleted, and so of
        one that was renamed, and partitions of its topic are read in no
        order. So of several connectors one that is there counts, then one
        whose offset was not deleted, then the newest.
        """
        if len(self._committed) == 1:
            return dict(*self._committed.values())
        found: dict[tuple[str, int], Committed] = {}
        for facts in self._committed.values():
            for key, fact in facts.items():
                other = found.get(key)
                if other is None or self._rank(other) < self._rank(fact):
                    found[key] = fact
        return found

    def _rank(self, fact: Committed) -> tuple[bool, bool, datetime]:
        return (
            fact.connector in self._connectors,
            fact.position is not None,
            fact.written_at,
        )

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

    def run_by(self, version: tuple[int, ...]) -> None:
        """Note which version of Kafka runs the mirror, once it is known: the
        configs topic does not say.
        """
        with self._lock:
            self._version = version

    def connectors(self) -> tuple[Connector, ...]:
        """Return the mirror's source connectors."""
        with self._lock:
            return tuple(
                as_read_by(self._version, found)
                for found in self._connectors.values()
            )

    def configs_problems(self) -> tuple[str, ...]:
        """Return what keeps it from being known which connectors there are:
        nothing once one was seen.
        """
        with self._lock:
            if self._connectors or self._companions:
                return ()
            return tuple(self._problems.values())

    def emits_syncs(self) -> bool:
        """Return whether any connector writes syncs; yes if not known."""
        with self._lock:
            connectors = self._connectors.values()
            return not connectors or any(c.emits_syncs for c in connectors)

    def companions(self) -> tuple[Companion, ...]:
        """Return the connectors beside these that are still there."""
        with self._lock:
            return tuple(
                as_read_by(self._version, found)
                for found in self._companions.values()
                if found.role != "removed"
            )

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
        """Return the state of each connector and task that it has now:
        Connect leaves states of tasks behind that are no more.
        """
        with self._lock:
            return tuple(
                found
                for found in self._tasks.values()
                if found.task is None
                or found.task
                < self._counts.get(found.connector, found.task + 1)
            )

    def task_history(self) -> tuple[TaskState, ...]:
        """Return the last states that were written: of each task, in the
        topic's order.
        """
        with self._lock:
            return (*self._task_history, *self._of_neighbours)

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
                self._cadence.interrupt()

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

    def expect(self, reader: str, due: datetime) -> None:
        """Note by when a reader of internal topics goes on at the latest."""
        with self._lock:
            self._due[reader] = due

    def is_late(self, now: datetime) -> bool:
        """Return whether a reader of internal topics should have gone on.

        The process got no time, so what is known is as old as that.
        """
        with self._lock:
            return any(due < now for due in self._due.values())

    def behind(self, now: datetime) -> int:
        """Return the partitions of internal topics not yet read to their end.

        Until it is 0, a fact that is missing may only be unread. Readers that
        should have gone on count as one each.
        """
        with self._lock:
            late = sum(due < now for due in self._due.values())
            return sum(self._catching_up.values()) + late


LOOK_AGAIN = timedelta(seconds=10)
"""Interval between checks that the topics exist and were not recreated: a
mirror makes them when it starts, which may be after the agent."""

BATCH = 500
"""Records taken at once, to catch up quickly with a busy syncs topic."""

POLL = 1.0
"""Seconds to wait for records; positions are minutes old by nature."""

FETCH = 0.5
"""Seconds that a fetch without records waits at the broker. A topic's end is
known after one in vain: heartbeats and commits that come once a second would
keep it from ever being known if it waited as long."""

PAUSED = timedelta(seconds=10)
"""Margin over a step's longest duration beyond which the process was paused:
it was frozen, or its machine was. A busy one is late by less."""


@dataclass(frozen=True, slots=True)
class Route:
    """Receiver of the records of one internal topic."""

    topic: InternalTopic
    mirror: Mirror
    positions: MirrorState
    """State that receives the decoded facts."""


class TailWorker:
    """Reads internal topics from their start and keeps up with them.

    Parameters
    ----------
    cluster
        Cluster that holds the topics.
    properties
        librdkafka properties of that cluster.
    routes
        Topics to follow, and for whom; several flows may share one.
    clock
        Gives the time.
    logger
        Logger of records that cannot be read, once a topic.

    Notes
    -----
    Positions are read committed: an exactly-once mirror writes them in the
    transaction of the records that they speak of. All topics are compacted,
    so reading them from the start costs little and gives every position.
    """

    interval = timedelta()

    def __init__(
        self,
        *,
        cluster: Cluster,
        properties: Mapping[str, str],
        routes: Iterable[Route],
        clock: Callable[[], datetime],
        logger: FilteringBoundLogger,
    ) -> None:
        self.name = f"tail {cluster.alias}"
        self.undecodable = 0
        self._cluster = cluster
        self._routes: dict[str, list[Route]] = {}
        for route in routes:
            self._routes.setdefault(route.topic.name, []).append(route)
        self._clock = clock
        self._logger = logger.bind(cluster=cluster.alias)
        self._consumer = OffsetConsumer(
            properties,
            cluster=cluster.alias,
            read_committed=True,
            own={"fetch.wait.max.ms": round(1000 * FETCH)},
        )
        self._following: dict[str, tuple[str, set[int]]] = {}
        self._next: dict[str, tuple[str, dict[int, int]]] = {}
        self._unread: dict[str, set[int]] = {}
        self._look_at: datetime | None = None
        self._due: datetime | None = None
        self._complained: set[str] = set()
        self._missed: set[str] = set()
        for name in self._routes:
            # Until it was looked for, it is not known to have been read.
            self._note_unread(name, {-1})

    def step(self) -> None:
        now = self._go_on(POLL)
        if self._look_at is None or now >= self._look_at:
            self._look_at = now + LOOK_AGAIN
            self._look()
        events = self._consumer.follow(BATCH, POLL)
        if not self._following:
            # Nothing to follow yet; the poll is only a pause.
            next(events, None)
            return
        for event in events:
            if isinstance(event, PartitionEnd):
                name = event.topic
                unread = self._unread.get(name, set()) - {event.partition}
                self._note_unread(name, unread)
            elif isinstance(event, ReadFailure):
                # One without a topic concerns the connection: all of them.
                for name in [event.topic] if event.topic else self._routes:
                    problem = self._consumer.to_error(event.error, name)
                    self._fail(name, str(problem))
            else:
                self._take(event)

    def close(self) -> None:
        self._consumer.close()

    def _go_on(self, seconds: float) -> datetime:
        """Say by when the next step is due, and return the time.

        After a time in which nobody could read, all is old until each topic
        was read to its end once more.
        """
        now = self._clock()
        if self._due is not None and now > self._due:
            for name in self._following:
                self._read_again(name)
        self._due = now + timedelta(seconds=seconds) + PAUSED
        for routes in self._routes.values():
            for route in routes:
                route.positions.expect(self.name, self._due)
        return now

    def _read_again(self, name: str) -> None:
        """Read on in a topic as if anew, so that its end is seen again."""
        id_, partitions = self._following[name]
        self._consumer.drop((name, p) for p in partitions)
        _, known = self._next.get(name, (id_, {}))
        self._consumer.add(
            {(name, p): known.get(p, OFFSET_BEGINNING) for p in partitions}
        )
        for route in self._routes[name]:
            if route.topic.optional:
                route.positions.optional.read_again(route.topic.kind)
        self._note_unread(name, set(partitions))

    def _look(self) -> None:
        for name, routes in self._routes.items():
            self._go_on(TIMEOUT)
            try:
                found = self._cluster.describe_topic(name, right="READ")
            except SourceError as e:
                self._fail(name, str(e))
                continue
            if found is None and name in self._following.keys() - self._missed:
                # A broker that has just started may not know it yet: the
                # next look decides.
                self._missed.add(name)
                continue
            self._missed.discard(name)
            if found is None:
                self._miss(routes)
            elif found.lacks("READ"):
                right = f"READ on topic {name}"
                self._fail(name, denial(right, self._cluster.alias))
            elif found.allowed is not None or name not in self._following:
                # A grant shows here, even where no record comes after it.
                self._fail(name, None)
            self._follow(name, found)
        self._go_on(POLL)

    def _miss(self, routes: Iterable[Route]) -> None:
        for route in routes:
            topic = route.topic
            if topic.optional:
                route.positions.optional.miss(topic.kind)
                continue
            if topic.kind == "syncs" and not route.positions.emits_syncs():
                route.positions.fail(topic.name, None)
                continue
            route.positions.fail(
                topic.name,
                f"The mirror's {topic.kind} topic {topic.name} does not "
                f"exist at {self._cluster.alias}. Check that the mirror "
                "runs, and the aliases and topics under mirror",
            )

    def _fail(self, name: str, problem: str | None) -> None:
        for route in self._routes[name]:
            if route.topic.optional:
                route.positions.optional.fail(route.topic.kind, problem)
            else:
                route.positions.fail(name, problem)

    def _follow(self, name: str, found: Topic | None) -> None:
        """Read what is new of a topic from its start, let go of the rest."""
        old_id, old = self._following.get(name, (None, set[int]()))
        if found is not None and found.id == old_id:
            new = set(found.leaders) - old
        else:
            self._consumer.drop((name, p) for p in old)
            old = set()
            new = set(found.leaders) if found is not None else set[int]()
        self._consumer.add(
            {(name, p): self._next_of(name, found, p) for p in new}
        )
        for route in self._routes[name]:
            home = None if found is None else found.id
            route.positions.move(route.topic.kind, home)
        if found is None:
            self._following.pop(name, None)
            self._note_unread(name, set())
        else:
            self._following[name] = (found.id, old | new)
            unread = self._unread.get(name, set()) & old
            self._note_unread(name, unread | new)

    def _next_of(self, name: str, found: Topic | None, partition: int) -> int:
        """Return where to read on in a topic that was not seen for a while;
        the start of another one.
        """
        id_ = "" if found is None else found.id
        if self._next.get(name, ("", {}))[0] != id_:
            self._next[name] = (id_, {})
        return self._next[name][1].get(partition, OFFSET_BEGINNING)

    def _note_unread(self, name: str, partitions: set[int]) -> None:
        self._unread[name] = partitions
        for route in self._routes[name]:
            if route.topic.optional:
                optional = route.positions.optional
                optional.catch_up(route.topic.kind, len(partitions))
            else:
                route.positions.catch_up(name, len(partitions))

    def _take(self, message: Message) -> None:
        name = message.topic() or ""
        self._fail(name, None)
        partition, offset = message.partition(), message.offset()
        if partition is not None and offset is not None:
            self._next[name][1][partition] = offset + 1
        now = self._clock()
        at = written_at(message) or now
        error: Exception | None = None
        for route in self._routes[name]:
            try:
                fact = route.mirror.decode(
                    route.topic.kind,
                    message.key(),
                    message.value(),
                    min(at, now),
                )
            except UNDECODABLE as e:
                # Other flows may know what it is, or need not know it.
                error = e
                continue
            if fact is not None:
                route.positions.note(fact)
        if error is not None:
            self._complain(message, error)

    def _complain(self, message: Message, error: Exception) -> None:
        self.undecodable += 1
        name = message.topic() or ""
        if name in self._complained:
            return
        self._complained.add(name)
        self._logger.warning(
            "Record of the mirror cannot be read",
            topic=name,
            partition=message.partition(),
            offset=message.offset(),
            error=str(error),
        )
