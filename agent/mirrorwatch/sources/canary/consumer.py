"""Reads the canary topic at the target, and knows when it did not look."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from confluent_kafka import KafkaError, KafkaException, Message

from ...kafka.reader import (
    EXACTLY,
    OUT_OF_RANGE,
    OffsetConsumer,
    PartitionEnd,
    ReadFailure,
)

__all__ = ["CanaryConsumer", "ReadProbe", "Unreadable"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadProbe:
    """A record of the canary topic."""

    partition: int
    offset: int
    value: bytes | None
    seen_at: datetime
    absent_until: datetime
    """Until when it is known not to have been there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Unreadable:
    """A partition goes on at another offset; what was there is gone."""

    partition: int
    offset: int


@dataclass(kw_only=True, slots=True)
class _UnreadEnd:
    """End of a partition that a survey saw, and that is yet to be read."""

    end: int
    at: datetime
    """Start of the survey: records at this end offset or above are newer."""

    since: datetime
    again: bool = False


Event = Message | PartitionEnd | ReadFailure

AWAY = timedelta(seconds=2)
"""Longest time between two looks that counts as looking all along. A look
takes a fifth of a second; after a pause of the process or the machine,
it is unknown when within it a record came."""

AGAIN = timedelta(seconds=2)
"""Retry interval of a partition that could not be read. The library reports a
failure once, and nothing when it is fixed unless a record comes: a new try
gives either the failure or the end of the partition."""

MILLISECOND = timedelta(milliseconds=1)
"""The library counts in these: less is no wait at all."""

BATCH = 500
"""Records taken at once, to catch up quickly."""


LOOK = 0.2
"""Seconds that one look waits for a record; what arrives ends it at once. The
library itself stops waiting this often, to see whether the process got a
signal."""

FETCH_WAIT = timedelta(seconds=1)
"""Longest wait of a fetch for a record (``fetch.wait.max.ms``). It is answered
at once when there is one, so waiting costs no latency; it halves the requests
of an idle hour."""


