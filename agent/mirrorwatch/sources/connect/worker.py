"""Asks Connect's REST API again and again, beside the ticks."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Protocol

from structlog.typing import FilteringBoundLogger

from ...domain.positions import (
    Assignment,
    Companion,
    Connector,
    MirrorFact,
    TaskCount,
    TaskState,
)
from ...exceptions import SourceError
from ..positions import Positions
from ..tasks import Answer, TaskFacts, TasksBoard
from .answers import to_committed, to_states
from .api import ConnectApi
from .restarter import Restarter

__all__ = ["ConnectMirror", "ConnectWorker"]

DETAILS_EVERY = timedelta(seconds=30)
"""How often partitions of tasks and offsets are asked for: they are many, and
the offsets move once a minute."""


class ConnectMirror(Protocol):
    """What is known of one flow's mirror on Connect."""

    @property
    def source_alias(self) -> str:
        """The mirror's alias of the source."""
        ...

    def to_fact(self, name: str, properties: Mapping[str, Any]) -> MirrorFact:
        """Return what the configuration of a connector says."""
        ...

    def to_assignment(
        self, name: str, properties: Mapping[str, Any], written_at: datetime
    ) -> Assignment | None:
        """Return what a task was given, if it is one of this flow."""
        ...


class ConnectWorker:
    """Asks for one flow.

    Parameters
    ----------
    flow
        Name of the flow.
    api
        Whom to ask.
    mirror
        Knows what configurations mean.
    positions
        Where facts go that the mirror's internal topics do not tell.
    board
        Where it is told whether there was an answer.
    facts
        Tells the states of tasks.
    restarter
        Starts failed tasks again.
    clock
        Gives the time.
    logger
        Where answers that cannot be read are told, once each.

    Notes
    -----
    The internal topics know everything that the API knows, and in order. So
    states and offsets of the API are taken only where a topic does not tell
    them, or less.
    """

    interval = timedelta(seconds=5)

    def __init__(
        self,
        *,
        flow: str,
        api: ConnectApi,
        mirror: ConnectMirror,
        positions: Positions,
        board: TasksBoard,
        facts: TaskFacts,
        restarter: Restarter,
        clock: Callable[[], datetime],
        logger: FilteringBoundLogger,
    ) -> None:
        self.name = f"connect {flow}"
        self._api = api
        self._mirror = mirror
        self._positions = positions
        self._board = board
        self._facts = facts
        self._restarter = restarter
        self._clock = clock
        self._logger = logger.bind(flow=flow)
        self._noted: dict[object, object] = {}
        self._answered_at: datetime | None = None
        self._details_at: datetime | None = None
        self._version: str | None = None
        self._told: set[str] = set()

    def step(self) -> None:
        at = self._clock()
        try:
            found = self._api.connectors()
            self._take(found, at)
            if self._details_at is None or at >= self._details_at:
                self._details_at = at + DETAILS_EVERY
                self._ask_details(at)
        except SourceError as e:
            self._board.note_answer(
                Answer(at=self._answered_at, problem=str(e))
            )
            raise
        self._answered_at = at
        self._board.note_answer(Answer(at=at, version=self._version))
        self._restart(at)

    def close(self) -> None:
        self._api.close()

    def _take(
        self, found: Mapping[str, Mapping[str, Any]], at: datetime
    ) -> None:
        known = {c.name for c in self._positions.connectors()}
        known |= {c.name for c in self._positions.companions()}
        for name in known - found.keys():
            self._positions.note(Companion(name=name, role="removed"))
            self._noted.pop(("fact", name), None)
        status_is_read = self._positions.optional.get("status").readable
        for name, said in found.items():
            try:
                info = said["info"]
                fact = self._mirror.to_fact(name, info["config"])
                self._note(("fact", name), fact)
                count = TaskCount(connector=name, tasks=len(info["tasks"]))
                self._note(("count", name), count)
                if not status_is_read:
                    for state in to_states(name, said["status"], at):
                        self._note_state(state)
            except (ValueError, KeyError, TypeError) as e:
                # Never what was answered: it holds passwords.
                self._complain(name, type(e).__name__)

    def _ask_details(self, at: datetime) -> None:
        self._version = self._api.version()
        for connector in self._positions.connectors():
            name = connector.name
            try:
                for said in self._api.tasks(name):
                    number = f"{name}-{said['id']['task']}"
                    given = self._mirror.to_assignment(
                        number, said["config"], at
                    )
                    if given is not None:
                        key = ("given", number)
                        self._note(key, given, given.partitions)
                self._take_offsets(connector, at)
            except (ValueError, KeyError, TypeError) as e:
                self._complain(name, type(e).__name__)

    def _take_offsets(self, connector: Connector, at: datetime) -> None:
        offsets = self._api.offsets(connector.name)
        committed = self._positions.all_committed()
        for fact in to_committed(offsets or (), self._mirror.source_alias, at):
            known = committed.get((fact.topic, fact.partition))
            if known is None or (known.position or 0) < (fact.position or 0):
                self._positions.note(fact)

    def _note_state(self, state: TaskState) -> None:
        # The time is of the answer; what matters is since when it is so.
        said = (state.state, state.worker, state.trace)
        self._note(("state", state.connector, state.task), state, said)

    def _note(
        self, key: object, fact: MirrorFact, said: object = None
    ) -> None:
        """Note what is new; the topics told the rest, or the answer before."""
        said = fact if said is None else said
        if self._noted.get(key) != said:
            self._noted[key] = said
            self._positions.note(fact)

    def _restart(self, now: datetime) -> None:
        ours = {c.name for c in self._positions.connectors()} | {
            c.name
            for c in self._positions.companions()
            if c.role != "neighbour"
        }
        failed = [
            state
            for state in self._facts.read(now).states
            if state.state == "FAILED" and state.connector in ours
        ]
        self._board.note_restarts(self._restarter.restart(failed, now))

    def _complain(self, connector: str, error: str) -> None:
        if connector not in self._told:
            self._told.add(connector)
            self._logger.warning(
                "Connect's answer cannot be read",
                connector=connector,
                error=error,
            )
