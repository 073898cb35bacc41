"""Starts failed tasks again, if that is wanted."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from structlog.typing import FilteringBoundLogger

from ...domain.positions import TaskState
from ...domain.restarts import Restart, RestartRules, Restarts, may_restart
from ...exceptions import SourceError
from ...state.document import DocumentStore

__all__ = ["Restarter", "Restarting"]

SHOWN = 20
"""Restarts that are shown; there are at most that many of one task an hour."""


class Restarting(Protocol):
    """Can start tasks again."""

    def restart(self, connector: str, task: int | None) -> None:
        """Start a failed task again, or a failed connector itself.

        Raises
        ------
        SourceError
            Raised if that is not done.
        """
        ...


class Restarter:
    """Restarts failed tasks of one flow, within bounds.

    Parameters
    ----------
    api
        How to.
    rules
        How often.
    store
        Keeps what was done: an agent that starts again starts no task more
        often than one that goes on.
    logger
        Where each restart is told.
    """

    def __init__(
        self,
        api: Restarting,
        rules: RestartRules,
        store: DocumentStore[Restarts],
        logger: FilteringBoundLogger,
    ) -> None:
        self._api = api
        self._rules = rules
        self._store = store
        self._logger = logger
        self._restarts = store.load()

    def restart(
        self, failed: Iterable[TaskState], now: datetime
    ) -> tuple[str, ...]:
        """Restart what may be; return what was done within the last hour.

        Parameters
        ----------
        failed
            Failed connectors and tasks of this flow.
        now
            The time.

        Raises
        ------
        StateError
            Raised if it cannot be kept; then it is not done either.

        Notes
        -----
        A restart that Connect refuses counts, too: it was tried.
        """
        self._restarts = self._restarts.recent(now)
        for state in failed:
            done = [
                one.at
                for one in self._restarts.done
                if (one.connector, one.task) == (state.connector, state.task)
            ]
            if may_restart(
                self._rules, failed_at=state.written_at, done=done, now=now
            ):
                self._restart(
                    Restart(
                        connector=state.connector,
                        task=state.task,
                        at=now,
                        number=len(done) + 1,
                    )
                )
        most = self._rules.most_per_hour
        return tuple(
            one.describe(most) for one in self._restarts.done[-SHOWN:]
        )

    def _restart(self, one: Restart) -> None:
        before = self._restarts.done
        # Written first: it must count even if the agent dies meanwhile.
        self._keep((*before, one))
        self._logger.warning(
            "Restarting a failed task",
            connector=one.connector,
            task=one.task,
            restart=one.number,
            most_per_hour=self._rules.most_per_hour,
        )
        try:
            self._api.restart(one.connector, one.task)
        except SourceError as e:
            self._logger.warning(
                "Failed task was not restarted", **e.to_logging_context()
            )
            self._keep((*before, replace(one, problem=str(e))))

    def _keep(self, done: tuple[Restart, ...]) -> None:
        restarts = Restarts(done=done)
        self._store.save(restarts)
        self._restarts = restarts
