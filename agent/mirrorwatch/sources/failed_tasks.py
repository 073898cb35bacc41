"""Finds out what a failed task stopped, and at what it failed."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from confluent_kafka import KafkaException, Message

from ..domain.cluster_view import TopicPartition
from ..domain.mirror_records import Assignment, Connector, TaskState
from ..domain.tasks.model import Stopped, Stuck, name_partitions
from ..domain.topics import Naming
from ..exceptions import SourceError
from ..kafka.admin import Cluster
from ..kafka.offsets import read_ends, read_starts
from ..kafka.reader import OffsetConsumer, PartitionEnd
from .mirror_state import MirrorState
from .tasks import TaskFacts, TasksState

__all__ = ["FailedTaskWorker"]


Limit = tuple[int, str]
"""Bytes, and whose limit it is."""

POLL = 0.5
"""Seconds of one step: the agent may be asked to stop in between."""

BATCH = 100
"""Records taken at once; they are large by nature."""

PATIENCE = timedelta(seconds=30)
"""Longest search: the records that wait may be many."""

BATCH_OVERHEAD = 61
"""Bytes of a record batch's header (``DefaultRecordBatch``)."""

RECORD_OVERHEAD = 7
"""Fewest bytes of a record beside key, value and headers."""


class RecordSearch:
    """Reads partitions from the mirror's positions on, a little at a time.

    Parameters
    ----------
    properties
        librdkafka properties of the source.
    cluster
        Alias of the source.
    starts
        The mirror's position on each partition to read.
    limit_of
        Gives the largest record that may be written to a topic, by its name
        at the source; `None` if that is not known.
    read_committed
        Isolation level of the mirror.
    clock
        Gives the time.
    """

    def __init__(
        self,
        properties: Mapping[str, str],
        *,
        cluster: str,
        starts: Mapping[TopicPartition, int],
        limit_of: Callable[[str], Limit | None],
        read_committed: bool,
        clock: Callable[[], datetime],
    ) -> None:
        self._limit_of = limit_of
        self._limits: dict[str, Limit | None] = {}
        self._clock = clock
        self._end = clock() + PATIENCE
        self._left = set(starts)
        self.found: list[Stuck] = []
        self._consumer = OffsetConsumer(
            properties, cluster=cluster, read_committed=read_committed
        )
        self._consumer.assign(starts)

    @property
    def finished(self) -> bool:
        """No partition is left to read, or the search timed out."""
        return not self._left or self._clock() >= self._end

    @property
    def complete(self) -> bool:
        """All partitions were read up to their finding, or to the end."""
        return not self._left

    def step(self) -> None:
        """Read on for at most half a second.

        Raises
        ------
        SourceError
            Raised if the source refuses.
        """
        for event in self._consumer.consume(BATCH, POLL):
            if isinstance(event, PartitionEnd):
                self._drop((event.topic, event.partition))
            else:
                self._check(event)

    def close(self) -> None:
        """Let go of the connection."""
        self._consumer.close()

    def _check(self, message: Message) -> None:
        topic, partition = message.topic() or "", message.partition() or 0
        if (topic, partition) not in self._left:
            return
        if topic not in self._limits:
            self._limits[topic] = self._limit_of(topic)
        limit, size = self._limits[topic], size_of(message)
        if limit is not None and size > limit[0]:
            self.found.append(
                Stuck(
                    topic=topic,
                    partition=partition,
                    offset=message.offset() or 0,
                    size_bytes=size,
                    limit_bytes=limit[0],
                    limit=limit[1],
                )
            )
            self._drop((topic, partition))

    def _drop(self, partition: TopicPartition) -> None:
        if partition in self._left:
            self._left.discard(partition)
            with suppress(KafkaException):
                self._consumer.drop([partition])


def size_of(message: Message) -> int:
    """Return the bytes of a record as the only one of its batch."""
    headers = message.headers() or []
    pairs = headers.items() if isinstance(headers, dict) else headers
    content: list[str | bytes | None] = [message.key(), message.value()]
    content += [part for pair in pairs for part in pair]
    return BATCH_OVERHEAD + RECORD_OVERHEAD + sum(map(_length, content))


def _length(part: str | bytes | None) -> int:
    if part is None:
        return 0
    return len(part.encode() if isinstance(part, str) else part)


TOO_LARGE = "RecordTooLargeException"
"""Exception with which the producer or the broker refuses a record."""

MAX_REQUEST = 1024 * 1024

Key = tuple[str, int, datetime]


_BUSY, _IDLE = timedelta(seconds=0.5), timedelta(seconds=1)
"""Between two steps, while a record is searched for, for which there are 30 s,
and while none is."""


