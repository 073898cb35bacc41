"""Tells people what changed: the sink."""

from collections.abc import Sequence

from structlog.typing import FilteringBoundLogger

from ...domain.notices import Books, Links, Notifier, to_message
from ...exceptions import SinkError, StateError
from ...ports import Report
from ...state.notices import NoticeStore
from ...state.outbox import Outbox
from .delivery import Delivery

__all__ = ["NotifySink"]


class NotifySink:
    """Decides what people are told of each report, and writes it down.

    Parameters
    ----------
    notifier
        Decides what is told.
    store
        Keeps what was told, with the messages.
    outbox
        Where messages wait for the deliveries.
    deliveries
        Bring them to the receivers.
    links
        Where messages lead.
    logger
        Told of every notice.

    Raises
    ------
    StateError
        Raised if the state file cannot be used.
    """

    name = "notify"

    def __init__(
        self,
        notifier: Notifier,
        *,
        store: NoticeStore,
        outbox: Outbox,
        deliveries: Sequence[Delivery],
        links: Links,
        logger: FilteringBoundLogger,
    ) -> None:
        self._notifier = notifier
        self._store = store
        self.outbox = outbox
        self.deliveries = tuple(deliveries)
        self._links = links
        self._logger = logger
        self._books: Books = store.load()

    @property
    def up(self) -> bool | None:
        """Whether each receiver took its last message; `None` before one."""
        known = [d.up for d in self.deliveries if d.up is not None]
        return all(known) if known else None

    @property
    def spooled_points(self) -> int:
        """Messages that wait, each counted for each receiver."""
        return self.outbox.waiting

    @property
    def lost_points(self) -> int:
        """Messages given up since the start."""
        refused = sum(d.refused for d in self.deliveries)
        return refused + self.outbox.dropped

    def publish(self, report: Report) -> None:
        held = {window.flow for window in report.maintenance}
        books, notices = self._notifier.see(
            self._books, report.flows, report.verdicts, held, report.at
        )
        before = (self._books.flows, self._books.untold)
        if notices or (books.flows, books.untold) != before:
            try:
                messages = [to_message(n, self._links) for n in notices]
                self._store.save(books, messages)
            except StateError as e:
                # Nothing was told, so all of it is still due.
                raise SinkError(str(e), sink=self.name) from e
        self._books = books
        for notice in notices:
            self._logger.info(
                "Notice",
                flow=notice.flow,
                kind=notice.kind.value,
                health=notice.health.label,
                before=notice.before.label,
                untold=notice.untold,
            )

    def close(self) -> None:
        """Stop bringing messages; what waits is kept."""
        for delivery in self.deliveries:
            delivery.close()
