"""What the mirror of one flow says of itself, with its age."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from ...domain.mbeans import MBean
from ...domain.mirror_errors import ErrorBooks
from ...domain.mirror_facts import MirrorMetrics, MirrorObservation, Unread
from ...exceptions import StateError
from ...state.document import DocumentStore
from .board import JmxBoard, Reading

__all__ = ["JmxSource"]

_WAITING = "no answer yet"

Interpret = Callable[[Mapping[str, Sequence[MBean]]], MirrorMetrics]
"""Takes together what all processes say, by their address."""


class JmxSource:
    """Reports what a mirror says of one flow.

    Parameters
    ----------
    flow
        Name of the flow.
    urls
        Addresses of the mirror's processes.
    board
        What they last said.
    interpret
        Knows the mirror's names.
    store
        Keeps what errors were counted.
    """

    def __init__(
        self,
        *,
        flow: str,
        urls: Sequence[str],
        board: JmxBoard,
        interpret: Interpret,
        store: DocumentStore[ErrorBooks],
    ) -> None:
        self.name = f"jmx {flow}"
        self.up = False
        """Whether all processes lately said how they are."""
        self._flow = flow
        self._urls = tuple(urls)
        self._board = board
        self._interpret = interpret
        self._store = store
        self._books = store.load()

    def observe(self, now: datetime) -> Sequence[MirrorObservation]:
        readings = {url: self._board.get(url) for url in self._urls}
        fresh = {
            url: reading
            for url, reading in readings.items()
            if reading.is_fresh(now)
        }
        metrics = self._interpret(
            {url: reading.mbeans for url, reading in fresh.items()}
        )
        self._count(metrics, now)
        self.up = len(fresh) == len(readings)
        return [
            MirrorObservation(
                flow=self._flow,
                at=now,
                metrics=metrics,
                answering=tuple(fresh),
                unread=tuple(
                    Unread(
                        url=url,
                        reason=reading.trouble or f"{url}: {_why(reading)}",
                        since=reading.at,
                    )
                    for url, reading in readings.items()
                    if url not in fresh
                ),
                counted=self._books.counted,
                last_lost=self._books.last_lost,
                lately=self._books.lately,
            )
        ]

    def _count(self, metrics: MirrorMetrics, now: datetime) -> None:
        books = self._books.count(metrics.errors, metrics.last_error, now)
        if books == self._books:
            return
        self._books = books
        try:
            self._store.save(books)
        except StateError:
            # The pipeline tells of it; the next change writes all of it.
            return


def _why(reading: Reading) -> str:
    if reading.at is None:
        return _WAITING
    return (
        f"no answer since {reading.at:%H:%M:%S} UTC: is that process frozen?"
    )
