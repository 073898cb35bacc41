"""Positions of a mirror that says none: those of its newest copies.

Each is looked up at the source. A copy keeps timestamp, key and value of its
record: where one record alone looks like it, both offsets are as good as an
offset sync. Some mirrors write the offset of the record into a header: then
it is known which record to look at. What is not proved so is named with the
reason, and is no position.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from math import inf

from .cluster_view import STALE_END, FlowView, PartitionView, TopicPartition
from .mirror_records import Sync
from .offsets import OffsetRange
from .skips.model import OffsetPair

__all__ = [
    "AGAIN",
    "DEEP_TAIL",
    "LARGEST_WINDOW",
    "OVERDUE",
    "CopiesRequest",
    "FoundCopies",
    "MatchedPartition",
    "MatcherState",
    "RecordLook",
    "RecordMatcher",
    "SourceWindow",
    "Unproved",
    "claimed_offsets",
    "match",
    "match_by_headers",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordLook:
    """What a copy has in common with its record."""

    content: int
    """Hash of key and value."""

    timestamp: int
    """Milliseconds; negative if it has none."""

    key: int | None = None
    """Hash of the key; `None` without one."""

    headers: frozenset[int] = frozenset()
    """Hashes of the headers. Mirrors add some, so they only decide between
    records that are alike otherwise."""

    by_broker: bool = False
    """Whether the broker set the timestamp when it stored the record."""

    upstream: int | None = None
    """Source offset that a header of the copy says; `None` without one."""


class Unproved(StrEnum):
    """Why a position is not known."""

    UNREAD = "its newest copies have not been read yet"
    NO_COPY = "the target holds no copy of it any more"
    NOT_FOUND = (
        "its newest copies are not found at the source: altered by the "
        "mirror, of another producer, expired, or compacted"
    )
    NOT_UNIQUE = "several records at the source look like its newest copy"
    STAMPED = (
        "the target sets timestamps itself (message.timestamp.type is "
        "LogAppendTime)"
    )
    TOO_MANY = (
        "the records of the source that may look like its newest copy are "
        "too many to read"
    )
    UNSURE = (
        "it is not known yet whether the mirror keeps the partitions of "
        "records"
    )
    SCATTERED = "the mirror does not keep the partitions of records"
    UNEVEN = "the topic has more partitions at the target"


FoundCopies = Sequence[tuple[int, RecordLook]]
"""Copies by their offset at the target, ascending."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceWindow:
    """Records of one partition at the source, read from a time on."""

    since: int
    """Time in milliseconds: what is before the window is older."""

    end: int
    """Offset up to which it was read."""

    log_end: int
    """Where the source ended when the copies were there already."""

    records: Mapping[int, RecordLook]
    """What it holds, by offset."""

    @property
    def is_whole(self) -> bool:
        """Whether it holds all that can have been copied since that time."""
        return self.end >= self.log_end

    @property
    def certain_before(self) -> float:
        """Time in milliseconds before which it holds all records from its
        begin on: for ever, if it was read to the end, and that of the last
        record, if the broker set the timestamps, which then ascend.
        """
        if self.is_whole:
            return inf
        if all(look.by_broker for look in self.records.values()):
            return max((r.timestamp for r in self.records.values()), default=0)
        return 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Match:
    """What copies were found to be of."""

    pairs: tuple[OffsetPair, ...] = ()
    """Those that are proved, in the order of the target."""

    unmatched: tuple[tuple[int, RecordLook], ...] = ()
    """Copies that no record of the window looks like."""

    problem: Unproved | None = None
    """Why the newest copy is not the last of the pairs; `None` if it is."""


def match(
    copies: FoundCopies, window: SourceWindow, before: OffsetPair | None
) -> Match:
    """Find the records of copies.

    Parameters
    ----------
    copies
        The newest copies of a partition.
    window
        Records of the source.
    before
        The pair that was proved last, of the same topics.

    Notes
    -----
    All records from the first one that is not older than a copy can be its
    record, and none before. So one that alone looks like it among all of
    these is its record. Where they were not all read, that is proved only if
    the broker of the source set the timestamps, which then ascend, and later
    ones were read; or if both sides went on by the same number of offsets
    since the last pair, as far as one can tell.
    """
    if not copies:
        return Match(problem=Unproved.NO_COPY)
    if any(look.by_broker for _, look in copies):
        return Match(problem=Unproved.STAMPED)
    index: dict[tuple[int, int], list[int]] = {}
    for offset, look in window.records.items():
        index.setdefault((look.content, look.timestamp), []).append(offset)
    certain = window.certain_before
    pairs: list[OffsetPair] = []
    unmatched: list[tuple[int, RecordLook]] = []
    problem: Unproved | None = None
    for at, copy in copies:
        alike = index.get((copy.content, copy.timestamp), ())
        is_certain = window.since <= copy.timestamp < certain
        pair, problem = _find(
            _closest(alike, copy, window),
            at,
            pairs[-1] if pairs else before,
            is_certain=is_certain,
        )
        if pair is not None:
            pairs.append(pair)
        elif is_certain and not alike:
            unmatched.append((at, copy))
    if problem is Unproved.NOT_UNIQUE:
        end = _even_end(copies, window, pairs[-1] if pairs else before)
        if end is not None:
            pairs.append(end)
            problem = None
    return Match(
        pairs=tuple(pairs), unmatched=tuple(unmatched), problem=problem
    )