class CanaryConsumer:
    """Reads the target's canary topic by explicit offsets.

    Parameters
    ----------
    properties
        librdkafka properties of the target cluster.
    cluster
        Our alias of it.
    topic
        Name of the canary topic there.
    interval
        Interval between two probes of a partition.
    clock
        Gives the time.

    Notes
    -----
    The library reports a partition's end when a fetch has waited in vain. So
    it waits for less than the next probe takes to come.

    Read committed: what an exactly-once mirror may still take back has not
    arrived. For any other mirror that is the same.
    """

    def __init__(
        self,
        properties: Mapping[str, str],
        *,
        cluster: str,
        topic: str,
        interval: timedelta,
        clock: Callable[[], datetime],
    ) -> None:
        wait = min(FETCH_WAIT, interval / 2)
        self._consumer = OffsetConsumer(
            properties,
            cluster=cluster,
            read_committed=True,
            own={
                **EXACTLY,
                "fetch.wait.max.ms": round(wait.total_seconds() * 1000),
            },
        )
        self._topic = topic
        self._clock = clock
        self._looked_at: datetime | None = None
        self._before: datetime | None = None
        self._absent_until: dict[int, datetime] = {}
        self._next: dict[int, int] = {}
        self._ends: dict[int, _UnreadEnd] = {}
        self._read_at: dict[int, datetime] = {}
        """Start of the last survey whose end offset was read, by partition."""

        self._problems: dict[int, str] = {}
        self._again_at: datetime | None = None
        self._paused = False

    @property
    def problem(self) -> str | None:
        """Error of a partition that cannot be read; `None` if all can."""
        return next(iter(self._problems.values()), None)

    @property
    def looked_at(self) -> datetime | None:
        """End of the last poll; `None` before the first."""
        return self._looked_at

    @property
    def unread(self) -> frozenset[int]:
        """Partitions that have not been read to their end since they were
        last not read.
        """
        # Those that are behind have yet to show whether they are read.
        return frozenset(self._absent_until.keys() - self._ends.keys())

    @property
    def behind(self) -> frozenset[int]:
        """Partitions that have grown past what was read of them."""
        return frozenset(self._ends)

    def read(
        self, partition: int, offset: int, absent_until: datetime
    ) -> None:
        """Read a partition from an offset on.

        Parameters
        ----------
        partition
            Partition number.
        offset
            Offset to read next.
        absent_until
            Until when the records from there on are known not to have been
            written, should there be any already.
        """
        self._assign(partition, offset)
        self._ends.pop(partition, None)
        self._absent_until[partition] = absent_until
        self._read_at[partition] = absent_until

    def note_ends(self, ends: Mapping[int, int], at: datetime) -> None:
        """Note where the partitions ended when a survey looked.

        Parameters
        ----------
        ends
            Ends by partition.
        at
            Start of the survey.

        Notes
        -----
        The fetch from one broker can hang while all others go on, and the
        library says nothing of it.
        """
        now = self._clock()
        # Where there is a backlog, its end is waited for already.
        for partition in self._next.keys() - self._absent_until.keys():
            if partition in ends:
                found = _UnreadEnd(end=ends[partition], at=at, since=now)
                self._ends.setdefault(partition, found)
                self._advance(partition, self._next[partition])

    def drop(self, partition: int) -> None:
        """Read a partition no more: the topic has none of that number."""
        if partition in self._next:
            self._consumer.drop([(self._topic, partition)])
        self._next.pop(partition, None)
        self._ends.pop(partition, None)
        self._problems.pop(partition, None)
        self._absent_until.pop(partition, None)

    def stop(self) -> None:
        """Read no partition: the topic is gone, or will be read again."""
        self._consumer.unassign()
        self._next.clear()
        self._ends.clear()
        self._problems.clear()
        self._absent_until.clear()

    def receive(
        self, seconds: float, is_wanted: Callable[[], bool] = lambda: True
    ) -> list[ReadProbe | PartitionEnd | Unreadable]:
        """Wait some seconds for records; return what came.

        Parameters
        ----------
        seconds
            Timeout in seconds.
        is_wanted
            Asked after each look whether to wait no longer.
        """
        now = self._clock()
        self._try_again(now, self._find_hung(now))
        until = now + timedelta(seconds=seconds)
        while True:
            left = (until - now).total_seconds()
            first, now = self._look(1, min(left, LOOK))
            if first:
                break
            if until - now < MILLISECOND or is_wanted():
                return []
        # The first ended the wait; the rest is there already. What is done
        # with the first would make the others seem to arrive later.
        rest, later = self._look(BATCH, 0.0)
        return [*self._to_events(first, now), *self._to_events(rest, later)]

    def close(self) -> None:
        """Let go of the connections."""
        self._consumer.close()

    def _assign(self, partition: int, offset: int) -> None:
        if partition in self._next:
            self._consumer.drop([(self._topic, partition)])
        self._consumer.add({(self._topic, partition): offset})
        self._next[partition] = offset

    def _look(
        self, batch: int, seconds: float
    ) -> tuple[list[Event], datetime]:
        found = list(self._consumer.follow(batch, seconds))
        now, before = self._clock(), self._looked_at
        self._before, self._looked_at = before, now
        if before is not None and now - before > AWAY:
            for partition in self._next:
                self._leave(partition, before)
            self._paused = True
        return found, now

    def _leave(self, partition: int, since: datetime) -> None:
        if self._ends.pop(partition, None) is not None:
            since = min(since, self._read_at[partition])
        self._absent_until.setdefault(partition, since)

    def _find_hung(self, now: datetime) -> set[int]:
        """Find the partitions that are not read, although they have grown;
        return those that are to be read anew.

        That gives the end, if there is nothing more to be read: a log may
        have been truncated, or a transaction may be open. Without an answer
        the partition is unread.
        """
        again = set()
        for partition, unread in list(self._ends.items()):
            if now - unread.since <= AWAY:
                continue
            if unread.again:
                del self._ends[partition]
            else:
                unread.again, unread.since = True, now
                self._absent_until[partition] = self._read_at[partition]
                again.add(partition)
        return again

    def _advance(self, partition: int, offset: int) -> None:
        """Note that everything below an offset was read."""
        self._next[partition] = offset
        unread = self._ends.get(partition)
        if unread is not None and unread.end <= offset:
            self._read_at[partition] = unread.at
            del self._ends[partition]

    def _try_again(self, now: datetime, again: set[int]) -> None:
        """Read partitions anew that failed, hang, or were left behind by a
        pause.

        The library reports an end once: where no more records came, nothing
        else would show that they have been read to it.
        """
        if self._paused:
            again |= self._absent_until.keys()
        self._paused = False
        if self._again_at is not None and now >= self._again_at:
            self._again_at = now + AGAIN if self._problems else None
            again |= self._problems.keys()
        for partition in sorted(again & self._next.keys()):
            self._assign(partition, self._next[partition])

    def _to_events(
        self, found: Iterable[Event], seen_at: datetime
    ) -> Iterator[ReadProbe | PartitionEnd | Unreadable]:
        for event in found:
            yield from self._translate(event, seen_at)

    def _translate(
        self, event: Event, seen_at: datetime
    ) -> Iterator[ReadProbe | PartitionEnd | Unreadable]:
        if isinstance(event, ReadFailure):
            yield from self._translate_failure(event)
        elif isinstance(event, PartitionEnd):
            yield self._reach_end(event)
        else:
            partition, offset = event.partition() or 0, event.offset() or 0
            self._problems.pop(partition, None)
            self._advance(partition, offset + 1)
            yield ReadProbe(
                partition=partition,
                offset=offset,
                value=event.value(),
                seen_at=seen_at,
                absent_until=self._absent_until.get(partition, seen_at),
            )

    def _reach_end(self, event: PartitionEnd) -> PartitionEnd:
        partition = event.partition
        self._problems.pop(partition, None)
        if event.offset > self._next.get(partition, event.offset):
            # It is behind markers, which are no records.
            self._advance(partition, event.offset)
        if not self._paused:
            # Otherwise it may be of before the pause.
            unread = self._ends.get(partition)
            if unread is not None and unread.again:
                self._read_at[partition] = unread.since
                del self._ends[partition]
            self._absent_until.pop(partition, None)
        return event

    def _translate_failure(self, failure: ReadFailure) -> Iterator[Unreadable]:
        partition, offset = failure.partition, failure.offset
        if failure.topic is None:
            # It concerns the connection, and so all partitions.
            self._fail(failure.error, *self._next)
        elif partition is None:
            return
        elif failure.error.code() in OUT_OF_RANGE:
            try:
                start, end = self._consumer.bounds((self._topic, partition))
            except KafkaException as e:
                self._fail(e.args[0], partition)
                return
            # The nearest one that the log has.
            nearest = start if offset is None or offset < start else end
            yield Unreadable(partition=partition, offset=nearest)
        else:
            self._fail(failure.error, partition)

    def _fail(self, error: KafkaError, *partitions: int) -> None:
        """Note that partitions are not read, and since when."""
        problem = str(self._consumer.to_error(error, self._topic))
        now = self._clock()
        self._again_at = self._again_at or now + AGAIN
        for partition in partitions:
            self._problems[partition] = problem
            self._leave(partition, self._before or now)
