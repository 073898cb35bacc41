"""Asks one process of a mirror for its figures, again and again."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from ...domain.mbeans import Wanted
from ...exceptions import SourceUnavailableError
from .board import JmxBoard
from .reader import JmxReader

__all__ = ["JmxWorker"]

_SHARE = 9
"""Times as long as a reading takes until the next one: a mirror with many
partitions, or one far away, is asked for a tenth of the time at most."""

_MISSED = 3
"""Readings after which what was said is too old, if nothing was heard since,
not even a failure: then a reading hangs that nobody gives up."""


class JmxWorker:
    """Reads one process of a mirror; others are not kept waiting by it.

    Parameters
    ----------
    url
        Its address.
    reader
        Reads it.
    wanted
        What is read.
    board
        Where that is left.
    interval
        How often it is read, unless that takes long.
    timeout
        How long an answer may take.
    clock
        Gives the time.
    """

    def __init__(
        self,
        *,
        url: str,
        reader: JmxReader,
        wanted: Sequence[Wanted],
        board: JmxBoard,
        interval: timedelta,
        timeout: timedelta,
        clock: Callable[[], datetime],
    ) -> None:
        self.name = f"jmx {url}"
        self.interval = interval
        self._url = url
        self._reader = reader
        self._wanted = wanted
        self._board = board
        self._shortest = interval
        self._timeout = timeout
        self._clock = clock

    def step(self) -> None:
        begin = self._clock()
        try:
            mbeans = self._reader.read(self._wanted)
        except SourceUnavailableError as e:
            self._board.fail(self._url, str(e))
            # However long it took before: what hangs must soon be known to.
            self.interval = self._shortest
            raise
        # Figures are as old as the beginning of their reading.
        took = self._clock() - begin
        self.interval = max(self._shortest, took * _SHARE)
        lasts = (self.interval + took) * _MISSED + self._timeout
        self._board.put(self._url, mbeans, begin, lasts)

    def close(self) -> None:
        self._reader.close()
