"""What a sink tells of its troubles: each once, and their end."""

from structlog.typing import FilteringBoundLogger

from ..exceptions import MirrorwatchError
from .salvage import Refusal

__all__ = ["Troubles"]

TOLD_TROUBLES = 10
"""How many different troubles of one outage are told, each of them once: a
server may fail in two or three ways by turns, for days."""

TOLD_POINTS = 100
"""How many different points are named, until all are taken again: each tick
may have the same bad ones."""


class Troubles:
    """Tells each trouble of an outage once.

    Parameters
    ----------
    logger
        Where to.
    """

    def __init__(self, logger: FilteringBoundLogger) -> None:
        self._logger = logger
        self._told: set[str] = set()
        self._named: set[str] = set()
        self._full = False

    def tell(self, event: str, error: MirrorwatchError) -> None:
        """Tell what keeps points from being written."""
        if str(error) in self._told or len(self._told) >= TOLD_TROUBLES:
            return
        self._told.add(str(error))
        self._logger.warning(event, **error.to_logging_context())

    def tell_full(self, lost_points: int, spooled_points: int) -> None:
        """Tell that points are lost because there is no room for them."""
        if not self._full:
            self._full = True
            self._logger.error(
                "Spool full, the oldest points are lost",
                points=lost_points,
                spooled_points=spooled_points,
            )

    def tell_refused(self, refused: tuple[Refusal, ...]) -> None:
        """Name points that will never be taken."""
        for refusal in refused:
            series = refusal.name.partition(" ")[0]
            if series in self._named or len(self._named) >= TOLD_POINTS:
                continue
            self._named.add(series)
            self._logger.warning(
                "Points refused for good",
                points=refusal.points,
                first=refusal.name,
                **refusal.error.to_logging_context(),
            )

    def tell_end(self, lost_points: int, kept_points: int) -> None:
        """Tell what nobody will send, and what the next agent will."""
        if lost_points:
            self._logger.error("Points lost at the end", points=lost_points)
        if kept_points:
            self._logger.info("Points stay in the spool", points=kept_points)

    def end(self, spooled_points: int, lost_points: int) -> None:
        """Tell that the server takes everything again, if it did not."""
        if self._told or self._full:
            self._logger.info(
                "Sink available again",
                spooled_points=spooled_points,
                lost_points=lost_points,
            )
        self._told.clear()
        self._named.clear()
        self._full = False
