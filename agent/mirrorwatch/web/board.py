"""The last report, for whoever looks at the page."""

from ..ports import Report

__all__ = ["Board"]


class Board:
    """A sink that holds the last report in memory.

    Notes
    -----
    One attribute is replaced as a whole, so readers in other threads need no
    lock: they see the report before or the one after, never a mixture.
    """

    name = "web"

    def __init__(self) -> None:
        self._report: Report | None = None

    @property
    def report(self) -> Report | None:
        """The last report, `None` before the first."""
        return self._report

    def publish(self, report: Report) -> None:
        self._report = report

    def close(self) -> None:
        """Do nothing: what is shown last stays true of its time."""