class FailedTaskWorker:
    """Inspects failed tasks of one flow, one after the other.

    Parameters
    ----------
    flow
        Name of the flow.
    source, target
        The clusters.
    properties
        librdkafka properties of the source.
    naming
        Topic naming at the target.
    positions
        State of the mirror's internal topics.
    facts
        Returns the states of tasks.
    state
        State that receives the findings.
    clock
        Gives the time.
    """

    def __init__(
        self,
        *,
        flow: str,
        source: Cluster,
        target: Cluster,
        properties: Mapping[str, str],
        naming: Naming,
        positions: MirrorState,
        facts: TaskFacts,
        state: TasksState,
        clock: Callable[[], datetime],
    ) -> None:
        self.name = f"inspector {flow}"
        self.interval = _IDLE
        self._source = source
        self._target = target
        self._properties = properties
        self._naming = naming
        self._positions = positions
        self._facts = facts
        self._state = state
        self._clock = clock
        self._done: set[Key] = set()
        self._obstacle = ""
        self._current: tuple[Key, Stopped, RecordSearch] | None = None

    def step(self) -> None:
        failed = self._failed()
        tasks = {key[:2] for key in failed}
        self._state.stopped.set(
            {
                task: stopped
                for task, stopped in self._state.stopped.get().items()
                if task in tasks
            }
        )
        self._done &= failed.keys()
        if self._current is not None:
            key, stopped, search = self._current
            if key in failed:
                self._go_on(key, stopped, search)
            else:
                self._drop()
            return
        for key, (state, assignment, connector) in failed.items():
            if key not in self._done:
                self._begin(key, state, assignment, connector)
                return

    def close(self) -> None:
        self._drop()

    def _failed(
        self,
    ) -> dict[Key, tuple[TaskState, Assignment, Connector]]:
        connectors = {c.name: c for c in self._positions.connectors()}
        given = {
            (a.connector, a.task): a for a in self._positions.assignments()
        }
        found = {}
        for state in self._facts.read(self._clock()).states:
            if state.state != "FAILED" or state.task is None:
                continue
            assignment = given.get((state.connector, state.task))
            connector = connectors.get(state.connector)
            if assignment is not None and connector is not None:
                key = (state.connector, state.task, state.written_at)
                found[key] = (state, assignment, connector)
        return found

    def _begin(
        self,
        key: Key,
        state: TaskState,
        assignment: Assignment,
        connector: Connector,
    ) -> None:
        stopped = Stopped(
            connector=key[0], task=key[1], partitions=assignment.partitions
        )
        self._note(stopped)
        if TOO_LARGE not in state.trace:
            self._done.add(key)
            return
        try:
            search = self._search(assignment, connector)
        except SourceError as e:
            self._note(replace(stopped, note=_not_read(e)))
            raise
        self._current = (key, stopped, search)
        self.interval = _BUSY
        self._go_on(key, stopped, search)

    def _search(
        self, assignment: Assignment, connector: Connector
    ) -> RecordSearch:
        partitions = assignment.partitions
        self._obstacle = ""
        committed = self._positions.all_committed()
        syncs = self._positions.all_syncs()
        ends = read_ends(self._source, partitions)
        starts = read_starts(self._source, partitions)
        if hidden := partitions - ends.keys():
            self._obstacle = (
                f"{len(hidden)} of its partitions could not be read at "
                f"{self._source.alias}: no leader, or mirrorwatch lacks READ "
                f"on {name_partitions(hidden, 1)}"
            )
        at = {}
        for partition in partitions & ends.keys() & starts.keys():
            known = [starts[partition]]
            if partition in committed:
                known.append(committed[partition].position or 0)
            if partition in syncs:
                known.append(syncs[partition].upstream + 1)
            if max(known) < ends[partition]:
                at[partition] = max(known)
        return RecordSearch(
            self._properties,
            cluster=self._source.alias,
            starts=at,
            limit_of=lambda topic: self._limit(topic, connector),
            read_committed=bool(connector.read_committed),
            clock=self._clock,
        )

    def _limit(self, topic: str, connector: Connector) -> Limit | None:
        request = connector.max_request_bytes or MAX_REQUEST
        own = (request, "the max.request.size of the mirror's producer,")
        remote = self._naming.remote(topic)
        if connector.compresses:
            self._obstacle = (
                "The mirror's producer compresses, so which record is above "
                f"the max.message.bytes of {remote} at {self._target.alias} "
                "is not known"
            )
            return own
        try:
            taken = self._target.max_message_bytes(remote)
        except SourceError as e:
            # What the producer refuses is found all the same.
            self._obstacle = _not_read(e)
            return own
        where = f"the max.message.bytes of {remote} at {self._target.alias},"
        return min(own, (taken, where))

    def _go_on(self, key: Key, stopped: Stopped, search: RecordSearch) -> None:
        try:
            if not search.finished:
                search.step()
        except SourceError as e:
            self._note(replace(stopped, note=_not_read(e)))
            self._finish(key)
            raise
        found = replace(stopped, stuck=tuple(search.found))
        if search.finished:
            if not search.found:
                why = (
                    "No oversized record was found after its positions"
                    if search.complete
                    else "No oversized record was found within 30 s"
                )
                found = replace(found, note=self._obstacle or why)
            self._finish(key)
        self._note(found)

    def _note(self, stopped: Stopped) -> None:
        task = stopped.connector, stopped.task
        self._state.stopped.set({**self._state.stopped.get(), task: stopped})

    def _finish(self, key: Key) -> None:
        self._done.add(key)
        self._drop()

    def _drop(self) -> None:
        if self._current is not None:
            self._current[2].close()
            self._current = None
            self.interval = _IDLE


def _not_read(error: SourceError) -> str:
    return f"The oversized record could not be searched for: {error}"
