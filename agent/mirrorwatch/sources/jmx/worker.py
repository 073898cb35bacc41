"""Asks one process of a mirror for its figures, again and again."""

import time
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

_BUSY_SHARE = 49
"""Times as long as a reading keeps a core of ours busy until the next one:
two hundredths of it at most. Jolokia's 3,600 MBeans cost 0.07 s, the other
ways 1.3 s. MM2's windows are 30 s, its counts are kept for ever."""

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
    busy
        Gives the processor time of the thread that reads, in seconds.
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
        busy: Callable[[], float] = time.thread_time,
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
        self._busy = busy
        self._cost = timedelta()

    def step(self) -> None:
        begin, idle = self._clock(), self._busy()
        try:
            mbeans = self._reader.read(self._wanted)
        except SourceUnavailableError as e:
            self._board.fail(self._url, str(e))
            # However long it took before: what hangs must soon be known to.
            self.interval = self._shortest
            raise
        # Figures are as old as the beginning of their reading.
        took = self._clock() - begin
        cost = timedelta(seconds=self._busy() - idle)
        # The lesser of two: the first one only warms Java up.
        usual, self._cost = min(self._cost, cost), cost
        self.interval = max(self._shortest, took * _SHARE, usual * _BUSY_SHARE)
        lasts = (self.interval + took) * _MISSED + self._timeout
        self._board.put(self._url, mbeans, begin, lasts)

    def close(self) -> None:
        self._reader.close()
