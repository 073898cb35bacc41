"""Where the states of a mirror's tasks are known from."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from ...domain.positions import TaskState
from ..positions import Positions
from .board import TasksBoard

__all__ = ["KnownTasks", "TaskFacts"]

FRESH = timedelta(seconds=30)
"""Oldest answer of Connect's REST API that is still believed: it is asked
every five seconds, and may need ten to answer while it rebalances."""

NOWHERE = (
    "Nothing tells how the mirror's tasks are: name the worker's "
    "status.storage.topic in mirror.topics.status, or its REST API in "
    "mirror.connect.url"
)

STILL_READING = "The mirror's status and configs topics are still being read"

NOT_ANSWERED = "Connect's REST API has not answered for 30 s or more"

NOT_ASKED = "Connect's REST API has not been asked yet"


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownTasks:
    """What is known of all connectors and tasks."""

    states: tuple[TaskState, ...] = ()
    """The state of each."""

    origin: str = ""
    """Where it was read, in words."""

    absent: str | None = None
    """Why nothing is to be known here."""

    problems: tuple[str, ...] = ()
    """What keeps it from being known."""


class TaskFacts:
    """Chooses between the status topic and Connect's REST API.

    Parameters
    ----------
    positions
        What the mirror's internal topics said.
    board
        What Connect's REST API said.
    status
        Name of the status topic, `None` if it is not known.
    cluster
        Alias of the cluster that holds it.
    has_rest
        Whether the REST API is configured.

    Notes
    -----
    The topic rules: it has every state in order, while the API's worker may
    lag behind, and answers only while a worker is up.
    """

    def __init__(
        self,
        *,
        positions: Positions,
        board: TasksBoard,
        status: str | None,
        cluster: str,
        has_rest: bool,
    ) -> None:
        self._positions = positions
        self._board = board
        self._status = status
        self._cluster = cluster
        self._has_rest = has_rest

    def read(self, now: datetime) -> KnownTasks:
        """Return what is known now."""
        topic = self._positions.optional.get("status")
        problems = self._rest_problems(now)
        if self._status is not None and topic.readable:
            if self._positions.behind():
                return KnownTasks(problems=(STILL_READING,))
            return KnownTasks(
                states=self._positions.tasks(),
                origin=f"topic {self._status} at {self._cluster}",
                problems=problems,
            )
        if self._has_rest:
            return self._read_answer(problems, topic.problem)
        if self._status is None:
            return KnownTasks(absent=NOWHERE)
        if topic.absent:
            return KnownTasks(
                absent=f"The mirror's status topic {self._status} does not "
                f"exist at {self._cluster}, so nothing tells how its tasks are"
            )
        return KnownTasks(problems=(topic.problem or STILL_READING,))

    def _read_answer(
        self, problems: tuple[str, ...], of_topic: str | None
    ) -> KnownTasks:
        answer = self._board.answer()
        if problems or answer is None:
            said = () if of_topic is None else (of_topic,)
            return KnownTasks(problems=(*problems, *said))
        return KnownTasks(
            states=self._positions.tasks(), origin="Connect's REST API"
        )

    def _rest_problems(self, now: datetime) -> tuple[str, ...]:
        if not self._has_rest:
            return ()
        answer = self._board.answer()
        if answer is None:
            return (NOT_ASKED,)
        # A worker that starts again, or rebalances, says nothing for a while.
        if answer.at is not None and now - answer.at <= FRESH:
            return ()
        return (answer.problem or NOT_ANSWERED,)
