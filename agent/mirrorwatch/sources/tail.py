"""Follows a mirror's internal topics on one cluster."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from confluent_kafka import OFFSET_BEGINNING, Message
from structlog.typing import FilteringBoundLogger

from ..exceptions import SourceError
from ..kafka.admin import Cluster, Topic
from ..kafka.errors import denial
from ..kafka.reader import (
    OffsetConsumer,
    PartitionEnd,
    ReadFailure,
    written_at,
)
from ..ports import InternalTopic, Mirror
from ..state.database import UNDECODABLE
from .mirror_state import MirrorState

__all__ = ["Route", "TailWorker"]

LOOK_AGAIN = timedelta(seconds=10)
"""How often to look whether the topics exist and are the same: a mirror makes
them when it starts, which may be after the agent."""

BATCH = 500
"""Records taken at once, to catch up quickly with a busy syncs topic."""

POLL = 1.0
"""Seconds to wait for records; positions are minutes old by nature."""


@dataclass(frozen=True, slots=True)
class Route:
    """Who wants to know what an internal topic says."""

    topic: InternalTopic
    """The topic."""

    mirror: Mirror
    """Knows what its records mean."""

    positions: MirrorState
    """Where facts go."""


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
        Where records that cannot be read are logged, once a topic.

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
            properties, cluster=cluster.alias, read_committed=True
        )
        self._following: dict[str, tuple[str, set[int]]] = {}
        self._next: dict[str, tuple[str, dict[int, int]]] = {}
        self._unread: dict[str, set[int]] = {}
        self._look_at: datetime | None = None
        self._complained: set[str] = set()
        for name in self._routes:
            # Until it was looked for, it is not known to have been read.
            self._note_unread(name, {-1})

    def step(self) -> None:
        now = self._clock()
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

    def _look(self) -> None:
        for name, routes in self._routes.items():
            try:
                found = self._cluster.topic(name, right="READ")
            except SourceError as e:
                self._fail(name, str(e))
                continue
            if found is None:
                self._miss(routes)
            elif found.lacks("READ"):
                right = f"READ on topic {name}"
                self._fail(name, denial(right, self._cluster.alias))
            elif found.allowed is not None or name not in self._following:
                # A grant shows here, even where no record comes after it.
                self._fail(name, None)
            self._follow(name, found)

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
                f"MirrorMaker's {topic.kind} topic {topic.name} does not "
                f"exist at {self._cluster.alias}. Check that MirrorMaker "
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
        for route in self._routes[name]:
            try:
                fact = route.mirror.decode(
                    route.topic.kind,
                    message.key(),
                    message.value(),
                    min(at, now),
                )
            except UNDECODABLE as e:
                self._complain(message, e)
                return
            if fact is not None:
                route.positions.note(fact)

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