def match_by_headers(
    copies: FoundCopies, records: Mapping[int, RecordLook]
) -> Match | None:
    """Find the records of copies whose headers say their offsets.

    Parameters
    ----------
    copies
        The newest copies of a partition.
    records
        What the source holds at these offsets.

    Returns
    -------
    Match or None
        `None` if that does not prove what the newest copy is of.

    Notes
    -----
    The record must look like its copy: a header may come from a mirror that
    copied the record to the source, with the offset that it had elsewhere.
    """
    pairs = [
        OffsetPair(copy.upstream, at)
        for at, copy in copies
        if copy.upstream is not None
        and (record := records.get(copy.upstream)) is not None
        and record.content == copy.content
        and (copy.by_broker or record.timestamp == copy.timestamp)
    ]
    if not pairs or pairs[-1].downstream != copies[-1][0]:
        return None
    return Match(pairs=tuple(pairs))


def claimed_offsets(copies: FoundCopies, log_end: int) -> OffsetRange | None:
    """Return the source offsets that headers of copies say.

    Parameters
    ----------
    copies
        The newest copies of a partition.
    log_end
        End of the source, read after they were there: what is beyond it is
        of no record.

    Returns
    -------
    OffsetRange or None
        That of the newest copy alone, if all lie too far apart; `None` if the
        newest has none.
    """
    newest = copies[-1][1].upstream if copies else None
    if newest is None or newest >= log_end:
        return None
    offsets = [
        look.upstream
        for _, look in copies
        if look.upstream is not None and look.upstream < log_end
    ]
    found = OffsetRange(min(offsets), max(offsets) + 1)
    if len(found) > LARGEST_WINDOW:
        return OffsetRange(newest, newest + 1)
    return found


def _find(
    alike: Sequence[int],
    at: int,
    last: OffsetPair | None,
    *,
    is_certain: bool,
) -> tuple[OffsetPair | None, Unproved | None]:
    """Return what a copy is of, or why that is not known.

    Parameters
    ----------
    alike
        Records that look like it.
    at
        Its offset.
    last
        The pair before.
    is_certain
        Whether there can be no others.
    """
    if len(alike) > 1:
        return None, Unproved.NOT_UNIQUE
    if alike:
        pair = OffsetPair(alike[0], at)
        if is_certain or (last is not None and _in_step(last, pair)):
            return pair, None
    elif is_certain:
        return None, Unproved.NOT_FOUND
    return None, Unproved.TOO_MANY


def _closest(
    alike: Sequence[int], copy: RecordLook, window: SourceWindow
) -> Sequence[int]:
    """Return those of records that are alike whose headers the copy has."""
    if len(alike) < 2:
        return alike
    records = window.records
    same = [o for o in alike if records[o].headers <= copy.headers]
    most = max((len(records[o].headers) for o in same), default=0)
    return [o for o in same if len(records[o].headers) == most] or alike


def _in_step(one: OffsetPair, other: OffsetPair) -> bool:
    """Return whether both sides lie equally far between two pairs."""
    return one.upstream - other.upstream == one.downstream - other.downstream


def _even_end(
    copies: FoundCopies, window: SourceWindow, last: OffsetPair | None
) -> OffsetPair | None:
    """Return the end of both sides, if each copy after a pair looks like the
    record as far after it, and the source holds no more.

    Then nothing waits, whichever copy is of which record.
    """
    if last is None or not window.is_whole:
        return None
    newest = copies[-1][0]
    after = {at: look for at, look in copies if at > last.downstream}
    steps = newest - last.downstream
    if last.upstream + 1 + steps != window.log_end or len(after) != steps:
        return None
    for step in range(1, steps + 1):
        record = window.records.get(last.upstream + step)
        copy = after[last.downstream + step]
        if record is None or (record.content, record.timestamp) != (
            copy.content,
            copy.timestamp,
        ):
            return None
    return OffsetPair(last.upstream + steps, newest)


