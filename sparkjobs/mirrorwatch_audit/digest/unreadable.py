"""Leaves out what cannot be read: the rest is compared all the same."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

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
from .records import PairName, Read, name, spanned

__all__ = ["gap_of", "passed_over", "with_gaps", "without_unreadable"]


UNREADABLE = "cannot be read at the {side}: {error}"

RECORD_FAILED = "overflow"
"""Spark's word for a timestamp that it cannot convert."""

MOST_FAILURES = 64
"""Maximum of failed reads, after which the rest is not bisected: each may wait
for a broker that is gone."""


def without_unreadable(
    read: Read,
    plan: Plan,
    sides: Sequence[Side],
    span: Callable[[PartitionPair | SourceRange], AuditSpan],
) -> Plan:
    """Return a plan without the pairs that cannot be read; the plan itself
    where these are none, or all of them.

    Parameters
    ----------
    read
        Reads records.
    plan
        Plan of the ranges to compare.
    sides
        The sides to read.
    span
        Chooses what is read of each.

    Notes
    -----
    A pair that is left out begins the next night where it did this one. But a
    record that Spark cannot convert will not be readable then either: its
    pair stays, without its ranges, so that the next night goes on after them.
    """
    errors: dict[PairName, dict[str, None]] = defaultdict(dict)
    for pair, side, error in _failures(read, plan.pairs, sides, span):
        errors[name(pair)][UNREADABLE.format(side=side, error=error)] = None
    passed = {
        key
        for key, reasons in errors.items()
        if any(RECORD_FAILED in reason for reason in reasons)
    }
    if not errors or (len(errors) == len(plan.pairs) and not passed):
        # A whole cluster, or Spark itself: nothing is known.
        return plan
    gaps = (
        gap_of(pair, reason)
        for pair in plan.pairs
        for reason in errors.get(name(pair), ())
    )
    return replace(
        with_gaps(plan, gaps),
        pairs=tuple(
            passed_over(pair) if name(pair) in passed else pair
            for pair in plan.pairs
            if name(pair) in passed or name(pair) not in errors
        ),
        # The next piece of this night would fail alike, without an end.
        more=plan.more and errors.keys() == passed,
    )


def passed_over(pair: PartitionPair) -> PartitionPair:
    """Return the pair with nothing to read, at the ends of its ranges."""

    def at_end(x: PartitionPair | SourceRange) -> AuditSpan:
        return AuditSpan(x.span.end, x.span.end)

    nothing = spanned(pair, at_end)
    sources = tuple(replace(s, retained=s.span) for s in nothing.sources)
    return replace(
        nothing, retained=nothing.span, sources=sources, passed_over=True
    )


def with_gaps(plan: Plan, gaps: Iterable[Unverifiable]) -> Plan:
    """Return the plan with what cannot be verified, each told once."""
    told = dict.fromkeys((*plan.unverifiable, *gaps))
    return replace(plan, unverifiable=tuple(told))


def gap_of(pair: PartitionPair, reason: str) -> Unverifiable:
    """Return that a pair cannot be verified."""
    return Unverifiable(
        flow=pair.flow,
        topic=pair.topic,
        # The copies of the other partitions may be in this one.
        partition=pair.partition if pair.copies.partitions else None,
        reason=reason,
    )


def _failures(
    read: Read,
    pairs: Sequence[PartitionPair],
    sides: Sequence[Side],
    span: Callable[[PartitionPair | SourceRange], AuditSpan],
) -> Iterator[tuple[PartitionPair, Side, str]]:
    """Find the pairs that cannot be read, by halves."""
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
            else:
                yield from ((pair, side, error) for pair in part)


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
