"""What the tick sees of the canary. Never waits for anything."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from ...domain.observations import CanaryObservation, Problem
from .board import Board
from .settings import CanarySettings

__all__ = ["CanarySource"]


class CanarySource:
    """Reports the state of one flow's canary.

    Parameters
    ----------
    settings
        What the canary was told.
    board
        What the canary and the surveyor left there.
    lost_window
        How long losses are reported by name.
    """

    def __init__(
        self,
        *,
        settings: CanarySettings,
        board: Board,
        lost_window: timedelta,
    ) -> None:
        self.name = f"canary {settings.flow.name}"
        self._settings = settings
        self._board = board
        self._lost_window = lost_window

    def observe(self, now: datetime) -> Sequence[CanaryObservation]:
        seen, survey = self._board.seen(), self._board.survey()
        if seen is None:
            return []
        problems = [
            *self._board.schema_problems(),
            *seen.problems,
            *(survey.problems if survey else ()),
        ]
        if survey is None:
            problems.append(
                Problem.unknown("The clusters have not been asked yet")
            )
        trouble = self._board.send_trouble()
        if trouble is not None:
            problems.append(trouble)
        return [
            CanaryObservation(
                flow=self._settings.flow.name,
                at=seen.at,
                topic=self._settings.topic,
                remote_topic=self._settings.remote_topic,
                partitions=seen.partitions,
                arrivals=self._board.take_arrivals(),
                losses=self._board.recent_losses(now - self._lost_window),
                problems=tuple(dict.fromkeys(problems)),
                blind=seen.blind,
            )
        ]
