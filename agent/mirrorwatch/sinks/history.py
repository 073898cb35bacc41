"""A sink that keeps what the charts show."""

from ..exceptions import SinkError, StateError
from ..ports import Report
from ..state.history import History

__all__ = ["HistorySink"]


class HistorySink:
    """Records every report in the history.

    Parameters
    ----------
    history
        History that receives the reports.
    """

    name = "history"

    def __init__(self, history: History) -> None:
        self._history = history

    def publish(self, report: Report) -> None:
        try:
            self._history.record(report)
        except StateError as e:
            raise SinkError(str(e), sink=self.name) from e

    def close(self) -> None:
        """Do nothing: every report is committed when it is published."""
