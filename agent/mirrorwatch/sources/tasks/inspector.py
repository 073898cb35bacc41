"""Finds out what a failed task stopped, and at what it failed."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from ...domain.naming import Naming
from ...domain.positions import Assignment, Connector, TaskState
from ...domain.tasks import Stopped, name_partitions
from ...exceptions import SourceError
from ..bulk import read_ends, read_starts
from ..cluster import Cluster
from ..positions import Positions
from .board import TasksBoard
from .facts import TaskFacts
from .search import Limit, Search

__all__ = ["Inspector"]

TOO_LARGE = "RecordTooLargeException"
"""Whoever refused it, the producer or the broker."""

MAX_REQUEST = 1024 * 1024
"""Default of a Java producer's ``max.request.size``."""

Key = tuple[str, int, datetime]


class Inspector:
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
        What topics are called at the target.
    positions
        What the mirror's internal topics said.
    facts
        Tells the states of tasks.
    board
        Where the findings go.
    clock
        Gives the time.
    """

    interval = timedelta(seconds=0.5)

    def __init__(
        self,
        *,
        flow: str,
        source: Cluster,
        target: Cluster,
        properties: Mapping[str, str],
        naming: Naming,
        positions: Positions,
        facts: TaskFacts,
        board: TasksBoard,
        clock: Callable[[], datetime],
    ) -> None:
        self.name = f"inspector {flow}"
        self._source = source
        self._target = target
        self._properties = properties
        self._naming = naming
        self._positions = positions
        self._facts = facts
        self._board = board
        self._clock = clock
        self._done: set[Key] = set()
        self._obstacle = ""
        self._current: tuple[Key, Stopped, Search] | None = None

    def step(self) -> None:
        failed = self._failed()
        self._board.keep_stopped({key[:2] for key in failed})
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
        self._board.note_stopped(stopped)
        if TOO_LARGE not in state.trace:
            self._done.add(key)
            return
        try:
            search = self._search(assignment, connector)
        except SourceError as e:
            self._board.note_stopped(replace(stopped, note=_not_read(e)))
            raise
        self._current = (key, stopped, search)
        self._go_on(key, stopped, search)

    def _search(self, assignment: Assignment, connector: Connector) -> Search:
        places = assignment.partitions
        self._obstacle = ""
        committed = self._positions.all_committed()
        syncs = self._positions.all_syncs()
        ends = read_ends(self._source, places)
        starts = read_starts(self._source, places)
        if hidden := places - ends.keys():
            self._obstacle = (
                f"{len(hidden)} of its partitions could not be read at "
                f"{self._source.alias}: either they have no leader, or the "
                f"agent lacks READ on {name_partitions(hidden, 1)}"
            )
        at = {}
        for place in places & ends.keys() & starts.keys():
            known = [starts[place]]
            if place in committed:
                known.append(committed[place].position or 0)
            if place in syncs:
                known.append(syncs[place].upstream + 1)
            if max(known) < ends[place]:
                at[place] = max(known)
        return Search(
            self._properties,
            cluster=self._source.alias,
            starts=at,
            limit_of=lambda topic: self._limit(topic, connector),
            isolation="read_committed"
            if connector.read_committed
            else "read_uncommitted",
            clock=self._clock,
        )

    def _limit(self, topic: str, connector: Connector) -> Limit | None:
        request = connector.max_request_bytes or MAX_REQUEST
        own = (request, "the max.request.size of the mirror's producer,")
        remote = self._naming.remote(topic)
        try:
            taken = self._target.max_message_bytes(remote)
        except SourceError as e:
            # What the producer refuses is found all the same.
            self._obstacle = _not_read(e)
            return own
        where = f"the max.message.bytes of {remote} at {self._target.alias},"
        return min(own, (taken, where))

    def _go_on(self, key: Key, stopped: Stopped, search: Search) -> None:
        try:
            if not search.finished:
                search.step()
        except SourceError as e:
            self._board.note_stopped(replace(stopped, note=_not_read(e)))
            self._finish(key)
            raise
        found = replace(stopped, stuck=tuple(search.found))
        if search.finished:
            if not search.found:
                found = replace(found, note=self._obstacle or _why(search))
            self._finish(key)
        self._board.note_stopped(found)

    def _finish(self, key: Key) -> None:
        self._done.add(key)
        self._drop()

    def _drop(self) -> None:
        if self._current is not None:
            self._current[2].close()
            self._current = None


def _not_read(error: SourceError) -> str:
    return f"The record could not be looked for: {error}"


def _why(search: Search) -> str:
    if search.complete:
        return "No record that is too large was found after its positions"
    return "The record that is too large was not found within 30 s"
