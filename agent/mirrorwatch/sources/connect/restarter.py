"""Starts failed tasks again, if that is wanted."""

from collections import deque
from collections.abc import Iterable
from datetime import datetime

from structlog.typing import FilteringBoundLogger

from ...domain.positions import TaskState
from ...domain.restarts import HOUR, RestartRules, may_restart
from ...exceptions import SourceError
from .api import ConnectApi

__all__ = ["Restarter"]

SHOWN = 20
"""Restarts that are shown; there are at most that many of one task an hour."""

Key = tuple[str, int | None]


class Restarter:
    """Restarts failed tasks of one flow, within bounds.

    Parameters
    ----------
    api
        How to.
    rules
        How often.
    logger
        Where each restart is told.
    """

    def __init__(
        self,
        api: ConnectApi,
        rules: RestartRules,
        logger: FilteringBoundLogger,
    ) -> None:
        self._api = api
        self._rules = rules
        self._logger = logger
        self._done: dict[Key, list[datetime]] = {}
        self._told: deque[tuple[datetime, str]] = deque(maxlen=SHOWN)

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

        Notes
        -----
        A restart that Connect refuses counts, too: it was tried.
        """
        for state in failed:
            key = (state.connector, state.task)
            done = [at for at in self._done.get(key, []) if now - at < HOUR]
            self._done[key] = done
            if may_restart(
                self._rules, failed_at=state.written_at, done=done, now=now
            ):
                done.append(now)
                self._restart(state, len(done), now)
        return tuple(text for at, text in self._told if now - at < HOUR)

    def _restart(self, state: TaskState, number: int, now: datetime) -> None:
        what = state.connector
        if state.task is not None:
            what = f"task {state.task} of {what}"
        text = (
            f"{now:%H:%M:%S} UTC: {what} was started again by the agent "
            f"({number} of {self._rules.most_per_hour} within an hour)"
        )
        self._logger.warning(
            "Restarting a failed task",
            connector=state.connector,
            task=state.task,
            restart=number,
            most_per_hour=self._rules.most_per_hour,
        )
        try:
            self._api.restart(state.connector, state.task)
        except SourceError as e:
            text += f", in vain: {e}"
            self._logger.warning(
                "Failed task was not restarted", **e.to_logging_context()
            )
        self._told.append((now, text))
