"""A plain reading of what an audit must find, on lists."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from .logs import BUCKET, Record

__all__ = ["Expected", "expect"]


@dataclass
class Expected:
    """Offsets of what is wrong."""

    dropped: list[int] = field(default_factory=list)
    duplicated: list[int] = field(default_factory=list)
    extra: list[int] = field(default_factory=list)
    corrupted: list[tuple[int, int]] = field(default_factory=list)


def expect(source: Sequence[Record], target: Sequence[Record]) -> Expected:
    """Say what is wrong with a target that had time to copy everything."""
    found = Expected()
    mates = _mates(source, target)
    sent = set(source)
    for offset, record in enumerate(target):
        if offset in mates.values():
            continue
        known = found.duplicated if record in sent else found.extra
        known.append(offset)
    found.dropped = [n for n in range(len(source)) if n not in mates]
    _pair(found, source, target, mates)
    return found


def _mates(
    source: Sequence[Record], target: Sequence[Record]
) -> dict[int, int]:
    copies: dict[Record, list[int]] = defaultdict(list)
    for offset, record in enumerate(target):
        copies[record].append(offset)
    seen: Counter[Record] = Counter()
    mates = {}
    for offset, record in enumerate(source):
        number = seen[record]
        seen[record] += 1
        if number < len(copies[record]):
            mates[offset] = copies[record][number]
    return mates


def _pair(
    found: Expected,
    source: Sequence[Record],
    target: Sequence[Record],
    mates: dict[int, int],
) -> None:
    """Pair what is missing with what is unknown in the same gap.

    Only records of buckets that differ are looked at; where others may lie
    between, one that is in another bucket is another record.
    """
    buckets = {_bucket(r) for r in (*source, *target)}
    seen = {
        bucket
        for bucket in buckets
        if Counter(r for r in source if _bucket(r) == bucket)
        != Counter(r for r in target if _bucket(r) == bucket)
    }
    own = {copy: copy for copy in mates.values()}
    for rule in ("time", "bucket", "close"):
        for missing in list(found.dropped):
            for unknown in found.extra:
                gaps = [
                    _gap(log, offset, pairs, seen)
                    for log, offset, pairs in (
                        (source, missing, mates),
                        (target, unknown, own),
                    )
                ]
                first, second = source[missing], target[unknown]
                fits = {
                    "time": first.timestamp == second.timestamp,
                    "bucket": _bucket(first) == _bucket(second),
                    "close": all(close for _, close in gaps),
                }
                if fits[rule] and gaps[0][0] == gaps[1][0]:
                    found.corrupted.append((missing, unknown))
                    found.dropped.remove(missing)
                    found.extra.remove(unknown)
                    break


def _gap(
    log: Sequence[Record], offset: int, pairs: dict[int, int], seen: set[int]
) -> tuple[int, bool]:
    """Return the last pair before a record, and whether all since is seen."""
    close = True
    for earlier in reversed(range(offset)):
        if _bucket(log[earlier]) not in seen:
            close = False
        elif earlier in pairs:
            return pairs[earlier], close
    return -1, close


def _bucket(record: Record) -> int:
    return record.timestamp // (BUCKET // timedelta(milliseconds=1))
