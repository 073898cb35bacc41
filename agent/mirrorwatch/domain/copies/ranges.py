"""Ranges that are read on both sides, and the matching of their records."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..cluster_view import TopicPartition
from .coverage import OffsetPair

__all__ = [
    "EndRequest",
    "LogSide",
    "MatchedRange",
    "RangeContent",
    "RangeRequest",
    "leave_out_alike",
    "match",
    "to_ranges",
]


LogSide = tuple[TopicPartition, bool]
"""Partition at the source, and whether its copy at the target is meant."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EndRequest:
    """Log end that fell, to be confirmed by the brokers.

    A new leader may report an old end until its followers have fetched.
    """

    place: TopicPartition
    """Partition at the source."""

    remote: str
    """Topic at the target."""

    at_target: bool
    """Side whose log seems to be truncated: the target, else the source."""

    offset: int
    """Former end: brokers refuse to read from it if the log was truncated."""

    @property
    def side(self) -> LogSide:
        """Log that seems to be truncated."""
        return self.place, self.at_target


@dataclass(frozen=True, kw_only=True, slots=True)
class RangeRequest:
    """Offsets of one partition to be read on both sides."""

    place: TopicPartition
    """Partition at the source."""

    remote: str
    """Topic at the target."""

    target_id: str | None
    """Id of the topic at the target; `None` while it does not exist."""

    start: OffsetPair
    """Cursor: all up to it is accounted for. It is read, too: if it is no pair
    any more, a log was truncated."""

    pairs: tuple[OffsetPair, ...]
    """Known pairs after it, in the order of the target. Without any the range
    ends at the target's end."""

    source: tuple[range, ...]
    target: range
    passed: int
    """First source offset that the mirror may not have passed."""

    by_end: bool = False
    """Loss proved by the log end of the target, which must be the same
    afterwards."""

    is_wide: bool = False
    """More of the source read than the target has room for."""

    @property
    def size(self) -> int:
        """Offsets to read on both sides."""
        return len(self.target) + sum(len(span) for span in self.source)


@dataclass(frozen=True, kw_only=True, slots=True)
class RangeContent:
    """Digests of the records of a range, by offset."""

    source: Mapping[int, int] = field(default_factory=dict)
    target: Mapping[int, int] = field(default_factory=dict)
    source_start: int = 0
    """Log start of the source, read after the records."""

    target_start: int = 0
    source_compacted: bool = False
    target_compacted: bool = False

    def is_truncated(self, start: OffsetPair) -> bool:
        """Return whether a pair that was proved is none any more.

        Nothing is said where copies never look like their records.
        """
        here, there = (
            self.target.get(start.target),
            self.source.get(start.source),
        )
        return (
            here is not None
            and there is not None
            and here != there
            and not {*self.source.values()}.isdisjoint(self.target.values())
        )


@dataclass(slots=True)
class MatchedRange:
    """Copies of a range, by the digests of both sides."""

    copies: dict[int, int] = field(default_factory=dict)
    """Source offset by target offset, in the order of the target."""

    unmatched: int = 0
    """Records of the target without a like one at the source: foreign,
    altered, or copies of what was not read."""

    holes: int = 0
    """Target offsets without a record: transaction markers."""

    gone: int = 0
    """Target offsets whose record may have expired or been compacted."""

    passed: int = 0
    """First source offset above all unambiguous copies."""

    wrong: set[OffsetPair] = field(default_factory=set)
    """Known pairs whose records differ: syncs of a log that was truncated."""

    is_altered: bool = False
    """No copy has the digest of any record."""

    is_guessed: bool = False
    """Some copy may be of another record: of one that looks alike, or that has
    expired."""

    @property
    def hidden(self) -> int:
        """Target offsets that may be copies of any record of the range."""
        return self.unmatched + self.gone

    @property
    def last(self) -> OffsetPair | None:
        """Last copy."""
        target = max(self.copies, default=None)
        if target is None:
            return None
        return OffsetPair(target, self.copies[target])

    def runs(self) -> Iterator[tuple[range, int]]:
        """Yield consecutive source offsets that were copied to consecutive
        target offsets, with the target offset of the first, in the order of
        the target.
        """
        first, begin, length = -1, -1, 0
        for target, source in self.copies.items():
            if length and (source, target) == (first + length, begin + length):
                length += 1
                continue
            if length:
                yield range(first, first + length), begin
            first, begin, length = source, target, 1
        if length:
            yield range(first, first + length), begin


def match(request: RangeRequest, content: RangeContent) -> MatchedRange:
    """Find the source record of each target record.

    Parameters
    ----------
    request
        The range.
    content
        Its records on both sides.

    Notes
    -----
    A mirror copies in order: of records that look alike the next one after the
    last copy is taken, and only without one an earlier one. Known pairs
    decide. Records that look like none are copies of those that have expired
    since at the source, as long as these would come next.
    """
    sources: dict[int, list[int]] = {}
    for offset, digest in content.source.items():
        sources.setdefault(digest, []).append(offset)
    known = {pair.target: pair.source for pair in request.pairs}
    found, at = MatchedRange(), request.start.source
    first = request.start.target + 1
    copies = {*content.target.values()}
    found.is_altered = bool(sources and copies) and copies.isdisjoint(sources)
    for offset in range(first, request.target.stop):
        copy = content.target.get(offset)
        alike = [] if copy is None else sources.get(copy, [])
        is_sure = len(alike) == 1
        source = known.get(offset)
        if source is not None and not (is_sure and alike[0] != source):
            at, is_sure = source, True
        elif copy is None:
            if content.target_compacted or offset < content.target_start:
                found.gone += 1
            else:
                found.holes += 1
            continue
        elif alike:
            if source is not None and source in content.source:
                found.wrong.add(OffsetPair(offset, source))
            found.is_guessed |= not is_sure
            after = bisect_right(alike, at)
            at = alike[after] if after < len(alike) else alike[0]
        elif at + 1 < content.source_start and not found.unmatched:
            found.is_guessed = True
            at += 1
        else:
            found.unmatched += 1
            continue
        found.copies[offset] = at
        if is_sure:
            found.passed = max(found.passed, at + 1)
    return found


def leave_out_alike(
    offsets: Sequence[int],
    judged: range,
    request: RangeRequest,
    content: RangeContent,
) -> list[int]:
    """Return the source offsets without a copy: of those that look alike no
    more than copies are lacking.

    Parameters
    ----------
    offsets
        Source offsets whose records were not recognised at the target.
    judged
        Source offsets that are judged.
    request
        The range.
    content
        Its records on both sides.
    """
    first = request.start.target
    spare = Counter(d for o, d in content.target.items() if o > first)
    lacking = set(offsets)
    spare.subtract(
        digest
        for offset, digest in content.source.items()
        if offset in judged and offset not in lacking
    )
    found = []
    for offset in offsets:
        spare[content.source[offset]] -= 1
        if spare[content.source[offset]] < 0:
            found.append(offset)
    return found


def to_ranges(offsets: Iterable[int]) -> list[range]:
    """Return offsets in order as ranges."""
    found: list[range] = []
    for offset in offsets:
        if found and found[-1].stop == offset:
            found[-1] = range(found[-1].start, offset + 1)
        else:
            found.append(range(offset, offset + 1))
    return found
