"""A sink that keeps what the charts show."""

from ..exceptions import SinkError, StateError
from ..ports import Report
from ..state.history import History
from ..state.levels import LevelHistory

__all__ = ["HistorySink"]


class HistorySink:
    """Records every report in the history, and in that of service levels.

    Parameters
    ----------
    histories
        Where to record it.
    """

    name = "history"

    def __init__(self, *histories: History | LevelHistory) -> None:
        self._histories = histories

    def publish(self, report: Report) -> None:
        try:
            for history in self._histories:
                history.record(report)
        except StateError as e:
            raise SinkError(str(e), sink=self.name) from e

    def close(self) -> None:
        """Do nothing: every report is committed when it is published."""