@dataclass(kw_only=True, slots=True)
class MatchedPartition:
    """What is known of one partition as long as both topics keep their ids."""

    source_id: str
    """Id of the topic at the source."""

    target_id: str
    """Id of the topic at the target."""

    upstream: int | None = None
    """Source offset of the last pair; `None` until one is proved."""

    downstream: int = -1
    """Its target offset."""

    found_at: datetime | None = None
    """When it was found."""

    replaced: bool = False
    """Whether the target had another topic before: then nothing is known of
    what the mirror has passed until a copy is found."""

    @property
    def pair(self) -> OffsetPair | None:
        """The last pair that was proved."""
        if self.upstream is None:
            return None
        return OffsetPair(self.upstream, self.downstream)


@dataclass(kw_only=True, slots=True)
class MatcherState:
    """What is kept over restarts of the agent."""

    partitions: dict[str, dict[str, MatchedPartition]] = field(
        default_factory=dict
    )
    """By topic and number: JSON knows no other keys."""

    kept: dict[str, int] = field(default_factory=dict)
    """By topic: looks in which all copies were found in their partition."""

    scattered: dict[str, str] = field(default_factory=dict)
    """Topics whose copies were found in other partitions, with the id at the
    source."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CopiesRequest:
    """Copies to be read at the target."""

    key: TopicPartition
    """The partition at the source."""

    remote: str
    """Name of the topic at the target."""

    partitions: int
    """Partitions of the topic at the source."""

    copies: OffsetRange
    """What to read."""

    is_deep: bool
    """Whether these are all that are read."""

    log_end: int
    """End of the source, read after that of the target."""

    source_id: str
    target_id: str
    """Ids of the topics: an answer about others is of no use."""


TAIL = 16
"""Newest copies that are read of a partition that went on."""

DEEP_TAIL = 200
"""Newest copies that are read where none is known to be of which record, or
the newest ones were not found: many batches of a producer."""

LARGEST_WINDOW = 5_000
"""Records of a partition that are read at the source at most: some megabytes.
A mirror that is further behind is not compared record by record."""

SURE = 20
"""Looks after which a mirror is known to keep partitions. By chance a copy is
in the partition of its record as well: one of two at most, so one in a million
times in so many looks. Records with different keys count as looks of their
own, as each key has its partition."""

OVERDUE = timedelta(minutes=2)
"""How long copies may wait to be read until the position is not known. Up to
then it is counted back from the target's end, as with offset syncs."""

AGAIN = timedelta(seconds=15)
"""How long what could not be read is left alone."""


