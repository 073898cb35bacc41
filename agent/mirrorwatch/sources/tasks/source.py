"""What the tick sees of a mirror's tasks. Never waits for anything."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from ...domain.positions import TaskState
from ...domain.task_history import TaskHistory, fold
from ...domain.tasks import MirrorTask, Role, TasksObservation, find_cause
from ..positions import Positions
from .board import TasksBoard
from .facts import TaskFacts

__all__ = ["TasksSource"]

WINDOW = timedelta(hours=1)
"""In which starts, failures and rebalances are counted: long enough for
restarts with growing pauses, short enough to be over within a shift."""


class TasksSource:
    """Reports the connectors and tasks of one flow's mirror.

    Parameters
    ----------
    flow
        Name of the flow.
    positions
        What the mirror's internal topics said.
    facts
        Tells the states of tasks.
    board
        What workers found about them.
    """

    def __init__(
        self,
        *,
        flow: str,
        positions: Positions,
        facts: TaskFacts,
        board: TasksBoard,
    ) -> None:
        self.name = f"tasks {flow}"
        self.up = False
        """Whether nothing keeps the states from being known."""
        self._flow = flow
        self._positions = positions
        self._facts = facts
        self._board = board

    def observe(self, now: datetime) -> Sequence[TasksObservation]:
        known = self._facts.read(now)
        self.up = not known.problems
        history = fold(self._positions.task_history(), now - WINDOW)
        connectors = self._positions.connectors()
        answer = self._board.answer()
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
                stopped=tuple(self._board.stopped().values()),
                unassigned=self._board.unassigned(),
                rebalances=history.rebalances,
                window=WINDOW,
                refresh=min((c.refresh for c in connectors), default=None),
                restarts=self._board.restarts(),
                version=answer.version if answer else None,
                absent=known.absent,
                problems=known.problems,
            )
        ]

    def _name(
        self, states: Sequence[TaskState], history: TaskHistory
    ) -> Iterator[MirrorTask]:
        roles = self._roles()
        counts = self._positions.task_counts()
        told = set()
        for state in states:
            number, key = state.task, (state.connector, state.task)
            if state.state is None:
                continue
            if number is not None and number >= counts.get(
                state.connector, number + 1
            ):
                continue
            told.add(key)
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
            # Nobody has begun to run it.
            if (given.connector, given.task) not in told:
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
