"""Leaves out what cannot be read: the rest is compared all the same."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import functions as sf

from mirrorwatch.domain.audit.plan import (
    AuditSpan,
    PartitionPair,
    Plan,
    Side,
    SourceRange,
    Unverifiable,
)
from mirrorwatch.exceptions import AuditError

from ..session import translated
from .records import Read, name, spanned

__all__ = ["gap_of", "with_gaps", "without_unreadable"]


def without_unreadable(
    read: Read,
    plan: Plan,
    sides: Sequence[Side],
    span: Callable[[PartitionPair | SourceRange], AuditSpan],
) -> Plan:
    """Return a plan without what cannot be read; the plan itself where that
    is nothing, or everything.

    Parameters
    ----------
    read
        Reads records.
    plan
        What is compared.
    sides
        The sides to read.
    span
        Chooses what is read of each.
    """
    found = tuple(unreadable(read, plan.pairs, sides, span))
    gone = {name(f.pair) for f in found if not f.offsets}
    if len(gone) == len(plan.pairs) and not any(
        RECORD_FAILED in f.error for f in found
    ):
        # A whole cluster, or Spark itself: nothing is known.
        return plan
    if not found:
        return plan
    pairs = []
    for pair in plan.pairs:
        if name(pair) in gone:
            continue
        own = [f for f in found if _is_of(f, pair)]
        pairs.append(reduce(lambda p, f: f.skipped(p), own, pair))
    return replace(
        with_gaps(plan, (gap for f in found for gap in f.gaps(plan))),
        pairs=tuple(pairs),
        # The next piece of this night would fail alike, without an end.
        more=plan.more and not gone,
    )


def _is_of(found: "UnreadLog", pair: PartitionPair) -> bool:
    """Return whether a log is one of a pair, and not of another partition."""
    same = found.pair.partition == pair.partition
    return same and name(found.pair) == name(pair)


def with_gaps(plan: Plan, gaps: Iterable[Unverifiable]) -> Plan:
    """Return the plan with what cannot be verified, each told once."""
    told = dict.fromkeys((*plan.unverifiable, *gaps))
    return replace(plan, unverifiable=tuple(told))


UNREADABLE = "{side} offsets {first} to {last} cannot be read: {error}"

MOST_FAILURES = 64
"""How many readings may fail before what is left is not looked into: each may
wait for a broker that is gone."""

RECORD_FAILED = "overflow"
"""What Spark says of a timestamp that it cannot convert."""

MOST_SKIPPED = 16
"""Most such records of a log that are left out one by one: each is found by
reading the rest about twice, and costs a range of its own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UnreadLog:
    """What cannot be read of one side of a pair."""

    pair: PartitionPair
    side: Side
    error: str
    offsets: tuple[int, ...] = ()
    """Records that alone cannot be read; none where nothing can be."""

    def skipped(self, pair: PartitionPair) -> PartitionPair:
        """Return a pair without the records."""
        if self.side == "target":
            both = {*pair.skipped, *self.offsets}
            return replace(pair, skipped=tuple(sorted(both)))
        (source,) = pair.sources
        both = {*source.skipped, *self.offsets}
        source = replace(source, skipped=tuple(sorted(both)))
        return replace(pair, sources=(source,))

    def gaps(self, plan: Plan) -> Iterator[Unverifiable]:
        """Yield what cannot be verified of a plan for it."""
        (pair,) = (p for p in plan.pairs if _is_of(self, p))
        compared, tried = (
            (p.span if self.side == "target" else p.sources[0].span)
            for p in (pair, self.pair)
        )
        spans = [
            AuditSpan(offset, offset + 1)
            for offset in self.offsets
            if compared.start <= offset < compared.end
        ]
        for span in spans if self.offsets else [tried]:
            reason = UNREADABLE.format(
                side=self.side,
                first=span.start,
                last=span.end - 1,
                error=self.error,
            )
            # Its copy is told too, and is no other record.
            alone = bool(self.offsets) and self.side == "source"
            yield gap_of(self.pair, reason, 1 if alone else None)


def unreadable(
    read: Read,
    pairs: Sequence[PartitionPair],
    sides: Sequence[Side],
    span: Callable[[PartitionPair | SourceRange], AuditSpan],
) -> Iterator[UnreadLog]:
    """Find what cannot be read, by halves.

    Parameters
    ----------
    read
        Reads records.
    pairs
        Pairs of which at least one cannot be read.
    sides
        The sides to read.
    span
        Chooses what is read of each.
    """
    failures = 0
    for side in sides:
        parts = [[spanned(pair, span) for pair in pairs]]
        while parts:
            part = parts.pop()
            error = _failure(read, part, side)
            if error is None:
                continue
            failures += 1
            if len(part) > 1 and failures < MOST_FAILURES:
                half = len(part) // 2
                parts += [part[:half], part[half:]]
                continue
            offsets: tuple[int, ...] = ()
            if len(part) == 1 and RECORD_FAILED in error:
                offsets = _failing_offsets(read, part[0], side)
            for pair in part:
                yield UnreadLog(
                    pair=pair, side=side, error=error, offsets=offsets
                )


def gap_of(
    pair: PartitionPair, reason: str, records: int | None = None
) -> Unverifiable:
    """Return what cannot be verified of a pair."""
    return Unverifiable(
        flow=pair.flow,
        topic=pair.topic,
        # The copies of the other partitions may be in this one.
        partition=pair.partition if pair.copies.partitions else None,
        reason=reason,
        records=records,
    )


def _failing_offsets(
    read: Read, pair: PartitionPair, side: Side
) -> tuple[int, ...]:
    """Return the records of a pair that alone cannot be read; none if there
    are too many, or if the other side could not leave their copies out too.
    """
    by_topic = not pair.copies.partitions
    if len(pair.sources) > 1 or not pair.timestamps or by_topic:
        return ()
    at = pair.span if side == "target" else pair.sources[0].span
    found: list[int] = []
    rest = at
    while len(rest) and _failure(read, [_only(pair, rest)], side):
        if len(found) == MOST_SKIPPED:
            return ()
        first, last = rest.start, rest.end
        while last - first > 1:
            middle = (first + last) // 2
            if _failure(read, [_only(pair, AuditSpan(first, middle))], side):
                last = middle
            else:
                first = middle
        found.append(first)
        rest = AuditSpan(last, at.end)
    return tuple(found)


def _only(pair: PartitionPair, span: AuditSpan) -> PartitionPair:
    return spanned(pair, lambda _: span)


def _failure(
    read: Read, pairs: Sequence[PartitionPair], side: Side
) -> str | None:
    try:
        with translated("Spark says"):
            found = read(pairs, side)
            found.agg(sf.max("offset"), sf.max("timestamp")).collect()
    except AuditError as e:
        return str(e).removeprefix("Spark says: ")
    return None
