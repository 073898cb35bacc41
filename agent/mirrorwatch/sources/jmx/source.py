"""JMX observation of one flow's mirror, with its age."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ...domain.bottleneck.model import (
    ErrorCounters,
    FetchProgress,
    MBean,
    MBeanQuery,
    MirrorMetrics,
    MirrorObservation,
    UnreachableProcess,
)
from ...exceptions import SourceUnavailableError, StateError
from ...state.documents import DocumentStore
from ...threads import Latest
from .readers import JmxReader

__all__ = ["JmxReading", "JmxSource", "JmxWorker"]


_TOO_MANY = 2
"""Failures in a row after which what was said before holds no more: a single
one can be a pause of Java's garbage collector."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JmxReading:
    """The last of one process."""

    mbeans: Sequence[MBean] = ()
    """MBeans of the last reading."""

    at: datetime | None = None
    """Time of the last reading; `None` if there was none."""

    lasts: timedelta = timedelta()
    trouble: str | None = None
    failures: int = 0

    def is_fresh(self, now: datetime) -> bool:
        """Return whether what it last said still holds."""
        return (
            self.at is not None
            and now - self.at <= self.lasts
            and self.failures < _TOO_MANY
        )


Interpret = Callable[[Mapping[str, Sequence[MBean]]], MirrorMetrics]
"""Takes together what all processes say, by their address."""


class JmxSource:
    """Reports what a mirror says of one flow.

    Parameters
    ----------
    flow
        Name of the flow.
    readings
        Last reading of each of the mirror's processes, by address.
    interpret
        Knows the mirror's names.
    store
        Keeps what errors were counted.
    """

    def __init__(
        self,
        *,
        flow: str,
        readings: Mapping[str, Latest[JmxReading]],
        interpret: Interpret,
        store: DocumentStore[ErrorCounters],
    ) -> None:
        self.name = f"jmx {flow}"
        self.up = False
        self._flow = flow
        self._readings = readings
        self._interpret = interpret
        self._store = store
        self._counters = store.load()
        self._counted_at: dict[str, datetime] = {}
        self._progress: FetchProgress | None = None

    def observe(self, now: datetime) -> Sequence[MirrorObservation]:
        readings = {url: found.get() for url, found in self._readings.items()}
        fresh = {
            url: reading
            for url, reading in readings.items()
            if reading.is_fresh(now)
        }
        metrics = self._interpret(
            {url: reading.mbeans for url, reading in fresh.items()}
        )
        read_at = {url: r.at for url, r in fresh.items() if r.at}
        self._count(metrics, read_at, now)
        self._follow(metrics, list(read_at.values()))
        self.up = len(fresh) == len(readings)
        return [
            MirrorObservation(
                flow=self._flow,
                at=now,
                metrics=metrics,
                answering=tuple(fresh),
                unread=tuple(
                    UnreachableProcess(
                        url=url,
                        reason=reading.trouble
                        or (
                            f"{url}: no response yet"
                            if reading.at is None
                            else f"{url}: no response since "
                            f"{reading.at:%H:%M:%S} UTC. Check whether the "
                            "process hangs"
                        ),
                        since=reading.at,
                    )
                    for url, reading in readings.items()
                    if url not in fresh
                ),
                counted=self._counters.counted,
                last_lost=self._counters.last_lost,
                lately=self._counters.lately,
                progress=self._progress,
            )
        ]

    def _follow(
        self, metrics: MirrorMetrics, read: Sequence[datetime]
    ) -> None:
        """Note how many fetches were answered by the oldest reading."""
        fetches, at = metrics.fetches, min(read, default=None)
        if not fetches or at is None:
            self._progress = None
        elif self._progress is None:
            self._progress = FetchProgress(
                fetches=fetches, read_at=at, still_since=at
            )
        else:
            self._progress = self._progress.note(fetches, at)

    def _count(
        self,
        metrics: MirrorMetrics,
        read_at: Mapping[str, datetime],
        now: datetime,
    ) -> None:
        before = self._counted_at
        self._counted_at = {**before, **read_at}
        counters = self._counters.count(
            {
                place: errors
                for place, errors in metrics.errors.items()
                if before.get(place[0]) != read_at[place[0]]
            },
            metrics.last_errors,
            now,
            since=before,
        )
        if counters == self._counters:
            return
        self._counters = counters
        try:
            self._store.save(counters)
        except StateError:
            # The pipeline reports it; the next change writes all of it.
            return


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
        MBeans to read.
    reading
        Destination of the last reading.
    interval
        Polling interval, unless a reading takes long.
    timeout
        Timeout of an answer.
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
        wanted: Sequence[MBeanQuery],
        reading: Latest[JmxReading],
        interval: timedelta,
        timeout: timedelta,
        clock: Callable[[], datetime],
        busy: Callable[[], float] = time.thread_time,
    ) -> None:
        self.name = f"jmx {url}"
        self.interval = interval
        self._reader = reader
        self._wanted = wanted
        self._reading = reading
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
            before = self._reading.get()
            self._reading.set(
                replace(before, trouble=str(e), failures=before.failures + 1)
            )
            # However long it took before: what hangs must soon be known to.
            self.interval = self._shortest
            raise
        # Metrics are as old as the beginning of their reading.
        took = self._clock() - begin
        cost = timedelta(seconds=self._busy() - idle)
        # The lesser of two: the first one only warms Java up.
        usual, self._cost = min(self._cost, cost), cost
        self.interval = max(self._shortest, took * _SHARE, usual * _BUSY_SHARE)
        lasts = (self.interval + took) * _MISSED + self._timeout
        self._reading.set(JmxReading(mbeans=mbeans, at=begin, lasts=lasts))

    def close(self) -> None:
        self._reader.close()