class RecordMatcher:
    """Follows which records the newest copies are of.

    Parameters
    ----------
    state
        What is known from before.
    """

    def __init__(self, state: MatcherState) -> None:
        self.state = state
        self.changed = False
        """Whether the state has changed since it was last kept."""

        self.forgotten: list[TopicPartition] = []
        """Partitions of which what was said is void. The caller empties it."""

        self._view: FlowView | None = None
        self._ends: dict[TopicPartition, int] = {}
        """End of the target up to which copies were read."""

        self._told: dict[TopicPartition, OffsetPair] = {}
        self._problems: dict[TopicPartition, str] = {}
        self._deep: set[TopicPartition] = set()
        self._since: dict[TopicPartition, datetime] = {}
        """Since when the newest copies wait to be read."""

        self._failed: dict[TopicPartition, datetime] = {}
        self._shorter: dict[TopicPartition, datetime] = {}
        """Since when a log at the target is shorter than it was."""

    def plan(self, view: FlowView) -> list[CopiesRequest]:
        """Return which copies to read, those that wait longest first."""
        if view.source is None or view.target is None:
            return []
        self._view = view
        since, self._since = self._since, {}
        found: list[CopiesRequest] = []
        for key, seen in view.partitions.items():
            if seen is None or seen.target_id is None:
                continue
            known = self._meet(key, seen)
            if not self._has_news(key, seen, known, view.at):
                continue
            self._since[key] = since.get(key, view.at)
            failed = self._failed.get(key)
            if failed is not None and view.at - failed < AGAIN:
                continue
            partitions = view.source.topics[key[0]].partitions
            if view.target.topics[seen.remote].partitions > partitions:
                self._problems[key] = Unproved.UNEVEN
                continue
            is_deep = key in self._deep or known.pair is None
            end, depth = seen.copies_end, DEEP_TAIL if is_deep else TAIL
            start = view.target.starts.get((seen.remote, key[1]), 0)
            found.append(
                CopiesRequest(
                    key=key,
                    remote=seen.remote,
                    partitions=partitions,
                    copies=OffsetRange(max(start, end - depth), end),
                    is_deep=is_deep,
                    log_end=seen.source_end,
                    source_id=seen.source_id,
                    target_id=seen.target_id,
                )
            )
        return sorted(found, key=lambda r: (self._since[r.key], r.key))

    def pair(self, key: TopicPartition) -> OffsetPair | None:
        """Return the pair of a partition that was proved last."""
        kept = self._partition(key)
        return None if kept is None else kept.pair

    def fail(
        self, request: CopiesRequest, why: str | None, at: datetime
    ) -> None:
        """Take that copies, or what they are of, could not be read; `None` if
        they only did not come in time.
        """
        if why is not None:
            self._problems[request.key] = why
        self._failed[request.key] = at

    def answer(
        self,
        request: CopiesRequest,
        found: Match,
        at: datetime,
        *,
        keys: int = 0,
    ) -> list[Sync]:
        """Take what copies are of; return what to take for syncs.

        Parameters
        ----------
        request
            Which copies.
        found
            What they are of.
        at
            When both sides had been read.
        keys
            Different keys of the copies.
        """
        key, topic = request.key, request.key[0]
        kept = self._partition(key)
        if kept is None or (kept.source_id, kept.target_id) != (
            request.source_id,
            request.target_id,
        ):
            return []  # of topics that are no more
        self._since.pop(key, None)
        self._failed.pop(key, None)
        self._ends[key] = request.copies.end
        known, looks = self._known_before(request, kept), max(1, keys)
        if known is not None and found.problem is not None:
            found, looks = Match(pairs=(known,)), 0  # nothing was found
        if found.problem is None:
            self._deep.discard(key)
            self._problems.pop(key, None)
        else:
            self._problems[key] = found.problem
            self._deep.add(key)
            if not request.is_deep and not found.pairs:
                del self._ends[key]  # older ones may be found
        if found.pairs and not found.unmatched:
            self._count_kept(topic, looks)
        told = self._corners(key, found.pairs)
        if told and self._is_doubtful(request, kept.pair, told[-1]):
            self._problems[key] = Unproved.UNSURE
            return []
        read = {pair.downstream for pair in found.pairs}
        return [self._tell(key, kept, pair, at, read) for pair in told]

    def _known_before(
        self, request: CopiesRequest, kept: MatchedPartition
    ) -> OffsetPair | None:
        """Return the pair that was proved before a restart, if its copy still
        is the newest one.

        What that is of is known, also if it can be read no more, or looks
        like others by now.
        """
        is_newest = kept.downstream + 1 == request.copies.end
        return (
            kept.pair if is_newest and request.key not in self._told else None
        )

    def scatter(self, topic: str, source_id: str) -> None:
        """Take that copies of a topic were found in other partitions."""
        self.state.scattered[topic] = source_id
        self.state.kept.pop(topic, None)
        self.changed = True
        for number in self.state.partitions.pop(topic, {}):
            self._forget((topic, int(number)))

    def unproved(self) -> dict[TopicPartition, str]:
        """Return the partitions whose position is not known, with the reason.

        It is known, whatever the newest copies are, where the source holds
        nothing after the last record that was copied, or nothing at all; and
        where nothing was copied.
        """
        found: dict[TopicPartition, str] = {}
        view = self._view
        for key, seen in (view.partitions if view else {}).items():
            if seen is None or seen.source_end == seen.log_start:
                continue
            known = self._told.get(key)
            if known is not None and known.upstream + 1 == seen.source_end:
                continue
            problem = self._problems.get(key)
            if key[0] in self.state.scattered:
                problem = Unproved.SCATTERED
            elif problem is None and self._is_unread(key, seen):
                problem = Unproved.UNREAD
            elif problem is None and self._is_emptied(key):
                problem = Unproved.NO_COPY
            if problem is not None:
                found[key] = problem
        return found

    def _is_unread(self, key: TopicPartition, seen: PartitionView) -> bool:
        """Return whether copies wait to be read for too long, or all do."""
        if seen.copies_end and key not in self._told:
            return True
        since, view = self._since.get(key), self._view
        return (
            since is not None
            and view is not None
            and view.at - since > OVERDUE
        )

    def _is_emptied(self, key: TopicPartition) -> bool:
        """Return whether the mirror copied to a topic that is no more."""
        kept = self._partition(key)
        return kept is not None and kept.replaced and key not in self._told

    def _has_news(
        self,
        key: TopicPartition,
        seen: PartitionView,
        known: MatchedPartition,
        at: datetime,
    ) -> bool:
        """Return whether the target holds copies that were not read.

        A new leader may tell an end from before: a lower one is believed
        after a while.
        """
        if key[0] in self.state.scattered or seen.target_end is None:
            return False
        if known.pair is None or seen.target_end > known.downstream:
            self._shorter.pop(key, None)
        elif at - self._shorter.setdefault(key, at) < STALE_END:
            return False
        else:
            self._forget(key)
            known.upstream, known.downstream = None, -1
            self.changed = True
        return seen.target_end not in {0, self._ends.get(key)}

    def _is_doubtful(
        self,
        request: CopiesRequest,
        before: OffsetPair | None,
        after: OffsetPair,
    ) -> bool:
        """Return whether records seem to be missing, or repeated, which may
        only be in other partitions.
        """
        return (
            request.partitions > 1
            and before is not None
            and not _in_step(before, after)
            and self.state.kept.get(request.key[0], 0) < SURE
        )

    def _count_kept(self, topic: str, looks: int) -> None:
        before = self.state.kept.get(topic, 0)
        if before < SURE:
            self.state.kept[topic] = now = min(SURE, before + looks)
            self.changed = True
            if now == SURE:
                self._look_again(topic)

    def _look_again(self, topic: str) -> None:
        """Have copies read again that were in doubt: others show by now that
        partitions are kept.
        """
        for key, problem in self._problems.items():
            if key[0] == topic and problem == Unproved.UNSURE:
                self._ends.pop(key, None)

    def _corners(
        self, key: TopicPartition, pairs: Sequence[OffsetPair]
    ) -> list[OffsetPair]:
        """Return the last pair, and those before and behind which records
        were left out or repeated.
        """
        before = self.pair(key)
        new = [
            p
            for p in pairs
            if before is None or p.downstream > before.downstream
        ]
        if not new and key not in self._told:
            # As before the agent was started; older ones are no step back.
            known = before.downstream if before else -1
            return [p for p in pairs[-1:] if p.downstream == known]
        steps = [before or new[0], *new]
        return [
            pair
            for n, pair in enumerate(new)
            if n + 1 == len(new)
            or not _in_step(pair, new[n + 1])
            or not _in_step(steps[n], pair)
        ]

    def _tell(
        self,
        key: TopicPartition,
        kept: MatchedPartition,
        pair: OffsetPair,
        at: datetime,
        read: AbstractSet[int],
    ) -> Sync:
        last = pair.downstream - 1
        after_unread = last not in {*read, kept.downstream} and (
            kept.pair != pair
        )
        if kept.pair != pair:
            kept.upstream, kept.downstream = pair.upstream, pair.downstream
            kept.found_at = at
            self.changed = True
        self._told[key] = pair
        return Sync(
            topic=key[0],
            partition=key[1],
            upstream=pair.upstream,
            downstream=pair.downstream,
            written_at=kept.found_at or at,
            after_unread=after_unread,
        )

    def _meet(
        self, key: TopicPartition, seen: PartitionView
    ) -> MatchedPartition:
        """Return what is known of a partition; begin anew where its topic was
        recreated on either side.
        """
        topic, number = key[0], str(key[1])
        if self.state.scattered.get(topic, seen.source_id) != seen.source_id:
            del self.state.scattered[topic]
        kept = self._partition(key)
        ids = seen.source_id, seen.target_id or ""
        if kept is not None and (kept.source_id, kept.target_id) == ids:
            return kept
        if kept is not None:
            self._forget(key)
            if kept.source_id != seen.source_id:
                self.state.kept.pop(topic, None)
        kept = MatchedPartition(
            source_id=ids[0],
            target_id=ids[1],
            replaced=kept is not None and kept.target_id != ids[1],
        )
        self.state.partitions.setdefault(topic, {})[number] = kept
        self.changed = True
        return kept

    def _forget(self, key: TopicPartition) -> None:
        for known in (self._ends, self._told, self._problems, self._since):
            known.pop(key, None)
        self._deep.discard(key)
        self.forgotten.append(key)

    def _partition(self, key: TopicPartition) -> MatchedPartition | None:
        return self.state.partitions.get(key[0], {}).get(str(key[1]))
