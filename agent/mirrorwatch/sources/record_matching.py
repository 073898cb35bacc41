"""Reads the newest copies of one flow, and finds their records."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from confluent_kafka import Message

from ..domain.cluster_view import FlowView, TopicPartition
from ..domain.offsets import OffsetRange
from ..domain.record_matching import (
    DEEP_TAIL,
    LARGEST_WINDOW,
    CopiesRequest,
    FoundCopies,
    Match,
    MatcherState,
    RecordLook,
    RecordMatcher,
    SourceWindow,
    claimed_offsets,
    match,
    match_by_headers,
)
from ..exceptions import SourceError
from ..kafka.admin import Cluster
from ..kafka.offsets import find_first_since, read_ends
from ..kafka.reader import EPOCH, NewestReader, RecordFingerprint, to_time
from ..state.documents import DocumentStore
from ..threads import Latest
from .mirror_state import MirrorState

__all__ = ["RecordMatchingWorker", "read_offset"]


TOGETHER = 2_000
"""Partitions whose copies are read at once: 32,000 records at most, once each
is known. 500 took 0.25 s of processor time, and some seconds in all. The
others wait for the next step."""

TOGETHER_AT_SOURCE = 50_000
"""Records of the source that are read at once."""

MOST_BYTES = 64 * 2**20
"""Bytes of values that are read at once of one side. What is not read by then
is read later, with fewer others."""

PATIENCE = 5.0
"""Seconds without a record, after which what is not there is given up."""

SEARCHED = 100
"""Records of each other partition in which a copy is looked for."""

PROBED = 4
"""Copies of one topic that are looked for in its other partitions."""

PROBE_AGAIN = timedelta(minutes=1)
"""How often to look in other partitions: what others write to the target is
not found anywhere, and not looked for at each tick."""

SAVE_EVERY = timedelta(seconds=30)
"""How often pairs are written down that only went on: they are found again
after a restart."""

DUE = timedelta(minutes=2)
"""Longest time between two steps: each reads both sides and asks three times,
and waits for some seconds each. A worker that is late knows nothing new."""

READER = "newest copies"

OFFSET_BYTES = 8
"""Length of an offset in a header, as an offset is a long."""


class ReadSize:
    """How much is read at once of one side: less, where records are large.

    Parameters
    ----------
    most
        Records at most.

    Notes
    -----
    A little of each partition is read in turn. Of too many that are too large
    none would be read to its end, in each step anew.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.room = most
        """Records that are read at once."""

        self._each: dict[TopicPartition, int] = {}
        """Records of a partition that is too large even alone."""

    def of(self, key: TopicPartition, usual: int) -> int:
        """Return how many records of a partition to read at most."""
        return min(usual, self._each.get(key, usual))

    def learn(
        self,
        asked: Mapping[TopicPartition, OffsetRange],
        read: Sequence[Message],
    ) -> bool:
        """Take what was read; return whether that was too much."""
        records = sum(map(len, asked.values()))
        is_full = sum(map(len, read)) >= MOST_BYTES
        if not is_full:
            more = records + records // 4 + 1
            self.room = min(self._most, max(self.room, more))
            return False
        self.room = max(1, records // 2)
        if len(asked) == 1:
            self._each |= dict.fromkeys(asked, max(1, len(read) // 2))
        return True


class RecordMatchingWorker:
    """Finds which records the newest copies of a mirror are of.

    Parameters
    ----------
    flow
        Name of the flow.
    source, target
        The clusters.
    properties
        librdkafka properties, by alias.
    positions
        Where positions go.
    store
        Where pairs are kept.
    clock
        Gives the time.
    offset_header
        Header of copies that holds the offset of their records, if any.

    Notes
    -----
    A step reads the newest copies of partitions whose end at the target has
    moved since, all in one fetch of each broker. Where headers say the
    offsets of their records, it reads these, in one fetch of each broker of
    the source. Else it asks the source once for the first offsets that are
    not older, which is one request to each broker; and reads there from these
    on.
    """

    interval = timedelta(seconds=1)

    def __init__(
        self,
        *,
        flow: str,
        source: Cluster,
        target: Cluster,
        properties: Mapping[str, Mapping[str, str]],
        positions: MirrorState,
        store: DocumentStore[MatcherState],
        clock: Callable[[], datetime],
        offset_header: str | None = None,
    ) -> None:
        self.name = f"{READER} {flow}"
        self._source = source
        self._positions = positions
        self._store = store
        self._clock = clock
        self._offset_header = offset_header
        self._matcher = RecordMatcher(store.load())
        self._there = NewestReader(properties[source.alias], source.alias)
        self._here = NewestReader(properties[target.alias], target.alias)
        self._source_size = ReadSize(TOGETHER_AT_SOURCE)
        self._target_size = ReadSize(TOGETHER * DEEP_TAIL)
        self._view: Latest[FlowView | None] = Latest(None)
        self._probed: dict[str, datetime] = {}
        self._saved_at: datetime | None = None
        # Until the first look, no position is known.
        positions.catch_up(READER, 1)

    def take(self, view: FlowView) -> None:
        """Keep a survey."""
        self._view.set(view)

    def step(self) -> None:
        """Read one batch of copies, and what they are of.

        Raises
        ------
        StateError
            Raised if pairs cannot be kept; they are with the next step.
        """
        self._positions.expect(self.name, self._clock() + DUE)
        view = self._view.get()
        if view is None or view.source is None or view.target is None:
            return
        requests = self._matcher.plan(view)[:TOGETHER]
        # Before new ones are noted, of the topics that are there now.
        self._forget()
        if requests:
            self._read(requests)
        self._positions.set_unproved(self._matcher.unproved())
        self._positions.catch_up(READER, 0)
        self._save(view.at)

    def read_all(self, view: FlowView) -> None:
        """Read all copies of a survey that can be read.

        Raises
        ------
        StateError
            Raised if pairs cannot be kept.
        """
        self.take(view)
        while self._matcher.plan(view):
            self.step()

    @property
    def scattered(self) -> frozenset[str]:
        """Topics whose copies were found in other partitions."""
        return frozenset(self._matcher.state.scattered)

    def close(self) -> None:
        """Let go of the connections."""
        self._there.close()
        self._here.close()

    def _read(self, requests: Sequence[CopiesRequest]) -> None:
        try:
            copies = self._read_copies(requests)
            found, others = self._match_by_headers(requests, copies)
            windows = self._read_windows(
                others, {r.key: copies[r.key] for r in others}
            )
        except SourceError as e:
            for request in requests:
                self._matcher.fail(request, str(e), self._clock())
            return
        at = self._clock()
        found |= {
            request.key: (
                request,
                match(
                    copies[request.key],
                    windows[request.key],
                    self._matcher.pair(request.key),
                ),
            )
            for request in others
            if request.key in windows
        }
        self._find_scattered(found.values())
        self._forget()
        for key, (request, matched) in found.items():
            keys = {look.key for _, look in copies[key]} - {None}
            for sync in self._matcher.answer(
                request, matched, at, keys=len(keys)
            ):
                self._positions.note(sync)

    def _read_copies(
        self, requests: Sequence[CopiesRequest]
    ) -> dict[TopicPartition, FoundCopies]:
        """Return the copies of the partitions that gave theirs."""
        size = self._target_size
        wanted: dict[TopicPartition, OffsetRange] = {}
        asked, room = list[CopiesRequest](), size.room
        for request in requests:
            place, end = (request.remote, request.key[1]), request.copies.end
            span = OffsetRange(end - size.of(place, len(request.copies)), end)
            if wanted and len(span) > room:
                continue  # with the next step
            asked.append(request)
            room -= len(span)
            if len(span):
                wanted[place] = span
        read, left = self._here.read(wanted, PATIENCE, most_bytes=MOST_BYTES)
        is_full = size.learn(wanted, read)
        looks = _by_partition(read, self._offset_header)
        found: dict[TopicPartition, FoundCopies] = {}
        for request in asked:
            place = request.remote, request.key[1]
            if place not in left:
                found[request.key] = sorted(looks.get(place, {}).items())
            elif left[place] is not None or not is_full:
                self._fail(request, left[place])
        return found

    def _match_by_headers(
        self,
        requests: Iterable[CopiesRequest],
        copies: Mapping[TopicPartition, FoundCopies],
    ) -> tuple[
        dict[TopicPartition, tuple[CopiesRequest, Match]], list[CopiesRequest]
    ]:
        """Return what copies are of whose headers say it, and the requests
        whose copies are to be looked for as without headers.
        """
        claimed: dict[TopicPartition, OffsetRange] = {}
        asked: list[CopiesRequest] = []
        room = TOGETHER_AT_SOURCE
        for request in requests:
            if request.key not in copies:
                continue
            span = claimed_offsets(copies[request.key], request.log_end)
            if span is not None:
                if claimed and len(span) > room:
                    continue  # with the next step
                claimed[request.key] = span
                room -= len(span)
            asked.append(request)
        read = self._read_records(claimed)
        found: dict[TopicPartition, tuple[CopiesRequest, Match]] = {}
        others: list[CopiesRequest] = []
        for request in asked:
            key = request.key
            matched = match_by_headers(copies[key], read.get(key, {}))
            if matched is None:
                others.append(request)
            else:
                found[key] = request, matched
        return found, others

    def _read_records(
        self, wanted: Mapping[TopicPartition, OffsetRange]
    ) -> dict[TopicPartition, dict[int, RecordLook]]:
        """Return what comes in time of records of the source, by offset."""
        if not wanted:
            return {}
        read, _ = self._there.read(wanted, PATIENCE, most_bytes=MOST_BYTES)
        return _by_partition(read)

    def _read_windows(
        self,
        requests: Iterable[CopiesRequest],
        copies: Mapping[TopicPartition, FoundCopies],
    ) -> dict[TopicPartition, SourceWindow]:
        """Return the records that are not older than copies.

        From the oldest of them on, if there are not too many; else from the
        newest on.
        """
        there = {r.key: r for r in requests if copies.get(r.key)}
        since = {k: _oldest(copies[k]) for k in there}
        firsts = self._look_up(since, there)
        size = self._source_size
        most = {key: size.of(key, LARGEST_WINDOW) for key in there}
        far = {
            key
            for key, request in there.items()
            if request.log_end - firsts[key] > most[key]
        }
        newest = {k: max(0, copies[k][-1][1].timestamp) for k in far}
        since |= newest
        firsts |= self._look_up(newest, there)
        spans: dict[TopicPartition, OffsetRange] = {}
        room = size.room
        for key, request in there.items():
            end = min(request.log_end, firsts[key] + most[key])
            span = OffsetRange(firsts[key], end)
            if spans and len(span) > room:
                continue  # with the next step
            spans[key] = span
            room -= len(span)
        wanted = {k: s for k, s in spans.items() if len(s)}
        read, left = self._there.read(wanted, PATIENCE, most_bytes=MOST_BYTES)
        is_full = size.learn(wanted, read)
        looks = _by_partition(read)
        for key, error in left.items():
            if error is not None or not is_full:
                self._fail(there[key], error)
        none = (key for key in copies if key not in there)
        return dict.fromkeys(none, _NO_WINDOW) | {
            key: SourceWindow(
                since=since[key],
                end=span.end,
                log_end=there[key].log_end,
                records=looks.get(key, {}),
            )
            for key, span in spans.items()
            if key not in left
        }

    def _look_up(
        self,
        since: Mapping[TopicPartition, int],
        requests: Mapping[TopicPartition, CopiesRequest],
    ) -> dict[TopicPartition, int]:
        """Return the first offsets that are not older than times in ms, at
        most the end.
        """
        times = {k: time for k, ms in since.items() if (time := to_time(ms))}
        found = find_first_since(self._source, times)
        ends = {key: requests[key].log_end for key in since}
        return ends | {
            key: min(first, ends[key])
            for key, first in found.items()
            if first is not None
        }

    def _find_scattered(
        self, found: Iterable[tuple[CopiesRequest, Match]]
    ) -> None:
        """Look for copies that were not found in the other partitions."""
        now = self._clock()
        probes: dict[str, list[tuple[CopiesRequest, RecordLook]]] = {}
        for request, matched in found:
            topic = request.key[0]
            known = probes.get(topic, [])
            if (
                not matched.unmatched
                or request.partitions == 1
                or len(known) == PROBED
                or now - self._probed.get(topic, EPOCH) < PROBE_AGAIN
            ):
                continue
            probes[topic] = [*known, (request, matched.unmatched[-1][1])]
        for topic, looks in probes.items():
            self._probed[topic] = now
            try:
                is_elsewhere = any(
                    self._is_elsewhere(request, look)
                    for request, look in looks
                )
            except SourceError as e:
                for request, _ in looks:
                    self._matcher.fail(request, str(e), now)
                continue
            if is_elsewhere:
                self._matcher.scatter(topic, looks[0][0].source_id)

    def _is_elsewhere(self, request: CopiesRequest, look: RecordLook) -> bool:
        """Return whether another partition of the source holds a record that
        looks like a copy.
        """
        topic, own = request.key
        time = to_time(look.timestamp)
        if time is None:
            return False
        others = {
            (topic, p): time for p in range(request.partitions) if p != own
        }
        firsts = find_first_since(self._source, others)
        # What is not there yet would be waited for, record by record.
        ends = read_ends(self._source, others)
        wanted = {
            key: OffsetRange(first, end)
            for key, first in firsts.items()
            if first is not None
            and (end := min(first + SEARCHED, ends.get(key, first))) > first
        }
        read, _ = self._there.read(wanted, PATIENCE, most_bytes=MOST_BYTES)
        return any(
            (record.content, record.timestamp)
            == (look.content, look.timestamp)
            for records in _by_partition(read).values()
            for record in records.values()
        )

    def _forget(self) -> None:
        for key in self._matcher.forgotten:
            self._positions.forget_sync(key)
        self._matcher.forgotten.clear()

    def _fail(self, request: CopiesRequest, error: SourceError | None) -> None:
        why = None if error is None else str(error)
        self._matcher.fail(request, why, self._clock())

    def _save(self, at: datetime) -> None:
        due = self._saved_at is None or at - self._saved_at >= SAVE_EVERY
        if due and self._matcher.changed:
            self._store.save(self._matcher.state)
            self._saved_at, self._matcher.changed = at, False


_NO_WINDOW = SourceWindow(since=0, end=0, log_end=0, records={})


def _oldest(copies: FoundCopies) -> int:
    """Return the time in milliseconds of the oldest copy that has one."""
    times = [c.timestamp for _, c in copies if c.timestamp >= 0]
    return min(times, default=0)


def _by_partition(
    messages: Iterable[Message], offset_header: str | None = None
) -> dict[TopicPartition, dict[int, RecordLook]]:
    found: dict[TopicPartition, dict[int, RecordLook]] = {}
    for message in messages:
        place = message.topic() or "", message.partition() or 0
        found.setdefault(place, {})[message.offset() or 0] = _look(
            message, offset_header
        )
    return found


def _look(message: Message, offset_header: str | None) -> RecordLook:
    record = RecordFingerprint.of(message)
    key = message.key()
    return RecordLook(
        content=record.content,
        timestamp=record.timestamp,
        key=None if key is None else hash(bytes(key)),
        headers=frozenset(map(hash, message.headers() or ())),
        by_broker=record.by_broker,
        upstream=None
        if offset_header is None
        else read_offset(message, offset_header),
    )


def read_offset(message: Message, name: str) -> int | None:
    """Return the offset that a header holds; the last of them, if a record
    has come through several mirrors.
    """
    headers: Any = message.headers() or ()
    found = [value for key, value in headers if key == name]
    if not found or found[-1] is None or len(found[-1]) != OFFSET_BYTES:
        return None
    return int.from_bytes(found[-1], "big")
