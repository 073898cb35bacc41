"""The service levels of a flow, from what was counted in 30 days."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from ..domain.levels.model import (
    BURNS,
    MONTH,
    LevelCounts,
    LevelObjective,
    LevelsObservation,
    LevelState,
)
from ..exceptions import SourceError, StateError
from ..state.levels import LevelHistory

__all__ = ["LevelsSource"]


AGAIN = timedelta(seconds=10)
"""How often the windows are added up: 30 days take some milliseconds."""

LENGTHS = sorted(
    {
        MONTH,
        *(b.long for b in BURNS.values()),
        *(b.short for b in BURNS.values()),
    }
)


class LevelsSource:
    """Reads the service levels of one flow.

    Parameters
    ----------
    flow
        Name of the flow.
    target
        Alias of its target.
    objectives
        What is wanted.
    history
        What was counted up to the tick before.
    """

    def __init__(
        self,
        *,
        flow: str,
        target: str,
        objectives: Iterable[LevelObjective],
        history: LevelHistory,
    ) -> None:
        self.name = f"levels {flow}"
        self._flow = flow
        self._target = target
        self._objectives = tuple(objectives)
        self._history = history
        self._newest: LevelsObservation | None = None

    def observe(self, now: datetime) -> Sequence[LevelsObservation]:
        newest = self._newest
        if newest is None or not timedelta() <= now - newest.at < AGAIN:
            try:
                newest = self._newest = self._read(now)
            except StateError as e:
                raise SourceError(
                    str(e), source=self.name, cluster=self._target
                ) from e
        return [newest]

    def _read(self, now: datetime) -> LevelsObservation:
        totals = self._history.totals(self._flow)
        counted = self._history.windows(self._flow, now, LENGTHS)
        states = []
        for objective in self._objectives:
            level = objective.level.value
            windows = {
                length: counted.get((level, length), LevelCounts())
                for length in LENGTHS
            }
            states.append(
                LevelState(
                    objective=objective,
                    total=totals.get(level, LevelCounts()),
                    month=windows[MONTH],
                    burns=_burns(objective, windows),
                )
            )
        return LevelsObservation(flow=self._flow, at=now, levels=tuple(states))


def _burns(
    objective: LevelObjective, windows: Mapping[timedelta, LevelCounts]
) -> dict[str, float]:
    rates = {}
    for name, burn in BURNS.items():
        shares = [windows[w].share for w in (burn.long, burn.short)]
        known = [share for share in shares if share is not None]
        if len(known) == len(shares):
            rates[name] = (1 - max(known)) / objective.budget
    return rates
